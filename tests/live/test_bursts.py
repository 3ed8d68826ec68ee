"""The sources of the bursts in a live run."""

from __future__ import annotations

import pytest

from clue.errors import LiveError
from clue.execution.bursts import MEASURED, Declared, Replayed, Synthetic
from clue.trace import Op, TraceBuilder
from clue.trace.calls import Call


def said(cpu: int) -> Call:
    """Return a call before which a rank reports a burst of this many nanoseconds."""
    return Call(int(Op.SEND), cpu)


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
    assert [replayed.burst(rank, 0, said(5)) for rank in (0, 1)] == [1_000_000_000, 250_000_000]
    assert replayed.burst(1, 1, said(5)) == 0
    with pytest.raises(LiveError, match=r"pingpong.py: bursts must be for the calls of this run, got 1 for rank 1"):
        replayed.burst(1, 2, said(5))
    with pytest.raises(LiveError, match="got 0 for rank 2"):
        replayed.burst(2, 0, said(5))
