"""Kishimoto's study on the testbed: plans, placement, choices and the page; nothing is run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.accuracy.models import rebuilt
from benchmarks.accuracy.models.rebuilt import FAST, FULL, SLOW, SMOKE, Choice, Cluster, Plan, Question
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.testbed.description import hosts_of
from clue.models import Run, Use, best, fit_cluster, ranks_of
from clue.models.cluster_fit import COMMUNICATE, COMPUTE


def seconds(size: int, uses: Mapping[str, Use]) -> tuple[float, float]:
    """Return computation and communication of a run.

    Computation is n^3 ns on the fast processor, divided by ranks and slower by factor 4 on the others; the slowest
    counts.
    """
    ranks = ranks_of(uses)
    compute = max(use.processes * (1 if kind == FAST else 4) for kind, use in uses.items()) * size**3 * 1e-9 / ranks
    return compute, 1e-8 * size**2 * ranks if ranks > 1 else 0.0


class Made(Cluster):
    """A cluster whose runs take the time of a formula."""

    def _measure(self, size: int, uses: Mapping[str, Use]) -> dict[str, float]:
        compute, communicate = seconds(size, uses)
        return {"seconds": compute + communicate, "compute": compute}


class Exact:
    """Replays that take the time of a formula."""

    def seconds(self, size: int, uses: Mapping[str, Use]) -> float:
        """Return the time of a run."""
        return sum(seconds(size, uses))


def test_what_is_run() -> None:
    """The plan has 35 candidates at two sizes, and models of four sizes and three numbers of ranks."""
    assert len(list(FULL.choices())) == 35
    assert FULL.asked[0] == max(FULL.sets["Basic"]) == max(FULL.sets["NL"]) > max(FULL.sets["NS"])
    assert FULL.asked[1] > FULL.asked[0]
    assert set(FULL.sets["NL"]) | set(FULL.sets["NS"]) <= set(FULL.sets["Basic"])
    assert [size for size, _ in FULL.adjusting("NS")] == [384, 384]
    assert len(list(FULL.measured("NL"))) == 4 * (3 + 12)
    assert max(ranks_of(uses) for _, uses in FULL.measured("Basic")) == 12
    assert max(ranks_of(uses) for uses in SMOKE.choices()) == 2


def test_processors_are_divided_among_their_processes() -> None:
    """Three processes on the fast processor have a sixth of a core each; two of three slow ones are on one node."""
    machine, placement = rebuilt.placed({FAST: Use(1, 3), SLOW: Use(3)})
    assert placement.nodes == (0, 0, 0, 1, 1, 2)
    hosts = hosts_of(machine)
    assert [(host.factor, host.processors) for host in hosts] == [(6, 3), *[(8, 2)] * 4]
    assert sum(host.cores for host in hosts) == pytest.approx(1.5)
    assert rebuilt.placed({SLOW: Use(3, 2)})[1].nodes == (1, 1, 1, 1, 2, 2)


def test_models_and_replays_choose(tmp_path: Path) -> None:
    """If runs follow a formula, models and replays choose the best; models of small sizes say that they extrapolate."""
    with Made(MeasurementFolder(tmp_path)) as cluster:
        asked = rebuilt.questions(FULL, cluster, Exact())  # type: ignore[arg-type]
        assert cluster.run(512, {FAST: Use(1)}).parts == {COMPUTE: pytest.approx(512**3 * 1e-9), COMMUNICATE: 0.0}
        shown = rebuilt.printed(FULL, cluster, tmp_path)
    assert [each.by for each in asked[0].choices] == [
        "Basic, plainly", "Basic, relatively, not below 0", "NL, plainly", "NL, relatively, not below 0",
        "NS, plainly", "NS, relatively, not below 0", "replays",
    ]  # fmt: skip
    for each in asked:
        assert len(each.ran) == 35
        assert list(each.ran) == sorted(each.ran, key=lambda run: run.seconds)
        *models, replays = each.choices
        assert each.loss(replays) == 0
        # Some candidates take the same time.
        tau = each.tau(replays)
        assert tau is not None and tau > 0.9
        assert all(each.loss(choice) < 0.05 for choice in models if "relatively" in choice.by)
        assert all(choice.outside for choice in models if choice.by.startswith("NS"))
    text = rebuilt.page(FULL, asked, shown, "command")
    assert "all 35 candidates were run" in text
    assert "| replays | " in text
    assert "$ clue model best lu.yaml --machine one-fast-four-dual.yaml --size 1024 --processes slow=1" in text


def test_a_page_says_what_is_lost() -> None:
    """A choice that takes 1.2 s where 1.0 s is possible costs 20 %, and the order is reversed."""
    plan = Plan({"NL": (8,)}, (1,), {1: (1,)}, 1, (8,))
    ran = (Run(8, {FAST: Use(1)}, 1.0), Run(8, {SLOW: Use(1)}, 1.2))
    why = "slow, 1 per processor: n must be 1 to 7 to be inside what was fitted, got 8"
    choice = Choice("NL", {SLOW: Use(1)}, 0.9, (why,), {"1 fast": 0.95, "1 slow": 0.9}, 0.004)
    text = rebuilt.page(plan, [Question(8, (choice,), ran)], "shown", "command")
    assert f"| NL | 1 slow | 0.900 s | 1.200 s | 20.0% | -1.00 | 4.0 ms | {why} |" in text
    assert "| NL | 20.0% | 8 (n) | 0 to 4.3 % | at most 4 % |" in text
    assert "| 1 fast | 1.000 s | 0.950 s |" in text


def test_what_is_close_is_run_again(tmp_path: Path) -> None:
    """The best and all within 10 % of it run three times, and the median counts; others run once."""

    class Noisy(Made):
        """A cluster whose second and third runs are slower."""

        def run(self, size: int, uses: Mapping[str, Use], turn: int = 0) -> Run:
            run = super().run(size, uses, turn)
            return replace(run, seconds=run.seconds * (1.0, 1.5, 1.2)[turn])

    with Noisy(MeasurementFolder(tmp_path)) as cluster:
        (asked,) = rebuilt.questions(SMOKE, cluster, Exact())  # type: ignore[arg-type]
    by_name = {tuple(run.uses): run.seconds for run in asked.ran}
    assert by_name[FAST,] == pytest.approx(1.2 * sum(seconds(192, {FAST: Use(1)})))
    assert by_name[SLOW,] == pytest.approx(sum(seconds(192, {SLOW: Use(1)})))


def test_the_smoke_plan_can_be_fitted(tmp_path: Path) -> None:
    """The smoke plan has enough sizes and processors to fit its models."""
    with Made(MeasurementFolder(tmp_path)) as cluster:
        runs = [cluster.run(*each) for each in SMOKE.measured("NL")]
        assert best(fit_cluster(runs), 192, {FAST: 1}).best.uses == {FAST: Use(1)}
        (asked,) = rebuilt.questions(SMOKE, cluster, Exact())  # type: ignore[arg-type]
    assert len(asked.choices) == 3
    assert len(asked.ran) == 3
