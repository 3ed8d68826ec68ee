"""Which loops are sampled, from the number of their iterations and of the ops outside of them."""

from __future__ import annotations

import pytest

from clue.kernel import simulate
from clue.steady import UnsteadyError, simulate_sampled
from clue.steady.plan import plan
from clue.trace import Op, Trace, TraceBuilder
from tests.kernel.cases import machine
from tests.skeleton.programs import site


def two_loops(long: int, short: int, outside: int) -> Trace:
    """Return a program of some calls outside of loops, and two loops of one call in each iteration."""
    built = TraceBuilder(2, "two.py")
    for own in built:
        for line in range(outside):
            own.at(site(100 + line))
            own.collective(Op.BARRIER)
        for line, count in ((5000, long), (6000, short)):
            for _ in range(count):
                own.at(site(line, line - 5))
                own.compute(0.01)
                own.collective(Op.ALLREDUCE, 8)
    return built.build()


def test_a_short_loop_beside_a_long_one_is_replayed() -> None:
    """Of 21,300 ops, 2,130 may be replayed: 1,000 outside of loops, 300 of a loop too short to be sampled beside them.

    The 830 that are left suffice for the loop of 20,000 iterations, as if the short one were outside of any loop.
    """
    trace = two_loops(20_000, 300, 1_000)
    (only,) = plan(trace)
    assert only.stretch.name == "sweep.py:4995"
    steady, whole = simulate_sampled(trace, machine(2)), simulate(trace, machine(2))
    assert steady.result.makespan == pytest.approx(whole.makespan, rel=1e-6)


def test_a_loop_that_matters_and_leaves_no_room_is_told() -> None:
    """Of 3,500 ops, 350 may be replayed: a short loop of 300 and 200 outside of loops are more."""
    with pytest.raises(UnsteadyError, match=r"loops of many steady iterations must make 95% of all ops, got 94.3%"):
        plan(two_loops(3_000, 300, 200))
