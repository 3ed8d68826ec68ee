"""Rankings of generated clusters with queues, limits and searched placements match a brute-force calculation."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.config import load_config
from clue.purchase import Scenario, rank_options
from tests.properties import examples
from tests.purchase.brute_force import HIGHER, ByFormula, Known, clusters, is_barred, known, on_the_front, scores

#: Number of comparisons drawn; ``CLUE_RANKING_CASES=600 pytest tests/purchase/test_brute_force.py`` takes a minute.
CASES = examples(int(os.environ.get("CLUE_RANKING_CASES", "20")))
PLAIN = ("points", "makespan", "throughput", "total_cost", "cost_per_run")
QUEUED = ("waiting", "slowdown", "unused_nodes")
PLACEMENTS = (
    "search", "search", "search", "block", "cyclic",
    ["block", {"order": "cyclic", "ranks_per_node": 1}],
    ["cyclic", {"order": "block", "ranks_per_node": 2, "nodes": "last"}],
)  # fmt: skip


@st.composite
def comparisons(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a scenario file as a mapping; figures have two digits, so that few ties come from rounding."""

    def number(low: float, high: float) -> float:
        return round(draw(st.floats(low, high)), 2)

    def euros(low: int, high: int) -> str:
        return f"{draw(st.integers(low, high))} EUR"

    def node() -> dict[str, Any]:
        return {"processors": draw(st.sampled_from((1, 2, 3, 4))), "performance_factor": number(0.5, 2.0)}

    with_jobs = draw(st.booleans())
    names = ["one", "two"][: draw(st.integers(1, 2))]
    kinds = ["thin", "fat"][: draw(st.integers(1, 2))]
    generate: dict[str, Any] = {
        "nodes": {"from": draw(st.integers(1, 2)), "to": draw(st.integers(3, 4))},
        "mixed": draw(st.booleans()),
        "price": euros(0, 50),
        "node_types": {kind: {**node(), "price": euros(50, 200)} for kind in kinds},
        "memory": [{"size": "1 GB"}, {"size": "2 GB", "price": euros(1, 40)}][: draw(st.integers(1, 2))],
        "networks": {
            name: {
                "between_nodes": {"send_delay": "0 s", "transmission_delay": f"{number(0.01, 2.0)} s"},
                "contention": "none",
                "price_per_node": euros(0, 60),
            }
            for name in ("slow", "fast")[: draw(st.integers(1, 2))]
        },
        "cost": {
            "parts": {"node": {"per_node": 1, "power": {"idle": 100, "busy": draw(st.integers(150, 400))}}},
            "electricity": {"price": f"{number(0.1, 0.9)} EUR/kWh"},
        },
    }
    if draw(st.booleans()):
        generate["processors"] = {
            "plain": {**node(), "price": euros(0, 30)},
            "quick": {**node(), "price": euros(30, 90)},
        }
    if draw(st.booleans()):
        generate["networks"]["slow"]["switch"] = {"ports": draw(st.integers(1, 4)), "price": euros(5, 50)}
    if draw(st.booleans()):
        generate["topologies"] = {
            "flat": {"contention": "none"},
            "ports": {"contention": "ports", "price_per_node": "7 EUR"},
        }
    criteria = (*PLAIN, *(QUEUED if with_jobs else ()))
    found: dict[str, Any] = {
        "budget": euros(450, 1200),
        "criterion": draw(st.sampled_from((*criteria, "weighted"))),
        "pareto": draw(st.lists(st.sampled_from(criteria), min_size=2, max_size=3, unique=True)),
        "service_life": 3600 * draw(st.integers(1, 5000)),
        "limits": {},
        "workloads": {
            name: {
                "program": {"trace": f"p-{draw(st.integers(5, 60))}-{number(0.1, 3.0)}-{name}"},
                "ranks": draw(st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True)),
                "placement": draw(st.sampled_from(PLACEMENTS)),
                "memory": draw(st.sampled_from((0, 100, 400, 700))),
                "weight": draw(st.integers(1, 3)),
            }
            for name in names
        },
        "generate": generate,
    }
    if found["criterion"] == "weighted":
        parts = draw(st.lists(st.sampled_from(criteria), min_size=1, max_size=3, unique=True))
        found["weighted"] = {part: draw(st.integers(1, 4)) for part in parts}
    _limit(draw, found, with_jobs=with_jobs)
    if with_jobs:
        times = st.lists(st.integers(0, 100), min_size=1, max_size=5)
        # In the formula, neighbours do not slow a job: all run as if alone.
        sharing = draw(st.sampled_from(("none", "mix")))
        found["queue"] = {"policy": draw(st.sampled_from(("fcfs", "backfill"))), "sharing": sharing}
        found["jobs"] = {
            name: {
                "submitted": draw(times),
                "overestimate": draw(st.sampled_from((1, 1.5, 4))),
                "weight": draw(st.integers(1, 3)),
                **draw(st.sampled_from(({}, {"ranks": draw(st.sampled_from(found["workloads"][name]["ranks"]))}))),
            }
            for name in names
        }
    return found


