"""Traces built in memory: worlds, communicators and columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clue.analysis.trace import profile_calls
from clue.errors import TraceError, UsageError
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.builder import RankColumns, trace_of


def test_spawned_ranks_have_a_world_of_their_own() -> None:
    """The first of four ranks spawns the last two: the first world has ranks 0 and 1 only."""
    builder = TraceBuilder(4)
    world, comm = builder.spawned((2, 3))
    builder[0].add(Op.SPAWN, nbytes=2, extras=(world,))
    head = builder.build().head
    assert [each.world for each in head.rank_heads] == [0, 0, 1, 1]
    assert head.communicators[0].group == (0, 1)
    assert (head.communicators[comm].name, head.communicators[comm].group) == ("WORLD", (2, 3))
    assert head.communicators[comm].context != head.communicators[0].context


def test_worlds_are_numbered_in_the_order_in_which_they_are_taken_out() -> None:
    """Each spawned world has the next number, and its ranks leave the first world."""
    builder = TraceBuilder(3)
    assert [builder.spawned((2,))[0], builder.spawned((1,))[0]] == [1, 2]
    head = builder.build().head
    assert [each.world for each in head.rank_heads] == [0, 2, 1]
    assert head.communicators[0].group == (0,)


def test_both_sides_of_an_intercommunicator_share_a_context() -> None:
    """Both sides of an intercommunicator have the same context, which is unique, and each other's group as remote."""
    builder = TraceBuilder(3)
    near, far = builder.intercommunicator((0, 2), (1,))
    other = builder.communicator((0, 1))
    here, there = (builder.build().head.communicators[index] for index in (near, far))
    assert (here.group, here.remote) == ((0, 2), (1,))
    assert (there.group, there.remote) == ((1,), (0, 2))
    contexts = [each.context for each in builder.build().head.communicators]
    assert here.context == there.context
    assert contexts.count(here.context) == 2
    assert contexts[other] != here.context


def test_columns_and_single_ops_build_the_same_trace() -> None:
    """Columns and single ops give the same trace: omitted columns have the ops' defaults; a rank may have no ops."""
    builder = TraceBuilder(3)
    builder[0].compute(1e-3)
    builder[0].send(1, nbytes=64)
    builder[1].recv(0)
    names, nothing = ("op", "cpu", "peer", "nbytes"), np.zeros(0, np.int64)
    tables = ([[Op.SEND, 10**6, 1, 64]], [[Op.RECV, 0, 0, 0]], np.zeros((0, 4)))
    ranks = [RankColumns(dict(zip(names, np.array(table, np.int64).T, strict=True)), nothing) for table in tables]
    one, other = builder.build(), trace_of(ranks, "built")
    assert one.head.offsets == other.head.offsets == (0, 1, 2, 2)
    for name in ("op", "cpu", "peer", "tag", "nbytes", "comm", "request", "count", "flags", "region"):
        assert getattr(one.ops, name).tolist() == getattr(other.ops, name).tolist(), name
    assert [other.head.calls[call] for call in other.ops.call] == ["Send", "Recv"]


def test_columns_hold_what_fits_them() -> None:
    """A number outside the range of its column's type is an error."""
    rank = RankColumns({"op": np.array([Op.SEND]), "tag": np.array([2**31])}, np.zeros(0, np.int64))
    with pytest.raises(TraceError, match="x: tag must be from -2147483648 to 2147483647, got 2147483648"):
        trace_of([rank], "x")


@pytest.mark.parametrize("field", ["dest", "cpu", "region", "count"])
def test_only_fields_of_an_op_are_taken(field: str) -> None:
    """A field that does not exist, or that the builder itself sets, is refused and not dropped."""
    fields = dict[str, Any]({"peer": 1, field: 5})
    names = "begin, comm, flags, nbytes, peer, request, tag, took"
    with pytest.raises(TraceError, match=f"rank 0: field of an op must be one of {names}, got {field}$"):
        TraceBuilder(2)[0].add(Op.SEND, **fields)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0])
def test_bursts_are_finite(seconds: float) -> None:
    """A burst that is no number, or negative, is refused where it is added; a later one does not make up for it."""
    with pytest.raises(TraceError, match=f"rank 1: burst must be a finite number of seconds from 0 on, got {seconds}$"):
        TraceBuilder(2)[1].compute(seconds)


