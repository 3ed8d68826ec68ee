"""Programs that compute, send small and large messages, alone and several at once; machines with round numbers."""

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
    """Return a link whose send and transmission delay share latency and growth half and half."""
    half = Curve.line(latency / 2, per_byte / 2)
    return Link(half, half)


def machine(
    nodes: int = 4, *, factor: float = 1.0, contention: Contention = NONE, between: Link | None = None
) -> Machine:
    """Return a machine of equal nodes whose link holds within them too."""
    between = between or link()
    return Machine(
        "m", (NodeType("host", performance_factor=factor),) * nodes, Network(between, between, contention=contention)
    )


def in_turn(rounds: int, seconds: float, nbytes: int) -> Program:
    """Return rank 0 computing so long and sending so much to rank 1, again and again; nothing happens at once.

    With eager messages it takes ``rounds × (seconds + s) + t``.
    """
    trace = TraceBuilder(2, program="in_turn.py")
    for _ in range(rounds):
        trace[0].compute(seconds)
        trace[0].send(1, nbytes)
        trace[1].recv(0)
    return compile_program(trace.build())


def ring(ranks: int, rounds: int, seconds: float, nbytes: int) -> Program:
    """Return ranks that compute, then all send to their neighbours at once, again and again."""
    trace = TraceBuilder(ranks, program="ring.py")
    for _ in range(rounds):
        for rank in range(ranks):
            trace[rank].compute(seconds)
            trace[rank].sendrecv((rank + 1) % ranks, nbytes, (rank - 1) % ranks)
    return compile_program(trace.build())


def fan(ranks: int, rounds: int, seconds: float, nbytes: int) -> Program:
    """Return ranks that compute and all send to rank 0 at once, again and again: its port is what they wait for."""
    trace = TraceBuilder(ranks, program="fan.py")
    for _ in range(rounds):
        for rank in range(1, ranks):
            trace[rank].compute(seconds)
            trace[rank].send(0, nbytes)
        for rank in range(1, ranks):
            trace[0].recv(rank)
    return compile_program(trace.build())


#: Each is another mixture of computation, latency, bandwidth and simultaneous messages.
PROGRAMS = (
    in_turn(20, 10e-3, 100),
    in_turn(50, 50e-6, 8),
    in_turn(10, 1e-3, 1_000_000),
    ring(4, 10, 1e-3, 200_000),
    fan(4, 10, 1e-3, 100_000),
    fan(4, 50, 50e-6, 8),
)


def measured_on(real: Machine, described: Machine, programs: Sequence[Program] = PROGRAMS) -> list[Case]:
    """Return cases of programs that are described on one machine and were run on another, one rank to a node."""
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
    """Return a case whose three runs are what a simulation of the real machine gives, times something."""
    placement = Placement(tuple(range(program.ranks) if nodes is None else nodes))
    run = simulate(program, real, placement, "reference").makespan * times
    return Case(program.name, name, size, program, Candidate(described, placement), (run, run, run))


def slower(real: Machine, cost: float) -> Machine:
    """Return a machine that computes so much slower."""
    nodes = tuple(replace(node, performance_factor=node.performance_factor * cost) for node in real.nodes)
    return replace(real, nodes=nodes)
