"""Operations that a program declares, at a target."""

from __future__ import annotations

import pytest

from clue.extrapolation import Family, InLoops, Recording, extrapolate, in_loops, infer
from clue.extrapolation.operations import operations
from clue.kernel import simulate
from clue.machine import Curve, Link, Machine, Network, NoContention, NodeType
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.sites import Frame, Site

SITE = Site((Frame("mm.py", "<module>", 5, 0, (4,)),))
KEYS = [(size, ranks) for size in (16, 32, 64) for ranks in (2, 4, 6)]


def product(n: int, ranks: int) -> Trace:
    """Return a trace of a product of matrices in 4 steps, at 1 Gflop/s: 2 n^3 operations, all told by rank 0."""
    trace = TraceBuilder(ranks, "mm.py")
    trace.declare(0, region="product", flops=2.0 * n**3)
    for rank in range(ranks):
        trace[rank].at(SITE)
        for _ in range(4):
            trace[rank].compute(2e-9 * n**3 / ranks / 4, "product")
            trace[rank].collective(Op.BARRIER, 0)
    return trace.build()


@pytest.fixture(scope="module")
def family() -> Family:
    """Return recordings of the product."""
    return Family.of([Recording(size, ranks, (product(size, ranks),)) for size, ranks in KEYS], "mm")


def test_operations_follow_size_and_ranks(family: Family) -> None:
    """At 256, there are 2 · 256^3 operations on any number of ranks."""
    assert operations(family, 256, 16)["product"][0] == pytest.approx(2 * 256**3, rel=1e-6)
    plain = Family.of([Recording(8, 2, (TraceBuilder(2, "a.py").build(),))], "plain")
    assert not operations(plain, 16, 4)


def test_speeds_by_region_apply_to_extrapolated_traces(family: Family) -> None:
    """At 2 Gflop/s, 16 ranks take 2 · 256^3 / 16 / 2e9 s = 1.048576 ms; the performance factor does not count."""
    made = extrapolate(family, size=256, ranks=16)
    assert made.trace.flops()["product"][0] == pytest.approx(2 * 256**3, rel=1e-6)
    assert "operations declared in region product are extrapolated: 3.355e+07 flop" in " ".join(made.warnings)
    node = NodeType("node", performance_factor=7.0, speeds={"product": 2e9})
    link = Link(Curve.line(0.0), Curve.line(0.0))
    machine = Machine("quick", (node,) * 16, Network(link, link, contention=NoContention()))
    result = simulate(made.trace, machine, engine="reference")
    assert result.makespan == pytest.approx(1.048576e-3, rel=1e-4)
    assert not any("speed of region" in warning for warning in result.warnings)


def test_loops_say_that_they_have_no_operations(family: Family) -> None:
    """Bursts of loops are drawn in the replay, so that the speed of the host is unknown before."""
    program = in_loops(family, InLoops.of(infer(family), 256, 16)).program
    told = "operations declared in region product are not extrapolated, as the program is replayed as loops"
    assert any(note.startswith(told) for note in program.notes)
