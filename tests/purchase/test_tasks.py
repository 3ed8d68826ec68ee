"""The tasks behind an option's figures give the makespans of the ranking and can be replayed with a timeline."""

from __future__ import annotations

import pytest

from clue.machine import Machine, NodeType, Placement
from clue.predict import replaying
from clue.predict.dispatching import DispatchingPredictor
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Option, rank_options
from clue.purchase.scenario import Layout
from clue.purchase.tasks import tasks_of
from tests.kernel.cases import machine
from tests.purchase.test_ranking import option, scenario, traces, workload


def test_tasks_are_those_that_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks are those of the best split of each workload; replays with timelines have the same makespans.

    A task beyond the size limit has no timeline.
    """
    jobs = (workload("a", ranks=(1, 2, 4)), workload("b", ranks=(1, 2), factor="3"))
    asked = scenario(option("two", 2), option("five", 5), workloads=jobs)
    predictor = DispatchingPredictor([], ReplayPredictor(traces))
    first = rank_options(asked, predictor).entries[0]
    found = list(tasks_of(first, asked, predictor))
    assert [what for what, _ in found] == ["a", "b"]
    for (_, task), outcome in zip(found, first.workloads, strict=True):
        assert len(task.where.placement.nodes) == outcome.ranks * outcome.side_by_side
        watched = predictor.watched(task)
        assert watched is not None and watched.timeline is not None
        assert watched.makespan == pytest.approx(outcome.makespan / outcome.turns)
    monkeypatch.setattr(replaying, "MOST_WATCHED", 0)
    assert predictor.watched(found[0][1]) is None


@pytest.mark.parametrize("slow_first", [False, True])
def test_tasks_have_the_placement_that_counts(slow_first: bool) -> None:
    """Of two placements the one on the fast node counts, first or not; its task has the makespan of the ranking."""
    fast, slow = NodeType("fast"), NodeType("slow", performance_factor=2.0)
    nodes = (slow, fast) if slow_first else (fast, slow)
    mixed = Option("mixed", Machine("mixed", nodes, machine(2).network))
    jobs = (workload("a", ranks=(1,), layouts=(Layout(), Layout(backwards=True))),)
    asked, predictor = scenario(mixed, workloads=jobs), ReplayPredictor(traces)
    first = rank_options(asked, predictor).entries[0]
    ((_, task),) = tasks_of(first, asked, predictor)
    assert machine_of(nodes, task.where.placement) == ["fast"]
    watched = predictor.watched(task)
    assert watched is not None and watched.makespan == pytest.approx(first.workloads[0].makespan)


def machine_of(nodes: tuple[NodeType, ...], placement: Placement) -> list[str]:
    """Return the names of the nodes of a placement."""
    return [nodes[node].name for node in placement.nodes]
