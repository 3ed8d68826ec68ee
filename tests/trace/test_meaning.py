"""A trace with meaningless numbers is refused when it is built or opened, before any simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clue.errors import TraceError
from clue.kernel import simulate
from clue.trace import Op, Trace, TraceBuilder
from tests.kernel.cases import machine


def neighbors(*entries: int) -> TraceBuilder:
    """Return a builder of three ranks that have the same list of neighbours."""
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
        ((1, 1, -8, 0), "extra of rank 0, op 0 must list sizes from 0 to 9007199254740992, got -8"),
    ],
)
def test_lists_of_neighbours_are_checked(entries: tuple[int, ...], fault: str) -> None:
    """Lists of neighbours with a wrong length, unknown ranks or negative sizes are refused."""
    with pytest.raises(TraceError, match=fault):
        neighbors(*entries).build()


def test_null_neighbours_are_allowed() -> None:
    """Null neighbours (-1), as at the edge of a grid, are accepted."""
    assert simulate(neighbors(2, -1, -1, 8, 8, 1, -1).build(), machine(3)).makespan == 0


def test_only_members_make_collective_calls() -> None:
    """Rank 2 calls a collective on a communicator of ranks 0 and 1, which is refused."""
    trace = TraceBuilder(3)
    comm = trace.communicator([0, 1])
    for rank in range(3):
        trace[rank].collective(Op.BARRIER, comm=comm)
    with pytest.raises(TraceError, match="comm of rank 2, op 0 must be a communicator that the rank is in, got 1"):
        trace.build()


def barrier() -> Trace:
    """Return a trace of a barrier of three ranks."""
    trace = TraceBuilder(3)
    for rank in range(3):
        trace[rank].collective(Op.BARRIER)
    return trace.build()


@pytest.mark.parametrize("group", [(0, 99, 2), (0, 1, -1), (0, 1, 1)])
def test_groups_are_different_ranks_of_the_trace(group: tuple[int, ...]) -> None:
    """A group with a rank that does not exist, or that occurs twice, is refused."""
    trace = barrier()
    communicators = (replace(trace.head.communicators[0], group=group),)
    damaged = Trace(replace(trace.head, communicators=communicators), trace.ops)
    with pytest.raises(TraceError, match="group of communicator 0 must be different ranks of the trace"):
        damaged.check()


@pytest.mark.parametrize("world", [-5, 10**10])
def test_worlds_are_numbered_one_after_the_other(world: int) -> None:
    """World numbers outside the range of the number of ranks are refused."""
    trace = barrier()
    heads = (replace(trace.head.rank_heads[0], world=world), *trace.head.rank_heads[1:])
    with pytest.raises(TraceError, match="world of rank 0 must be from 0 to 2, got"):
        Trace(replace(trace.head, rank_heads=heads), trace.ops).check()


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_neighbours_that_nobody_receives_from_are_told(engine: str) -> None:
    """Rank 0 sends to rank 1, which does not receive: both engines warn of the message."""
    trace = TraceBuilder(2)
    trace[0].add(Op.NEIGHBOR, extras=(1, 1, 8, 0))
    trace[1].add(Op.NEIGHBOR, extras=(0, 0))
    result = simulate(trace.build(), machine(2), engine=engine)
    assert any("1 message was sent and never received" in warning for warning in result.warnings)


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_requests_may_have_any_number(engine: str) -> None:
    """Requests may have any number, up to 2**31 - 1, in both engines; memory does not depend on it."""
    trace = TraceBuilder(2)
    trace[0].add(Op.ISEND, peer=1, nbytes=1000, request=2**31 - 1)
    trace[0].wait(2**31 - 1)
    trace[1].recv(0)
    assert simulate(trace.build(), machine(), engine=engine).makespan == pytest.approx(0.114, rel=1e-12)


def bounded(column: str, value: int, op: Op = Op.SEND) -> TraceBuilder:
    """Return a builder with one op in which one column has the given value."""
    trace = TraceBuilder(2)
    fields: dict[str, Any] = {"peer": 1, column: value}
    trace[0].add(op, **fields)
    return trace


@pytest.mark.parametrize(
    ("trace", "fault"),
    [
        (bounded("nbytes", 2**63 - 1), "nbytes of rank 0, op 0 must be from 0 to 9007199254740992, got 92233720"),
        (bounded("took", -1), "took of rank 0, op 0 must be from 0 to 4611686018427387904, got -1"),
        (bounded("request", -2), "request of rank 0, op 0 must be from -1 to 2147483647, got -2"),
        (bounded("flags", 2**15), "flags of rank 0, op 0 must be from 0 to 32767, got 32768"),
        (bounded("tag", -3), "tag of rank 0, op 0 must be from 0 to 2147483647, got -3"),
        (bounded("peer", -2), "peer of rank 0, op 0 must be a rank of its communicator, or none, got -2"),
        (bounded("peer", -1, Op.BCAST), "peer of rank 0, op 0 must be a rank of its communicator: the root, got -1"),
        (bounded("tag", 0, Op.ISEND), "request of rank 0, op 0 must be a number, from 0 on, got -1"),
        (bounded("request", 3, Op.MRECV), "request of rank 0, op 0 must be that of a matched probe before it, got 3"),
    ],
)  # fmt: skip
def test_fields_are_bounded_by_what_their_op_can_have(trace: TraceBuilder, fault: str) -> None:
    """Values that overflow an engine, or that engines would interpret differently, are refused."""
    with pytest.raises(TraceError, match=fault):
        trace.build()


def test_bursts_are_at_most_150_years() -> None:
    """A burst of 5e9 s is refused, because sums of bursts must fit in 64 bits."""
    trace = TraceBuilder(1)
    trace[0].compute(5e9)
    with pytest.raises(
        TraceError, match=r"cpu of rank 0, op 0 must be from 0 to 4611686018427387904, got 5000000000000000000"
    ):
        trace.build()


@pytest.mark.parametrize("column", ["took", "nbytes"])
def test_sums_fit_64_bits(column: str) -> None:
    """1000 ops of 2**53 each are within bounds, but their sum is not and is refused."""
    trace, large = TraceBuilder(1), dict[str, Any]({column: 2**53})
    for _ in range(1000):
        trace[0].add(Op.LOCAL, **large)
    with pytest.raises(
        TraceError, match=f"{column} of all ops together must be at most 4611686018427387904, got 9.0072e"
    ):
        trace.build()


def test_sizes_of_an_alltoallv_are_bounded() -> None:
    """A negative size in an Alltoallv is refused."""
    trace = TraceBuilder(2)
    for rank in trace:
        rank.collective(Op.ALLTOALLV, extras=(8, -8))
    with pytest.raises(TraceError, match=r"extra of rank 0, op 0 must list sizes from 0 to 9007199254740992, got -8"):
        trace.build()


@pytest.mark.parametrize(("extra", "count"), [(-1, 1), (0, 3), (2, 1), (2**31 - 1, 1), (2**31 - 1, 2**31 - 1)])
def test_entries_lie_within_the_extra_column_of_their_rank(extra: int, count: int) -> None:
    """Entries must lie within the rank's two extras; an op without entries may have any position."""
    trace = TraceBuilder(2)
    trace[0].wait(0, 1, 2)
    trace[1].wait(0, 1)
    trace[1].rows[0] = (*trace[1].rows[0][:8], extra, 0, *trace[1].rows[0][10:])
    trace.build()
    trace[1].rows[0] = (*trace[1].rows[0][:8], extra, count, *trace[1].rows[0][10:])
    with pytest.raises(TraceError, match="extra of rank 1, op 0 must lie within the rank's extra column"):
        trace.build()


