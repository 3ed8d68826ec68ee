"""Rankings whose programs run live: which runs are made, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clue.errors import UsageError
from clue.machine import Machine
from clue.purchase import Kernel, Option, Program, Scenario, Workload, rank_options
from clue.purchase.runs import Job
from clue.result import RankResult, Result
from clue.trace import Trace
from tests.kernel.cases import machine

SCRIPT = Program(script=Path("self_scheduling.py"))


def no_traces(program: Program, ranks: int) -> Trace:
    """Refuse to give a trace."""
    raise AssertionError((program, ranks))


def scenario(program: Program = SCRIPT, **fields: object) -> Scenario:
    """Return a comparison of two and four nodes for a program on 2 or 4 ranks."""
    job = Workload("job", (Kernel("job", program),), **({"ranks": (2, 4)} | fields))  # type: ignore[arg-type]
    two, four = (Option(name, replace(machine(nodes), name=name)) for name, nodes in (("two", 2), ("four", 4)))
    return Scenario("by hand", (job,), (two, four))


def test_every_split_of_every_option_runs() -> None:
    """A run takes 12 s over its ranks: two nodes take 2 ranks, four both, and the four of four nodes win."""
    made: list[tuple[str, int]] = []

    def live(program: Program, ranks: int, job: Job) -> Result:
        assert program is SCRIPT
        assert len(job.placement.nodes) == ranks
        made.append((job.machine.name, ranks))
        return result(job.machine, ranks)

    ranking = rank_options(scenario(), no_traces, live=live)
    assert sorted(made) == [("four", 2), ("four", 4), ("two", 2)]
    first, second = ranking.entries
    assert (first.option, first.workloads[0].ranks, first.workloads[0].makespan) == ("four", 4, 3.0)
    assert (second.option, second.workloads[0].ranks, second.workloads[0].makespan) == ("two", 2, 6.0)


def result(machine_: Machine, ranks: int) -> Result:
    """Return 12 s divided evenly."""
    figures = tuple(RankResult(rank, rank, 12 / ranks, 12 / ranks, 0.0, 0.0) for rank in range(ranks))
    return Result(12 / ranks, "live", figures, (f"{machine_.name}: by hand",))


@pytest.mark.parametrize(
    ("case", "fault"),
    [
        (scenario(instances=3), "job: instances must be 1 in a live run, got 3"),
        (scenario(instances=None), "job: instances must be 1 in a live run, got fill"),
        (scenario(Program(trace="t.clue")), "job: job must have a script to run live, got a trace only"),
    ],
)
def test_what_cannot_run_live_is_refused(case: Scenario, fault: str) -> None:
    """Before anything runs."""
    with pytest.raises(UsageError, match=fault):
        rank_options(case, no_traces, live=lambda *_: result(machine(2), 2))
