"""The best configuration of processors and processes, found by replays, equals that of a full enumeration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.errors import UsageError
from clue.kernel import Program, compile_program, simulate
from clue.machine import Machine
from clue.models import Use, best, ranks_of
from clue.predict.configurations import Replays, beside
from clue.predict.modelling import placed
from clue.trace import TraceBuilder
from tests.kernel.cases import machine
from tests.predict.test_modelling import model
from tests.properties import examples

COUNTS = {"fast": 1, "slow": 3}


def mixed() -> Machine:
    """Return a machine of one node that is four times as fast as three others."""
    node = machine(1).nodes[0]
    fast = replace(node, name="fast", performance_factor=0.25)
    return replace(machine(1), name="mixed", nodes=(fast, *[replace(node, name="slow")] * 3))


def program(seconds: float, ranks: int, nbytes: int) -> Program:
    """Return a program that divides work evenly, and whose ranks then send to rank 0."""
    built = TraceBuilder(ranks)
    for rank in range(ranks):
        built[rank].compute(seconds / ranks)
    for rank in range(1, ranks):
        built[rank].send(0, nbytes)
        built[0].recv(rank)
    return compile_program(built.build())


def every(processes: Mapping[str, list[int]]) -> list[dict[str, Use]]:
    """Return all configurations, by enumeration."""
    fast = [None, *(Use(p, m) for p in range(1, COUNTS["fast"] + 1) for m in processes["fast"])]
    slow = [None, *(Use(p, m) for p in range(1, COUNTS["slow"] + 1) for m in processes["slow"])]
    both = ({"fast": f, "slow": s} for f in fast for s in slow)
    return [found for each in both if (found := {kind: use for kind, use in each.items() if use is not None})]


@given(
    st.floats(0.01, 100), st.sampled_from([0, 1000, 10**6]), st.sets(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(1, 8),
)  # fmt: skip
@settings(max_examples=examples(15), deadline=None)
def test_what_is_found_is_best_of_all(seconds: float, nbytes: int, traced: set[int], keep: int) -> None:
    """For any work, messages and traced numbers of ranks, the best configurations and their order are found."""
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
    """8 s of work take 8 / 7 s on four processes of the fast node and one on each slow node; bounds save replays."""
    programs = {ranks: program(8.0, ranks, 0) for ranks in range(1, 8)}
    found = Replays(programs, mixed()).best(COUNTS, {"fast": [1, 2, 3, 4], "slow": [1]}, keep=1)
    assert found.best.uses == {"fast": Use(1, 4), "slow": Use(3)}
    assert found.replayed < found.total


def test_no_trace_of_so_many_ranks() -> None:
    """A configuration without a trace has no time; no usable trace at all and too many choices are refused."""
    replays = Replays({3: program(1.0, 3, 0)}, mixed())
    assert replays.seconds({"slow": Use(2)}) is None
    assert replays.seconds({"slow": Use(3)}) is not None
    with pytest.raises(UsageError, match="mixed: traces must be of numbers of ranks that its processors can have"):
        Replays({50: program(1.0, 50, 0)}, mixed()).best(COUNTS, {"fast": [1], "slow": [1]})
    kinds = {f"kind{i}": 9 for i in range(6)}
    with pytest.raises(UsageError, match="mixed: configurations must be at most 100,000 for replays, got more"):
        Replays({50: program(1.0, 50, 0)}, mixed()).best(kinds, {kind: [1, 2, 3] for kind in kinds})


def test_what_replays_say_beside_a_model() -> None:
    """Replays check a model's choice: the fast node alone takes 2 s, all nodes together 8 / 7 s and their messages.

    In a replay, two processes on one of a node's two processors use both, and the kind of such nodes is reported.
    """
    said, available = model({"slow": 8.0, "fast": 0.1}).cluster, {"fast": 1, "slow": 3}
    found = best(said, 800, available, processes={"fast": [1], "slow": [1]}, keep=2)
    assert found.best.uses == {"fast": Use(1)}
    replays = Replays({ranks: program(8.0, ranks, 0) for ranks in range(1, 8)}, mixed())
    processes = {"fast": [1, 2, 3, 4], "slow": [1]}
    both = beside(said, 800, found, replays, available=available, processes=processes, keep=3)
    assert both.replayed[0] == pytest.approx(2.0)
    assert both.found.best.uses == {"fast": Use(1, 4), "slow": Use(3)}
    assert 8 / 7 < both.found.best.seconds < 8 / 7 + 0.2
    assert both.loss == pytest.approx(2 / both.found.best.seconds - 1)
    assert both.modelled[0] is None, "nobody measured four processes on the fast one"
    assert not both.sharing
    dual = mixed().map(lambda node: replace(node, processors=2))
    shared = beside(
        said, 800, found, Replays(replays.programs, dual), available=available, processes={"slow": [2]}, keep=3
    )
    assert shared.sharing == ("slow",)
    untraced = Replays({7: replays.programs[7]}, mixed())
    assert beside(said, 800, found, untraced, available=available, processes=processes, keep=3).loss is None
