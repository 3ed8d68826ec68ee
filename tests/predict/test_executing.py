"""Rankings whose programs run live: which runs are made, and which are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clue.errors import UsageError
from clue.machine import Machine
from clue.predict.application import Application
from clue.predict.executing import LivePredictor
from clue.predict.prediction import Task
from clue.purchase import Component, Option, Scenario, Workload, rank_options
from clue.result import RankResult, Result
from tests.kernel.cases import machine

SCRIPT = Application(script=Path("self_scheduling.py"))


def scenario(application: Application = SCRIPT, **fields: object) -> Scenario:
    """Return a comparison of two and four nodes for a program on 2 or 4 ranks."""
    job = Workload("job", (Component("job", application),), **({"ranks": (2, 4)} | fields))  # type: ignore[arg-type]
    two, four = (Option(name, replace(machine(nodes), name=name)) for name, nodes in (("two", 2), ("four", 4)))
    return Scenario("by hand", (job,), (two, four))


def test_every_split_of_every_option_runs() -> None:
    """A run takes 12 s over its ranks: two nodes can run 2 ranks, four nodes 2 or 4, and 4 ranks win."""
    made: list[tuple[str, int]] = []

    def live(task: Task) -> Result:
        application, ranks = task.key
        assert application is SCRIPT
        assert len(task.where.placement.nodes) == ranks
        made.append((task.where.machine.name, ranks))
        return result(task.where.machine, ranks)

    ranking = rank_options(scenario(), LivePredictor(live))
    assert sorted(made) == [("four", 2), ("four", 4), ("two", 2)]
    first, second = ranking.entries
    assert (first.option, first.workloads[0].ranks, first.workloads[0].makespan) == ("four", 4, 3.0)
    assert (second.option, second.workloads[0].ranks, second.workloads[0].makespan) == ("two", 2, 6.0)


def result(machine_: Machine, ranks: int) -> Result:
    """Return the result of 12 s of work divided evenly."""
    figures = tuple(RankResult(rank, rank, 12 / ranks, 12 / ranks, 0.0, 0.0) for rank in range(ranks))
    return Result(12 / ranks, "live", figures, (f"{machine_.name}: by hand",))


@pytest.mark.parametrize(
    ("case", "fault"),
    [
        (scenario(instances=3), "job: instances must be 1 in a live run, got 3"),
        (scenario(instances=None), "job: instances must be 1 in a live run, got fill"),
        (scenario(Application(trace="t.clue")), "job: job must have a script to run live, got a trace only"),
    ],
)
def test_what_cannot_run_live_is_refused(case: Scenario, fault: str) -> None:
    """Several instances and programs without a script are refused before anything runs."""
    with pytest.raises(UsageError, match=fault):
        rank_options(case, LivePredictor(lambda _: result(machine(2), 2)))
