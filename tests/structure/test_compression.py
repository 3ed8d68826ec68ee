"""Compression of traces to loops and back: closed forms by hand, and random programs byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.structure.loops import BITS, LOOP, Affine, Loops, Node, Table, chosen, compress, decompress
from clue.trace import Flag, Op, Trace, TraceBuilder
from clue.trace.builder import RankBuilder
from tests.properties import examples


def compressed(trace: Trace) -> Loops:
    """Return the compressed trace; both implementations must agree, and expansion must return the trace."""
    loops = compress(trace)
    assert same(decompress(loops), trace)
    reference = compress(trace, reference=True)
    assert same(decompress(reference), trace)
    assert [described(part.node) for part in loops.parts] == [described(part.node) for part in reference.parts]
    return loops


def same(ops: object, trace: Trace) -> bool:
    """Tell whether all columns are equal, including their types."""
    pairs = [(getattr(ops, name), getattr(trace.ops, name)) for name in trace.ops.__slots__]
    return all(one.dtype == other.dtype and np.array_equal(one, other) for one, other in pairs)


def described(node: Node) -> object:
    """Return a node as values that can be compared."""
    return node.symbol, node.repeated, dict(node.numbers), [described(each) for each in node.body]


def ring(ranks: int, steps: int) -> Trace:
    """Return a trace of messages around a ring, with an allreduce after each step."""
    built = TraceBuilder(ranks)
    for rank, own in enumerate(built):
        for _ in range(steps):
            own.sendrecv((rank + 1) % ranks, 64, (rank - 1) % ranks)
            own.collective(Op.ALLREDUCE, 8, element=8)
    return built.build()


def only(loops: Loops) -> Node:
    """Return the node of a program's only part, which all ranks share."""
    (part,) = loops.parts
    assert part.ranks == tuple(range(loops.trace.ranks))
    return part.node


# --- by hand ---


def test_a_ring_is_one_loop_of_all_ranks() -> None:
    """Relative partners make the ring one loop, although the last rank sends to the first."""
    loops = compressed(ring(8, 120))
    loop = only(loops)
    assert (loop.symbol, loop.repeated) == (LOOP, ((Affine(120), tuple(range(8))),))
    receive, send, wait, agree = loop.body
    assert [chosen(node.numbers["relative"], 7) for node in (receive, send)] == [Affine(-1), Affine(1)]
    assert chosen(send.numbers["request"], 0) == Affine(1)
    assert chosen(wait.numbers["entries"], 0) == Affine(1, (0, 0, -1))
    assert chosen(agree.numbers["nbytes"], 0) == Affine(8)
    assert (loops.tokens, len(loops.trace.ops)) == (5, 8 * 120 * 4)


def test_ranks_at_an_end_have_a_variant() -> None:
    """In a chain, the first rank has no predecessor: the loop is the same, with two kinds of partners."""
    built = TraceBuilder(6)
    for rank, own in enumerate(built):
        for _ in range(10):
            own.send(rank + 1 if rank < 5 else -1, 64)
            own.recv(rank - 1)
    send, receive = only(compressed(built.build())).body
    assert send.numbers["relative"][0] == (Affine(1), (0, 1, 2, 3, 4))
    assert [ranks for _, ranks in receive.numbers["relative"]] == [(0,), (1, 2, 3, 4, 5)]


def test_sizes_that_shrink_and_roots_that_turn() -> None:
    """A factorisation: iteration i broadcasts 800 - 8 i bytes from rank i mod 4 and gathers to rank 0."""
    built = TraceBuilder(4)
    for own in built:
        for i in range(50):
            own.collective(Op.BCAST, 800 - 8 * i, i % 4)
            own.collective(Op.GATHER, 8, 0)
    bcast, gather = only(compressed(built.build())).body
    assert chosen(bcast.numbers["nbytes"], 3) == Affine(800, (-8, 0))
    assert chosen(bcast.numbers["peer"], 3) == Affine(0, (1, 0), 4)
    assert (chosen(gather.numbers["peer"], 3), "relative" in gather.numbers) == (Affine(0), False)


def test_an_inner_loop_that_grows() -> None:
    """Iteration i has i + 1 sends of 8 (i + j) bytes to the next rank."""
    built = TraceBuilder(3)
    for rank, own in enumerate(built):
        for i in range(20):
            own.collective(Op.BARRIER)
            for j in range(i + 1):
                own.send((rank + 1) % 3, 8 * (i + j))
    barrier, send = only(compressed(built.build())).body
    assert chosen(barrier.repeated, 0) == Affine(1)
    assert chosen(send.repeated, 0) == Affine(1, (1,))
    assert chosen(send.numbers["nbytes"], 0) == Affine(0, (8, 8))


