"""A trace whose numbers mean nothing is refused where it is made or opened, not found out by a simulation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clue.errors import TraceError
from clue.kernel import simulate
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.meaning import check_meaning
from tests.kernel.cases import machine


def neighbors(*entries: int) -> TraceBuilder:
    """Three ranks with the same list of neighbours."""
    trace = TraceBuilder(3)
    for rank in range(3):
        trace[rank].add(Op.NEIGHBOR, extras=entries)
    return trace


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        ((5, 1), "count of rank 0, op 0 must be that of a list of neighbours .* got 2"),
        ((0,), "count of rank 0, op 0 must be that of a list of neighbours .* got 1"),
        ((-1, 0), "count of rank 0, op 0 must be that of a list of neighbours .* got 2"),
        ((1, 1, 8, 2, 0), "count of rank 0, op 0 must be that of a list of neighbours .* got 5"),
        ((1, 99, 8, 0), "extra of rank 0, op 0 must list dests that are ranks of the communicator"),
        ((0, 1, 3), "extra of rank 0, op 0 must list sources that are ranks of the communicator"),
        ((1, 1, -8, 0), "extra of rank 0, op 0 must list sizes that are not negative"),
    ],
)
def test_lists_of_neighbours_are_checked(entries: tuple[int, ...], fault: str) -> None:
    """Lengths that do not add up, ranks that are not there, sizes below 0."""
    with pytest.raises(TraceError, match=fault):
        neighbors(*entries).build()


def test_null_neighbours_are_allowed() -> None:
    """The edge of a grid has neighbours that are none."""
    assert simulate(neighbors(2, -1, -1, 8, 8, 1, -1).build(), machine(3)).makespan == 0


def test_only_members_make_collective_calls() -> None:
    """Rank 2 is not in a communicator of ranks 0 and 1."""
    trace = TraceBuilder(3)
    comm = trace.communicator([0, 1])
    for rank in range(3):
        trace[rank].collective(Op.BARRIER, comm=comm)
    with pytest.raises(TraceError, match="comm of rank 2, op 0 must be a communicator that the rank is in, got 1"):
        trace.build()


def barrier() -> Trace:
    """Return three ranks that meet."""
    trace = TraceBuilder(3)
    for rank in range(3):
        trace[rank].collective(Op.BARRIER)
    return trace.build()


@pytest.mark.parametrize("group", [(0, 99, 2), (0, 1, -1), (0, 1, 1)])
def test_groups_are_different_ranks_of_the_trace(group: tuple[int, ...]) -> None:
    """A rank that is not there, or is there twice."""
    trace = barrier()
    communicators = (replace(trace.head.communicators[0], group=group),)
    damaged = Trace(replace(trace.head, communicators=communicators), trace.ops)
    with pytest.raises(TraceError, match="group of communicator 0 must be different ranks of the trace"):
        check_meaning(damaged)


@pytest.mark.parametrize("world", [-5, 10**10])
def test_worlds_are_numbered_one_after_the_other(world: int) -> None:
    """No program spawns a million worlds."""
    trace = barrier()
    heads = (replace(trace.head.rank_heads[0], world=world), *trace.head.rank_heads[1:])
    with pytest.raises(TraceError, match="world of rank 0 must be from 0 to 1048575, got"):
        check_meaning(Trace(replace(trace.head, rank_heads=heads), trace.ops))


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_neighbours_that_nobody_receives_from_are_told(engine: str) -> None:
    """Rank 0 sends to 1, which does not receive: both engines say so."""
    trace = TraceBuilder(2)
    trace[0].add(Op.NEIGHBOR, extras=(1, 1, 8, 0))
    trace[1].add(Op.NEIGHBOR, extras=(0, 0))
    result = simulate(trace.build(), machine(2), engine=engine)
    assert any("1 messages were sent and never received" in warning for warning in result.warnings)


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_requests_may_have_any_number(engine: str) -> None:
    """Whoever writes traces numbers requests as he likes; the memory that they take does not depend on it."""
    trace = TraceBuilder(2)
    trace[0].add(Op.ISEND, peer=1, nbytes=1000, request=2**31 - 1)
    trace[0].wait(2**31 - 1)
    trace[1].recv(0)
    assert simulate(trace.build(), machine(), engine=engine).makespan == pytest.approx(0.114, rel=1e-12)