@pytest.mark.parametrize(
    ("name", "add"),
    [
        ("peer", lambda rank: rank.send(3 / 2, 100)),
        ("nbytes", lambda rank: rank.send(1, 100.5)),
        ("tag", lambda rank: rank.recv(1, tag=0.5)),
        ("nbytes", lambda rank: rank.send(1, float("nan"))),
        ("nbytes", lambda rank: rank.send(1, "100")),
        ("extra", lambda rank: rank.collective(Op.ALLTOALLV, extras=(1, 2.5))),
    ],
)
def test_fields_are_whole_numbers(name: str, add: Callable[[Any], None]) -> None:
    """A rank or a size with a fraction is refused where it is added; the fraction is not dropped."""
    with pytest.raises(TraceError, match=f"^rank 0: {name} must be a whole number, got "):
        add(TraceBuilder(2)[0])


def test_whole_numbers_of_any_type_are_taken(tmp_path: Path) -> None:
    """Numbers of numpy, and floats without a fraction, count as the integers that they equal, also once saved."""
    built = TraceBuilder(2)
    members: Any = np.arange(2)
    sizes: Any = np.array([3, 4])
    group = built.communicator(members)
    built.declare(0, flops=np.float64(5.0), peak_memory=1e9)  # type: ignore[arg-type]
    built[0].send(np.int64(1), 1e6)  # type: ignore[arg-type]
    built[1].recv(0.0)  # type: ignore[arg-type]
    for rank in built:
        rank.collective(Op.ALLTOALLV, comm=group, extras=sizes)
    built.build().save(tmp_path / "numbers.clue")
    trace = Trace.open(tmp_path / "numbers.clue")
    assert trace.ops.peer.tolist() == [1, 0, 0, 0]
    assert trace.ops.nbytes.tolist() == [1_000_000, 0, 0, 0]
    assert trace.ops.extras.tolist() == [3, 4, 3, 4]
    assert trace.head.communicators[group].group == (0, 1)
    assert (trace.head.rank_heads[0].peak_memory, trace.head.rank_heads[0].flops) == (1_000_000_000, {0: 5.0})


def test_numbers_that_no_trace_can_hold() -> None:
    """A burst of 10^12 s, in nanoseconds, needs more than 64 bits."""
    built = TraceBuilder(2)
    built[1].compute(1e12)
    with pytest.raises(TraceError, match=r"^rank 1: numbers of ops must fit into 64 bits, got 1000000000000000000000$"):
        built.build()


@pytest.mark.parametrize("name", [None, 5])
def test_names_of_regions_are_text(name: Any) -> None:
    """Another name is refused, because a saved trace could not be opened."""
    with pytest.raises(TraceError, match=f"^built: name of a region must be text, got {name}$"):
        TraceBuilder(2)[0].compute(1.0, name)


@pytest.mark.parametrize("what", ["flops", "peak_memory"])
def test_work_and_memory_are_not_negative(what: str) -> None:
    """Negative work and memory are refused, and not taken for none."""
    with pytest.raises(TraceError, match=f"^rank 1: {what} must be a finite number from 0 on, got -5$"):
        TraceBuilder(2).declare(1, **{what: -5})  # type: ignore[arg-type]


def test_a_sendrecv_is_one_call_of_this_name() -> None:
    """Its bytes are those of a Sendrecv, as in a recording, not of the receive that it begins with."""
    built = TraceBuilder(2)
    for rank in range(2):
        built[rank].sendrecv(1 - rank, 100, 1 - rank)
    (profile,) = profile_calls(built.build())
    assert (profile.call, profile.count, profile.nbytes) == ("Sendrecv", 2, 200)


def test_a_trace_has_ranks() -> None:
    """A builder without ranks makes no trace."""
    with pytest.raises(TraceError, match="none of mine: trace must have at least one rank, got none"):
        TraceBuilder(0, "none of mine").build()


@pytest.mark.parametrize("given", ["1 ms", None, np.array([1.0, 2.0]), np.array([1.0])], ids=repr)
def test_amounts_are_numbers(given: Any) -> None:
    """A burst with a unit, or of several numbers, is no number of seconds."""
    builder = TraceBuilder(1)
    with pytest.raises(TraceError, match="rank 0: burst must be a finite number of seconds from 0 on, got "):
        builder[0].compute(given)
    with pytest.raises(TraceError, match="rank 0: flops must be a finite number from 0 on, got "):
        builder.declare(0, flops=given)
    builder[0].compute(np.float32(0.5))
    assert builder.build().ops.cpu.tolist() == [5 * 10**8]


@pytest.mark.parametrize("path", [None, 3, b"x.clue", ["x.clue"]], ids=repr)
def test_paths_of_traces_are_paths(path: Any) -> None:
    """What is no path is refused with a message, for reading and for writing."""
    for use in (Trace.open, TraceBuilder(1).build().save):
        with pytest.raises(UsageError, match="path of a trace must be text or a Path, got "):
            use(path)