def _limit(draw: st.DrawFn, found: dict[str, Any], *, with_jobs: bool) -> None:
    """Add limits, some of which no option meets."""
    limits = {
        "nodes": st.integers(2, 4),
        "memory_per_core": st.sampled_from((300, 600)),
        "total_cost": st.integers(300, 3000),
        **({"waiting": st.integers(1, 60)} if with_jobs else {}),
    }
    for name in draw(st.lists(st.sampled_from(tuple(limits)), max_size=2, unique=True)):
        found["limits"][name] = draw(limits[name])
    for form in found["workloads"].values():
        if draw(st.booleans()):
            form["deadline"] = draw(st.integers(4, 60))
    if not with_jobs and draw(st.booleans()):
        for form in found["workloads"].values():
            form["runs_a_month"] = draw(st.integers(1, 400_000))


def loaded(of: dict[str, Any]) -> Scenario:
    """Write the scenario as JSON, which is valid YAML, with units, and load it."""
    form = json.loads(json.dumps(of))
    units = {"memory_per_core": "MB", "total_cost": "EUR", "waiting": "s"}
    form["limits"] = {key: f"{value} {units[key]}" if key in units else value for key, value in of["limits"].items()}
    form["service_life"] = f"{of['service_life']} s"
    power = form["generate"]["cost"]["parts"]["node"]["power"]
    form["generate"]["cost"]["parts"]["node"]["power"] = {key: f"{watts} W" for key, watts in power.items()}
    for workload in form["workloads"].values():
        workload["memory"] = f"{workload['memory']} MB"
        if "deadline" in workload:
            workload["deadline"] = f"{workload['deadline']} s"
    for job in form.get("jobs", {}).values():
        job["submitted"] = [f"{time} s" for time in job["submitted"]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.yaml"
        path.write_text(json.dumps(form))
        for workload in form["workloads"].values():
            (path.parent / workload["program"]["trace"]).touch()  # the formula gives the times
        found = load_config(path)
    assert isinstance(found, Scenario)
    return found


@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(of=comparisons(), top=st.sampled_from((None, 1, 3, 10)), seed=st.integers(0, 99))
def test_rankings_are_those_of_every_cluster_worked_out(of: dict[str, Any], top: int | None, seed: int) -> None:
    """Clusters, prices, best splits, queues, limits, scores, order and front all match the brute-force results."""
    made = list(clusters(of))
    scenario = loaded(of)
    if not made:
        return  # the budget covers no cluster
    assert {option.name: option.price and option.price.amount for option in scenario.options} == pytest.approx(
        {cluster.name: cluster.price for cluster in made}
    )
    all_known = [found for found in (known(of, cluster) for cluster in made) if found is not None]
    ranking = rank_options(scenario, ByFormula(seed), top=top)
    expected = scores(of, of["criterion"], all_known)
    placed = [(entry.option, entry.score) for entry in ranking.entries if entry.position is not None]
    sign = -1 if of["criterion"] in HIGHER else 1
    in_order = sorted(sign * score for score in expected.values())
    candidates = sum(not is_barred(of, cluster) for cluster in made)
    wanted = candidates if top is None and candidates <= 100 else top or 20
    assert [sign * (score or 0.0) for _, score in placed] == pytest.approx(in_order[:wanted], rel=1e-9, abs=1e-9)
    assert dict(placed) == pytest.approx({name: expected[name] for name, _ in placed}, rel=1e-9, abs=1e-9)
    assert set(ranking.pareto or ()) == on_the_front(of, all_known)
    for entry in ranking.entries:
        if entry.position is not None:
            _check_runs(entry, next(each for each in all_known if each.cluster.name == entry.option), of)


def _check_runs(entry: Any, each: Known, of: dict[str, Any]) -> None:
    """Check the run of each workload, and the costs of the option."""
    for outcome in entry.workloads:
        assert outcome.makespan == pytest.approx(each.best[outcome.workload].seconds)
    if each.jobs:
        assert entry.queue.figures.utilisation == pytest.approx(each.utilisation)
        assert entry.cost.sheet.busy == pytest.approx(each.utilisation)
    assert entry.cost.sheet.total == pytest.approx(scores(of, "total_cost", [each])[each.cluster.name])
