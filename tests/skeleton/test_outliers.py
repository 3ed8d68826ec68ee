"""Outliers among bursts: a set-up before a loop, output now and then, and what is told where waits differ."""

from __future__ import annotations

import numpy as np
import pytest

from clue.kernel import simulate
from clue.machine import Curve, Link
from clue.skeleton.construction import construct
from clue.skeleton.statements import Compute, Loop
from clue.skeleton.tree import statements_of
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.builder import RankBuilder
from tests.kernel.cases import machine
from tests.skeleton.programs import site
from tests.steady.programs import looped

#: Messages take no time.
FREE = machine(3, link=Link(Curve.line(0.0), Curve.line(0.0), 0.0, None))
SITES = pytest.mark.parametrize("sited", [True, False], ids=["call sites", "no call sites"])


def uneven(sited: bool, *, barriers: int = 0) -> Trace:
    """Return a set-up of 5 s, and 100 iterations in which ranks compute for 10 and 20 ms in turn: 7 s on free links.

    Args:
        sited: Whether call sites are known.
        barriers: Number of barriers before the set-up, of those between it and the loop, and of those at the end.
    """
    built = TraceBuilder(2, "sweep.py")
    for rank, own in enumerate(built):
        for part in range(2):
            for i in range(barriers):
                if sited:
                    own.at(site(1 + 2 * part + i))
                own.collective(Op.BARRIER)
            if part == 0:
                own.compute(5)
        for i in range(100):
            if sited:
                own.at(site(20, 10))
            own.compute(0.02 if i % 2 == rank else 0.01)
            own.collective(Op.BARRIER)
        for i in range(barriers):
            if sited:
                own.at(site(30 + i))
            own.collective(Op.BARRIER)
    return built.build()


@SITES
@pytest.mark.parametrize("barriers", [0, 1])
def test_a_set_up_is_not_divided_among_the_iterations_that_are_kept(sited: bool, barriers: int) -> None:
    """A fifth of 5 + 100 × 0.02 s is 1.4 s, to within an iteration.

    If the 20 kept bursts of 10 and 20 ms contained the set-up, they would be 6.5 / 1.5 times as long: 20 iterations of
    87 ms would take 1.73 s.
    """
    trace = uneven(sited, barriers=barriers)
    assert simulate(trace, FREE).makespan == pytest.approx(7.0)
    short = construct(trace, scale=5)
    assert simulate(short.trace, FREE).makespan == pytest.approx(1.4, abs=0.02)
    for rank in range(2):
        own = short.trace.rank(rank)
        assert own.cpu[own.op == Op.COMPUTE] == pytest.approx([1e9], rel=0.003)
        assert own.cpu[own.op == Op.BARRIER].max() < 20_500_000


def test_a_program_sets_up_before_its_loop() -> None:
    """The program computes for a second, and then goes round its loop."""
    setting_up, loop = statements_of(construct(uneven(True), scale=5).trace).body
    assert isinstance(setting_up, Compute)
    assert isinstance(loop, Loop)


def test_what_a_rank_alone_sets_up_delays_the_others() -> None:
    """A master sets up for 5 s, sends 100 tasks of 50 ms to two workers in turn, and receives the results: 7.5 s.

    K = 5 keeps 20 tasks. If these divided the set-up, workers would get one every 0.1 s, and end after 1.05 s.
    """
    built = TraceBuilder(3)
    built[0].compute(5)
    for i in range(100):
        built[0].send(1 + i % 2, 100)
        own = built[1 + i % 2]
        own.recv(0)
        own.compute(0.05)
        own.send(0, 100)
    for i in range(100):
        built[0].recv(1 + i % 2)
    trace = built.build()
    assert simulate(trace, FREE).makespan == pytest.approx(7.5)
    assert simulate(construct(trace, scale=5).trace, FREE).makespan == pytest.approx(1.5)


def test_output_now_and_then_is_kept_as_often_as_it_occurs() -> None:
    """Every 20th of 100 iterations computes for 1 s more: of these five, K = 5 keeps one, on all ranks at once."""

    def body(own: RankBuilder, rank: int, i: int) -> None:
        own.compute(0.01 + 0.001 * rank + (i % 20 == 10))
        own.collective(Op.BARRIER)

    short = construct(looped(2, 100, body), scale=5).trace
    for rank in range(2):
        own = short.rank(rank)
        (at,) = np.flatnonzero((own.op == Op.COMPUTE) & (own.cpu > 500_000_000))
        assert own.cpu[at] == 1_000_000_000
        assert own.cpu[own.op == Op.BARRIER].tolist() == [10_000_000 + rank * 1_000_000] * 20
    assert len({tuple(short.rank(rank).op.tolist()) for rank in range(2)}) == 1


def test_what_precedes_inner_loops_is_told_from_the_set_up_of_all() -> None:
    """10 times 1 s and 100 iterations of 10 ms, after 20 s: K = 5 keeps 4 s, and twice 1 s and 100 iterations."""
    built = TraceBuilder(2, "nest.py")
    for own in built:
        own.compute(20)
        for _ in range(10):
            own.compute(1)
            for _ in range(100):
                own.at(site(20, 10, 12))
                own.compute(0.01)
                own.collective(Op.BARRIER)
            own.at(site(30, 10))
            own.collective(Op.ALLREDUCE, 8)
    ops = construct(built.build(), scale=5).trace.rank(0)
    assert ops.cpu[ops.op == Op.COMPUTE].tolist() == [4_000_000_000, 1_000_000_000, 1_000_000_000]
    assert ops.cpu[ops.op == Op.BARRIER].tolist() == [10_000_000] * 200


def test_other_waits_are_told() -> None:
    """Two ranks compute in turn for 40 ms, 400 times, and for 0.25 s after the loop. K = 80 keeps turns of rank 1 only.

    Those are iterations 39, 119, …: the 0.1 s of rank 1 are five bursts of 20 ms, and the 0.1 s of rank 0 precede them.
    So the skeleton takes 0.1 + 4 × 0.02 + 0.25 / 80 s, 80 times which is 14.65 s, a tenth too little.
    """

    def body(own: RankBuilder, rank: int, i: int) -> None:
        if i % 2 == rank:
            own.compute(0.04)
        own.collective(Op.BARRIER)

    trace = looped(2, 400, body)
    assert simulate(trace, FREE).makespan == pytest.approx(16.25)
    short = construct(trace, scale=80)
    assert simulate(short.trace, FREE).makespan * 80 == pytest.approx(14.65)
    assert [each.said for each in short.caveats if "delays" in each.said] == [
        "on a network without delays its skeleton takes 10% shorter than intended, because the waits of its ranks for "
        "each other are shorter: a longer skeleton is more reliable, and --machine shows the error on a machine"
    ]
    assert not any("delays" in each.said for each in construct(trace, scale=1).caveats)