def test_what_differs_from_rank_to_rank_by_equal_steps() -> None:
    """Rank r sends 100 + 4 r bytes: one expression covers all ranks."""
    built = TraceBuilder(5)
    for rank, own in enumerate(built):
        own.send((rank + 1) % 5, 100 + 4 * rank)
    assert only(compressed(built.build())).numbers["nbytes"] == ((Affine(100, per_rank=4), (0, 1, 2, 3, 4)),)


def test_numbers_without_a_rule_are_a_table() -> None:
    """A loop stores its repeated numbers once, as a table; runs with equal steps are one entry."""
    built = TraceBuilder(2)
    for _ in range(30):
        for size in (5, 9, 2, 4, 6, 8):
            built[0].send(1, size)
        built[0].collective(Op.BARRIER)
    loops = compressed(built.build())
    send = loops.parts[0].node.body[0]
    assert chosen(send.numbers["nbytes"], 0) == Table(((2, 5, 4), (4, 2, 2)))
    assert (send.tokens, loops.tokens) == (3, 5)


def test_a_table_serves_ranks_that_need_less_of_it() -> None:
    """Rank r sends the first r + 1 of 5, 5, 2 and 9 bytes: the count is affine in the rank, and the table is shared."""
    built = TraceBuilder(4)
    for rank, own in enumerate(built):
        for size in (5, 5, 2, 9)[: rank + 1]:
            own.send((rank + 1) % 4, size)
    send = only(compressed(built.build()))
    assert send.repeated == ((Affine(1, per_rank=1), (0, 1, 2, 3)),)
    assert send.numbers["nbytes"] == ((Table(((2, 5, 0), (2, 2, 7))), (0, 1, 2, 3)),)


def test_parts_of_some_ranks_stand_among_those_of_all() -> None:
    """A receive of rank 0 alone splits the program into parts; the parts around it belong to all ranks."""
    built = TraceBuilder(4)
    for rank, own in enumerate(built):
        own.collective(Op.BARRIER)
        if rank == 0:
            own.recv(1)
        for _ in range(9):
            own.collective(Op.ALLREDUCE, 8)
        own.collective(Op.BARRIER)
    assert [part.ranks for part in compressed(built.build()).parts] == [(0, 1, 2, 3), (0,), (0, 1, 2, 3), (0, 1, 2, 3)]


def test_entries_that_belong_to_no_op_come_back() -> None:
    """Another recorder may leave or share entries of lists: the columns come back unchanged."""
    trace = ring(2, 5)
    extras = np.concatenate([[7, 7], trace.ops.extras[:10], [9], trace.ops.extras[10:]])
    extra = np.where(trace.ops.count > 0, trace.ops.extra + 2, 0).astype(np.int32)
    extra[20:] = np.where(trace.ops.count[20:] > 0, trace.ops.extra[20:], 0)
    moved = replace(
        trace,
        ops=replace(trace.ops, extras=extras, extra=extra),
        head=replace(trace.head, extra_offsets=(0, 13, 23)),
    )
    assert same(decompress(compress(moved)), moved)


def test_ranks_without_ops() -> None:
    """Ranks without ops are in no part."""
    built = TraceBuilder(3)
    built[1].collective(Op.BARRIER)
    loops = compressed(built.build())
    assert [part.ranks for part in loops.parts] == [(1,)]
    assert loops.tokens == 1


# --- along the bits of the rank ---


def agreeing(ranks: int, calls: int = 3, *, set_sends: bool = True, sizes: tuple[int, ...] = (8, 21)) -> Trace:
    """Return calls like a reduce of objects: of rank and rank ^ 2^k, the one with the bit set sends.

    With ``set_sends=False``, the other one sends.
    """
    built = TraceBuilder(ranks)
    for rank, own in enumerate(built):
        for _ in range(calls):
            flags = Flag.PICKLED
            for bit in range((ranks - 1).bit_length()):
                peer = rank ^ (1 << bit)
                if peer >= ranks:
                    continue
                for size in sizes:
                    if bool(rank >> bit & 1) == set_sends:
                        own.add(Op.SEND, call="reduce", peer=peer, nbytes=size, flags=flags)
                    else:
                        own.add(Op.RECV, call="reduce", peer=peer, flags=flags)
                    flags = Flag.PICKLED | Flag.CONTINUED
        own.collective(Op.BARRIER)
    return built.build()


