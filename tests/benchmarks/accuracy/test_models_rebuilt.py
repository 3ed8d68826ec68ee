"""Kishimoto's study on the testbed: what is run, where, and what its page says. Nothing is run here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.accuracy.models import rebuilt
from benchmarks.accuracy.models.rebuilt import FAST, FULL, SLOW, SMOKE, Choice, Cluster, Plan
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.testbed.description import hosts_of
from clue.models import Run, Use, best, fit_cluster, ranks_of
from clue.models.cluster_fit import COMMUNICATE, COMPUTE


def seconds(size: int, uses: Mapping[str, Use]) -> tuple[float, float]:
    """Return what a processor that takes longest computes of n^3 ns on the fast one, and what ranks tell each other."""
    ranks = ranks_of(uses)
    compute = max(use.processes * (1 if kind == FAST else 4) for kind, use in uses.items()) * size**3 * 1e-9 / ranks
    return compute, 1e-8 * size**2 * ranks if ranks > 1 else 0.0


class Made(Cluster):
    """A cluster whose runs take what a formula says."""

    def _measure(self, size: int, uses: Mapping[str, Use]) -> dict[str, float]:
        compute, communicate = seconds(size, uses)
        return {"seconds": compute + communicate, "compute": compute}


class Exact:
    """Replays that take what a formula says."""

    def seconds(self, uses: Mapping[str, Use]) -> float:
        """Return it."""
        return sum(seconds(FULL.asked, uses))


def test_what_is_run() -> None:
    """35 candidates, at the largest size of both sets; models have four sizes and three numbers of ranks."""
    assert len(list(FULL.choices())) == 35
    assert FULL.asked == 768
    assert set(FULL.sets["NL"]) < set(FULL.sets["Basic"])
    assert len(list(FULL.measured("NL"))) == 4 * (3 + 12)
    assert max(ranks_of(uses) for _, uses in FULL.measured("Basic")) == 12
    assert max(ranks_of(uses) for uses in SMOKE.choices()) == 2


def test_processors_are_divided_among_their_processes() -> None:
    """Three processes on the fast one have a sixth of a core each; of three slow processors two are on one node."""
    machine, placement = rebuilt.placed({FAST: Use(1, 3), SLOW: Use(3)})
    assert placement.nodes == (0, 0, 0, 1, 1, 2)
    hosts = hosts_of(machine)
    assert [(host.factor, host.processors) for host in hosts] == [(6, 3), *[(8, 2)] * 4]
    assert sum(host.cores for host in hosts) == pytest.approx(1.5)
    assert rebuilt.placed({SLOW: Use(3, 2)})[1].nodes == (1, 1, 1, 1, 2, 2)


def test_models_and_replays_choose(tmp_path: Path) -> None:
    """Where a formula says what runs take, all choose what is best, and nothing is measured twice."""
    with Made(MeasurementFolder(tmp_path)) as cluster:
        found, ran = rebuilt.choices(FULL, cluster, Exact())  # type: ignore[arg-type]
        assert cluster.run(512, {FAST: Use(1)}).parts == {COMPUTE: pytest.approx(512**3 * 1e-9), COMMUNICATE: 0.0}
    assert [each.by for each in found] == [
        "Basic, plainly", "Basic, relatively, not below 0", "NL, plainly", "NL, relatively, not below 0", "replays",
    ]  # fmt: skip
    assert len(ran) == 35
    assert ran == sorted(ran, key=lambda run: run.seconds)
    assert found[-1].uses == ran[0].uses
    assert found[-1].loss == 0
    # Some candidates take equally long.
    assert found[-1].tau > 0.9
    assert all(each.loss < 0.05 for each in found if "relatively" in each.by)
    text = rebuilt.page(FULL, found, ran, "command")
    assert "all 35 candidates were run" in text
    assert "| replays | " in text


def test_a_page_says_what_is_lost() -> None:
    """A choice of 1.2 s beside the best of 1.0 s: 20 %."""
    plan = Plan({"NL": (8,)}, (1,), {1: (1,)}, 1)
    ran = [Run(8, {FAST: Use(1)}, 1.0), Run(8, {SLOW: Use(1)}, 1.2)]
    found = [Choice("NL", {SLOW: Use(1)}, 0.9, 1.2, 0.2, -1.0, False)]
    assert "| NL | 1 slow | 0.90 s | 1.20 s | 20.0% | -1.00 | no |" in rebuilt.page(plan, found, ran, "command")


def test_the_smoke_plan_can_be_fitted(tmp_path: Path) -> None:
    """Four sizes, on one and two slow processors, and the fast one."""
    with Made(MeasurementFolder(tmp_path)) as cluster:
        runs = [cluster.run(*each) for each in SMOKE.measured("NL")]
        assert best(fit_cluster(runs), SMOKE.asked, {FAST: 1}).best.uses == {FAST: Use(1)}
        found, ran = rebuilt.choices(SMOKE, cluster, Exact())  # type: ignore[arg-type]
    assert len(found) == 3
    assert len(ran) == 3
