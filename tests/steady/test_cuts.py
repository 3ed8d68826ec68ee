"""The bounds between iterations at which a program may be cut."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.steady.cuts import Flow
from clue.steady.iterations import Stretch, stretches
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.builder import RankBuilder
from tests.properties import examples
from tests.steady.programs import Placed, looped

RANKS, ITERATIONS = 3, 8


def only(trace: Trace) -> Stretch:
    """Return the only run of the only loop of a program."""
    ((stretch,),) = stretches(trace)
    return stretch


def closed(trace: Trace) -> list[bool]:
    """Return for each bound of the only loop whether nothing is under way there."""
    return [bool(each) for each in Flow.of(trace).closed(only(trace))]


def test_messages_that_stay_within_their_iteration_cross_no_cut() -> None:
    """A ring exchange and an allreduce per iteration leave all bounds closed."""

    def body(own: RankBuilder, rank: int, _: int) -> None:
        own.sendrecv((rank + 1) % 3, 64, (rank - 1) % 3)
        own.collective(Op.ALLREDUCE, 8)

    trace = looped(3, 5, body, before=lambda own, *_: own.collective(Op.BCAST, 8))
    assert only(trace).name == "loop.py:10"
    assert only(trace).iterations == 5
    assert closed(trace) == [True] * 6


def test_a_message_that_is_received_an_iteration_later_crosses_a_cut() -> None:
    """A message sent in iteration 1 and received in iteration 2 leaves only the bound between them open."""

    def body(own: RankBuilder, rank: int, i: int) -> None:
        if rank == 1 and i == 2:
            own.recv(0)
        own.collective(Op.BARRIER)
        if rank == 0 and i == 1:
            own.send(1, 8)

    assert closed(looped(2, 4, body)) == [True, True, False, True, True]


def test_a_request_that_is_completed_an_iteration_later_is_open_at_a_cut() -> None:
    """A receive posted in iteration 1 and waited for in iteration 2 leaves the bound between them open."""

    def body(own: RankBuilder, rank: int, i: int) -> None:
        if rank == 1 and i == 2:
            own.wait(0)
        own.collective(Op.BARRIER)
        if rank == 0 and i == 1:
            own.send(1, 8)
        if rank == 1 and i == 1:
            own.irecv(0)

    assert closed(looped(2, 4, body)) == [True, True, False, True, True]


def test_members_that_are_a_collective_call_ahead_leave_no_cut() -> None:
    """If rank 0 broadcasts in iteration 0 and rank 1 joins in iteration 1, the bound between them is open."""

    def body(own: RankBuilder, rank: int, i: int) -> None:
        if rank == 1 and i == 1:
            own.collective(Op.BCAST, 8)
        own.collective(Op.BARRIER, comm=1)
        if rank == 0 and i == 0:
            own.collective(Op.BCAST, 8)

    built = TraceBuilder(2)
    built.communicator((0, 1), "Dup")
    for rank, own in enumerate(built):
        for i in range(3):
            body(Placed(own, looped=True), rank, i)  # type: ignore[arg-type]
    assert closed(built.build()) == [True, False, True, True]


MESSAGE = st.tuples(
    st.integers(0, RANKS - 1), st.integers(0, RANKS - 1), st.integers(0, ITERATIONS - 1), st.integers(0, 2)
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(MESSAGE, max_size=12))
def test_what_is_open_is_what_was_sent_and_not_received(messages: list[tuple[int, int, int, int]]) -> None:
    """With random messages from iteration i to i + lag, exactly the bounds with a message under way are open."""
    some = [(a, b, i, min(i + lag, ITERATIONS - 1)) for a, b, i, lag in messages if a != b]

    def body(own: RankBuilder, rank: int, at: int) -> None:
        own.collective(Op.BARRIER)
        for sender, receiver, sent, received in some:
            if (sender, sent) == (rank, at):
                own.send(receiver, 8)
            if (receiver, received) == (rank, at):
                own.recv(sender)

    expected = [not any(sent < bound <= received for *_, sent, received in some) for bound in range(ITERATIONS + 1)]
    assert np.array_equal(closed(looped(RANKS, ITERATIONS, body)), expected)