@pytest.mark.parametrize("set_sends", [True, False])
@pytest.mark.parametrize("ranks", [3, 4, 5, 12, 16, 17])
def test_messages_along_bits_are_the_same_on_all_ranks(ranks: int, set_sends: bool) -> None:
    """All ranks share a loop of two rows, then a barrier; sizes are known except for a rank that sends nothing."""
    trace = agreeing(ranks, set_sends=set_sends)
    loops = compressed(trace)
    loop, barrier = loops.parts
    assert [part.ranks for part in (loop, barrier)] == [tuple(range(ranks))] * 2
    assert [node.symbol == LOOP for node in loop.node.walk()] == [True, False, False]
    silent = [rank for rank in range(ranks) if not (trace.rank(rank).op == Op.SEND).any()]
    for node, size in zip(loop.node.body, (8, 21), strict=True):
        assert {size for size, _ in node.numbers["nbytes"]} == {Affine(size)} | ({Affine(0)} if silent else set())
        assert int(loops.shapes.columns["op"][node.symbol]) == (Op.SEND if set_sends else Op.RECV)
        assert int(loops.shapes.columns["flags"][node.symbol]) & BITS
    assert loops.tokens == 4 + 2 * bool(silent)
    rows = [loops.rows(rank) for rank in range(ranks)]
    assert [len(each) for each in rows] == [len(trace.rank(rank)) for rank in range(ranks)]
    assert {int(each.max()) for each in rows} == {3 * 2}


@pytest.mark.parametrize("what", ["peer", "nbytes", "tag", "flags", "op"])
def test_what_goes_another_way_stays_as_it_is(what: str) -> None:
    """A message to another rank, or of another size or kind, is kept exactly; the other ranks still share a part."""
    trace = agreeing(8)
    column = getattr(trace.ops, what).copy()
    at = trace.head.offsets[5] + 3  # the second message of rank 5 at its second bit
    column[at] = {"peer": 6, "nbytes": 77, "tag": 9, "flags": 0, "op": Op.LOCAL}[what]
    loops = compressed(replace(trace, ops=replace(trace.ops, **{what: column})))
    assert any(set(range(8)) - {5} <= set(part.ranks) for part in loops.parts)


def test_the_mark_of_such_rows_is_no_flag() -> None:
    """The mark is beyond all flags, and traces with unknown flags are refused, so no trace contains it."""
    assert sum(Flag) < BITS < 1 << 16


# --- random programs ---

Step = Callable[[RankBuilder, int], None]


@st.composite
def steps(draw: st.DrawFn) -> Step:
    """Draw a call whose numbers may depend on the rank and on the number of calls so far."""
    kind = draw(st.sampled_from(["send", "recv", "sendrecv", "root", "sizes", "requests", "bits"]))
    distance, size, slope = draw(st.integers(1, 3)), draw(st.integers(0, 99)), draw(st.sampled_from([0, 0, 8, -1]))
    made = [0] * 4

    def step(own: RankBuilder, rank: int) -> None:
        made[rank] += 1
        nbytes = max(0, size + slope * made[rank])
        if kind == "send":
            own.send((rank + distance) % 4, nbytes, tag=size)
        elif kind == "recv":
            own.recv((rank - distance) % 4 if rank else -1, flags=Flag.ANY_SOURCE if rank else 0)
        elif kind == "sendrecv":
            own.sendrecv((rank + distance) % 4, nbytes, (rank - distance) % 4)
        elif kind == "root":
            own.collective(Op.BCAST, nbytes, made[rank] % 4)
        elif kind == "bits":
            for bit in range(2):
                flags = Flag.PICKLED | (Flag.CONTINUED if bit else 0)
                if (rank >> bit ^ distance) & 1:
                    own.add(Op.SEND, call="reduce", peer=rank ^ (1 << bit), nbytes=nbytes, flags=flags)
                else:
                    own.add(Op.RECV, call="reduce", peer=rank ^ (1 << bit), flags=flags)
        elif kind == "sizes":
            own.collective(Op.ALLTOALLV, extras=[nbytes + other for other in range(4)])
        else:
            own.wait(*[own.isend((rank + distance) % 4, nbytes) for _ in range(distance)])

    return step


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Draw a program of four ranks: nested loops of calls, and some calls of one rank only."""
    built = TraceBuilder(4)

    def run(depth: int) -> None:
        if depth and draw(st.booleans()):
            times = draw(st.integers(1, 4))
            body = [draw(steps()) for _ in range(draw(st.integers(1, 3)))]
            inner = draw(st.integers(0, 3))
            for i in range(times):
                for own in body:
                    for rank in range(4):
                        for _ in range(1 + (inner * i) % 3):
                            own(built[rank], rank)
        for _ in range(draw(st.integers(0, 2))):
            step, rank = draw(steps()), draw(st.integers(0, 3))
            step(built[rank], rank)
        if depth:
            run(depth - 1)

    run(3)
    return built.build()


@given(trace=traces())
@settings(deadline=None, max_examples=examples(60))
def test_any_trace_comes_back(trace: Trace) -> None:
    """Both implementations find the same loops, which expand to the trace."""
    compressed(trace)


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_tokens_do_not_grow_with_ranks_or_iterations(ranks: int) -> None:
    """A ring takes five tokens for any number of ranks and steps."""
    assert {compress(ring(ranks, steps)).tokens for steps in (10, 100)} == {5}
