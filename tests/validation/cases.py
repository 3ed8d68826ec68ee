"""Programs with different mixtures of computation and messages, and machines with round numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clue.kernel import Candidate, Program, compile_program, simulate
from clue.machine import Contention, Curve, Link, Machine, Network, NoContention, NodeType, Placement
from clue.trace import TraceBuilder
from clue.validation import Case

LATENCY, PER_BYTE = 100e-6, 10e-9
NONE = NoContention()


def link(latency: float = LATENCY, per_byte: float = PER_BYTE) -> Link:
    """Return a link whose latency and cost per byte are split evenly between send and transmission delay."""
    half = Curve.line(latency / 2, per_byte / 2)
    return Link(half, half)


def machine(
    nodes: int = 4, *, factor: float = 1.0, contention: Contention = NONE, between: Link | None = None
) -> Machine:
    """Return a machine of equal nodes that has the same link within and between nodes."""
    between = between or link()
    return Machine(
        "m", (NodeType("host", performance_factor=factor),) * nodes, Network(between, between, contention=contention)
    )


def in_turn(rounds: int, seconds: float, nbytes: int) -> Program:
    """Return a program whose rank 0 repeatedly computes for some seconds and sends bytes to rank 1.

    With eager messages it takes ``rounds × (seconds + s) + t``.
    """
    trace = TraceBuilder(2, program="in_turn.py")
    for _ in range(rounds):
        trace[0].compute(seconds)
        trace[0].send(1, nbytes)
        trace[1].recv(0)
    return compile_program(trace.build())


def ring(ranks: int, rounds: int, seconds: float, nbytes: int) -> Program:
    """Return a program whose ranks repeatedly compute, and then all send to their neighbours at once."""
    trace = TraceBuilder(ranks, program="ring.py")
    for _ in range(rounds):
        for rank in range(ranks):
            trace[rank].compute(seconds)
            trace[rank].sendrecv((rank + 1) % ranks, nbytes, (rank - 1) % ranks)
    return compile_program(trace.build())


def fan(ranks: int, rounds: int, seconds: float, nbytes: int) -> Program:
    """Return a program whose ranks repeatedly compute, and then all send to rank 0, whose port is the bottleneck."""
    trace = TraceBuilder(ranks, program="fan.py")
    for _ in range(rounds):
        for rank in range(1, ranks):
            trace[rank].compute(seconds)
            trace[rank].send(0, nbytes)
        for rank in range(1, ranks):
            trace[0].recv(rank)
    return compile_program(trace.build())


#: Each program has a different mixture of computation, latency, bandwidth and simultaneous messages.
PROGRAMS = (
    in_turn(20, 10e-3, 100),
    in_turn(50, 50e-6, 8),
    in_turn(10, 1e-3, 1_000_000),
    ring(4, 10, 1e-3, 200_000),
    fan(4, 10, 1e-3, 100_000),
    fan(4, 50, 50e-6, 8),
)


def measured_on(real: Machine, described: Machine, programs: Sequence[Program] = PROGRAMS) -> list[Case]:
    """Return cases that are described on one machine and measured on another, with one rank per node."""
    return [measured(program, real, described, size=str(i)) for i, program in enumerate(programs)]


def measured(
    program: Program,
    real: Machine,
    described: Machine,
    *,
    size: str = "",
    name: str = "m",
    times: float = 1.0,
    nodes: Sequence[int] | None = None,
) -> Case:
    """Return a case whose three runs equal the simulated time on the real machine, multiplied by ``times``."""
    placement = Placement(tuple(range(program.ranks) if nodes is None else nodes))
    run = simulate(program, real, placement, "reference").makespan * times
    return Case(program.name, name, size, program, Candidate(described, placement), (run, run, run))


def slower(real: Machine, cost: float) -> Machine:
    """Return a machine whose computation takes this many times as long."""
    nodes = tuple(replace(node, performance_factor=node.performance_factor * cost) for node in real.nodes)
    return replace(real, nodes=nodes)
