"""The sources of the bursts in a live run."""

from __future__ import annotations

from typing import Any

import pytest

from clue.errors import LiveError
from clue.execution.bursts import MEASURED, Declared, Replayed, Synthetic
from clue.trace import PROC_NULL, Flag, Op, TraceBuilder
from clue.trace.calls import Call, LiveOp


def said(cpu: int, op: int = Op.SEND) -> Call:
    """Return a call before which a rank reports a burst of this many nanoseconds."""
    return Call(int(op), cpu)


def test_measured_and_declared_bursts_are_what_the_rank_says() -> None:
    """Both sources use the rank's own figure; they differ only in the rate by which the rank counts."""
    assert MEASURED.burst(3, 7, said(1234)) == Declared(1e9).burst(3, 7, said(1234)) == 1234
    assert (MEASURED.rate, Declared(1e9).rate) == (None, 1e9)


def test_synthetic_bursts_depend_on_rank_and_op_only() -> None:
    """Synthetic bursts take 10 us and up to a tenth more, and vary between ranks and ops."""
    bursts = {(rank, op): Synthetic().burst(rank, op, said(rank)) for rank in range(10) for op in range(100)}
    assert bursts == {(rank, op): Synthetic().burst(rank, op, said(0)) for rank, op in bursts}
    assert all(10_000 <= burst < 11_024 for burst in bursts.values())
    assert len(set(bursts.values())) > 500


def test_bursts_of_a_trace_are_taken_op_by_op() -> None:
    """Each rank gets its own bursts; the last may be missing, and a rank with more calls than the trace is an error."""
    trace = TraceBuilder(2, program="pingpong.py")
    trace[0].compute(1.0)
    trace[0].send(1, 8)
    trace[1].compute(0.25)
    trace[1].recv(0)
    replayed = Replayed(trace.build())
    taken = [replayed.burst(0, 0, said(5)), replayed.burst(1, 0, said(5, Op.RECV))]
    assert taken == [1_000_000_000, 250_000_000]
    with pytest.raises(LiveError, match=r"pingpong.py: bursts must be for the calls of this run, got 1 for rank 1"):
        replayed.burst(1, 1, said(5))
    assert replayed.burst(1, 1, said(5, LiveOp.END)) == 0
    with pytest.raises(LiveError, match="got 0 for rank 2, which makes more"):
        replayed.burst(2, 0, said(5))


def test_bursts_of_a_trace_are_for_the_same_calls() -> None:
    """Another call, and an end before the last call of the trace, are errors that name both."""
    trace = TraceBuilder(1, program="prog.py")
    trace[0].compute(1.0)
    trace[0].send(0, 8)
    trace[0].recv(0)
    replayed = Replayed(trace.build())
    with pytest.raises(LiveError, match="got SEND as call 0 of rank 0, which makes TEST"):
        replayed.burst(0, 0, said(5, LiveOp.TEST))
    assert replayed.burst(0, 0, said(5)) == 1_000_000_000
    with pytest.raises(LiveError, match="got more than 1 for rank 0, which makes fewer"):
        replayed.burst(0, 1, said(5, LiveOp.END))


def test_bursts_before_ops_that_live_runs_do_not_have_count_for_the_next() -> None:
    """A recording has 1 s before each of its calls; a live run has two of them, a send and a receive, and its end.

    It does not have a call that costs nothing, a message to a null partner, a barrier of a rank alone, the wait for
    a null partner, a matched message from one, or a cancelled receive's poll, which is a receive.
    """
    trace = TraceBuilder(1, program="prog.py")
    rows: list[tuple[Op, dict[str, Any]]] = [
        (Op.LOCAL, {}),
        (Op.ISEND, {"peer": PROC_NULL, "request": 7}),
        (Op.BARRIER, {}),
        (Op.WAIT, {"request": 7}),
        (Op.MPROBE, {"peer": PROC_NULL, "request": 9}),
        (Op.MRECV, {"request": 9}),
        (Op.SEND, {"peer": 0}),
        (Op.POLL, {"peer": 0, "request": 8, "flags": int(Flag.CANCELLED)}),
        (Op.LOCAL, {}),
    ]
    for op, fields in rows:
        trace[0].compute(1.0)
        trace[0].add(op, **fields)
    replayed = Replayed(trace.build())
    ops = (Op.SEND, Op.IRECV, LiveOp.END)
    assert [replayed.burst(0, i, said(5, op)) for i, op in enumerate(ops)] == [7 * 10**9, 10**9, 10**9]


def test_bursts_that_end_regions_are_taken_by_region() -> None:
    """A trace has 1 s in a, 2 s in b, 0.25 s outside and 4 s in a.

    A run has bursts outside before a and b, which take no time, and none before the last a: its end, which is outside,
    takes the 0.25 s.
    """
    trace = TraceBuilder(1, program="prog.py")
    for seconds, region in ((1.0, "a"), (2.0, "b"), (0.25, ""), (4.0, "a")):
        trace[0].compute(seconds, region)
    replayed = Replayed(trace.build())
    calls = [Call(int(Op.COMPUTE), 5, payload=region) for region in ("", "a", "", "b", "a")]
    taken = [replayed.burst(0, i, call) for i, call in enumerate([*calls, said(5, LiveOp.END)])]
    assert taken == [0, 1_000_000_000, 0, 2_000_000_000, 4_000_000_000, 250_000_000]


@pytest.mark.parametrize(
    ("recorded", "made", "seconds"),
    [
        ([("inner", 2), ("outer", 1)], ["outer", "inner", "outer"], [1, 2, 0, 0.5]),
        ([("outer", 0.25), ("inner", 2), ("outer", 1)], ["inner", "outer"], [2, 1.25, 0.5]),
        ([("inner", 2), ("outer", 1)], ["outer"], [1, 2.5]),
        ([("", 4), ("outer", 1)], ["outer", "", "outer"], [1, 4, 0, 0.5]),
        ([("inner", 2), ("outer", 1), ("inner", 4)], ["outer", "inner", "inner"], [1, 6, 0, 0.5]),
    ],
)
def test_bursts_count_in_their_own_regions(
    recorded: list[tuple[str, float]], made: list[str], seconds: list[float]
) -> None:
    """A trace or a run lacks a burst that is too short, such as that of an outer region before an inner one.

    The other bursts stay in their regions. The message after them is sent after a further 0.5 s outside regions.
    """
    trace = TraceBuilder(1, program="prog.py")
    for region, each in recorded:
        trace[0].compute(each, region)
    trace[0].compute(0.5)
    trace[0].send(0, 8)
    replayed = Replayed(trace.build())
    calls = [*(Call(int(Op.COMPUTE), 5, payload=region) for region in made), said(5)]
    assert [replayed.burst(0, i, call) for i, call in enumerate(calls)] == [round(each * 1e9) for each in seconds]
    assert replayed.burst(0, len(calls), said(5, LiveOp.END)) == 0
