"""The best processors, and processes on each, by replays: what is found is what looking at all finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.errors import UsageError
from clue.kernel import Program, compile_program, simulate
from clue.machine import Machine
from clue.models import Use, ranks_of
from clue.predict.configurations import Replays
from clue.predict.modelling import placed
from clue.trace import TraceBuilder
from tests.kernel.cases import machine

COUNTS = {"fast": 1, "slow": 3}


def mixed() -> Machine:
    """Return a machine of a node that is four times as fast as three others."""
    node = machine(1).nodes[0]
    fast = replace(node, name="fast", performance_factor=0.25)
    return replace(machine(1), name="mixed", nodes=(fast, *[replace(node, name="slow")] * 3))


def program(seconds: float, ranks: int, nbytes: int) -> Program:
    """Return a program that divides work evenly and then tells rank 0."""
    built = TraceBuilder(ranks)
    for rank in range(ranks):
        built[rank].compute(seconds / ranks)
    for rank in range(1, ranks):
        built[rank].send(0, nbytes)
        built[0].recv(rank)
    return compile_program(built.build())


def every(processes: Mapping[str, list[int]]) -> list[dict[str, Use]]:
    """Return all configurations, the long way."""
    fast = [None, *(Use(p, m) for p in range(1, COUNTS["fast"] + 1) for m in processes["fast"])]
    slow = [None, *(Use(p, m) for p in range(1, COUNTS["slow"] + 1) for m in processes["slow"])]
    both = ({"fast": f, "slow": s} for f in fast for s in slow)
    return [found for each in both if (found := {kind: use for kind, use in each.items() if use is not None})]


@given(
    st.floats(0.01, 100), st.sampled_from([0, 1000, 10**6]), st.sets(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(1, 8),
)  # fmt: skip
@settings(max_examples=15, deadline=None)
def test_what_is_found_is_best_of_all(seconds: float, nbytes: int, traced: set[int], keep: int) -> None:
    """Whatever work and messages, and of whichever numbers of ranks there are traces: the first and their order."""
    where, processes = mixed(), {"fast": [1, 2, 3, 4], "slow": [1, 2]}
    programs = {ranks: program(seconds, ranks, nbytes) for ranks in traced}
    wanted = [each for each in every(processes) if ranks_of(each) in traced]
    if not wanted:
        return
    found = Replays(programs, where).best(COUNTS, processes, keep=keep)
    told = sorted(simulate(programs[ranks_of(each)], where, placed(where, each)).makespan for each in wanted)
    assert [each.seconds for each in found.candidates] == told[:keep]
    assert found.total == len(wanted)
    assert found.best.loss == 0


def test_bounds_leave_out_what_is_not_among_the_first() -> None:
    """8 s of work: four processes on the fast node and one on each slow one take 8 / 7 s; few others are replayed."""
    programs = {ranks: program(8.0, ranks, 0) for ranks in range(1, 8)}
    found = Replays(programs, mixed()).best(COUNTS, {"fast": [1, 2, 3, 4], "slow": [1]}, keep=1)
    assert found.best.uses == {"fast": Use(1, 4), "slow": Use(3)}
    assert found.replayed < found.total


def test_no_trace_of_so_many_ranks() -> None:
    """It says so of one configuration, and refuses where there are none at all, or too many."""
    replays = Replays({3: program(1.0, 3, 0)}, mixed())
    assert replays.seconds({"slow": Use(2)}) is None
    assert replays.seconds({"slow": Use(3)}) is not None
    with pytest.raises(UsageError, match="mixed: traces must be of numbers of ranks that its processors can have"):
        Replays({50: program(1.0, 50, 0)}, mixed()).best(COUNTS, {"fast": [1], "slow": [1]})
    kinds = {f"kind{i}": 9 for i in range(6)}
    with pytest.raises(UsageError, match="mixed: configurations must be at most 100,000 for replays, got more"):
        Replays({50: program(1.0, 50, 0)}, mixed()).best(kinds, {kind: [1, 2, 3] for kind in kinds})