def test_ops_have_entries_of_their_own() -> None:
    """Ops may not share entries: 1000 waits on the same 1000 entries would become a million entries in memory.

    60 000 such waits took 3.3 GB.
    """
    trace = TraceBuilder(2)
    trace[1].recv(0)
    trace[0].send(1, 8)
    for i in range(1000):
        trace[0].add(Op.WAIT, extras=range(1000) if i == 0 else ())
    rows = trace[0].rows
    trace[0].rows = [row if i < 2 else (*row[:8], 0, 1000, *row[10:]) for i, row in enumerate(rows)]
    with pytest.raises(
        TraceError, match="count of rank 0, op 2 must leave each op entries of its own in the extra column"
    ):
        trace.build()


def test_contexts_belong_to_one_communicator_or_both_sides_of_one() -> None:
    """Only the two sides of an intercommunicator may share a context: messages of different groups stay apart."""
    trace = TraceBuilder(4)
    trace.intercommunicator([0, 1], [2, 3])
    assert len(trace.build().head.communicators) == 3
    trace.communicator([0, 1])
    trace._communicators[-1] = replace(trace._communicators[-1], context=0)
    with pytest.raises(TraceError, match="context of communicator 3 must be that of no other one"):
        trace.build()


def test_collectives_between_two_groups_are_refused() -> None:
    """A collective op on an intercommunicator is refused, because the recorder never writes one."""
    trace = TraceBuilder(2)
    here, _ = trace.intercommunicator([0], [1])
    trace[0].collective(Op.BARRIER, comm=here)
    with pytest.raises(TraceError, match="comm of rank 0, op 0 must be an intracommunicator, got 1"):
        trace.build()


def test_a_world_begins_once() -> None:
    """A world that two Spawn ops start is refused."""
    trace = TraceBuilder(2)
    world, _ = trace.spawned([1])
    for _ in range(2):
        trace[0].add(Op.SPAWN, extras=(world,))
    with pytest.raises(TraceError, match="extra of rank 0, op 1 must name a world that begins here, got 1"):
        trace.build()


def test_regions_have_names_of_their_own() -> None:
    """Two regions with the same name are refused."""
    trace = barrier()
    damaged = Trace(replace(trace.head, regions=("", "a", "a")), trace.ops)
    with pytest.raises(TraceError, match=r'regions must be different names, the first of them "", got \["", a, a\]'):
        damaged.check()
