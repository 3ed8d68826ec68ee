"""Machines with noise, and programs whose makespans are known functions of it."""

from __future__ import annotations

from dataclasses import replace

from clue.kernel import Program, compile_program
from clue.machine import LinkNoise, Machine, NodeNoise
from clue.trace import PROC_NULL, TraceBuilder
from tests.kernel.cases import LINK, machine


def noisy(
    nodes: int = 2,
    *,
    computation: float = 0.0,
    factor: float = 0.0,
    send: float = 0.0,
    transmission: float = 0.0,
    performance_factor: float = 1.0,
) -> Machine:
    """Return a machine of equal nodes with this noise."""
    link = replace(LINK, noise=LinkNoise(send, transmission))
    noise = NodeNoise(computation, factor)
    return machine(nodes, link=link, noise=noise, performance_factor=performance_factor)


def bursts(*of_ranks: list[float]) -> Program:
    """Return a program whose ranks compute these seconds one after the other, each burst as a separate op."""
    trace = TraceBuilder(len(of_ranks))
    for rank, seconds in zip(trace, of_ranks, strict=True):
        for each in seconds:
            rank.compute(each)
            rank.send(PROC_NULL, 0)
    return compile_program(trace.build())
