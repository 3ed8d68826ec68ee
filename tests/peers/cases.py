"""What clue and SimGrid are compared on: random programs, and small sizes of the timed workloads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks import workloads
from clue.trace import Trace
from tests.formats.programs import APART, random_program
from tests.peers.simgrid import Setting, clue_finishes, constant, flows, largest_difference, simgrid_finishes

_MESSAGES = 2000


def program(seed: int) -> Trace:
    """Return a random program of two to eight ranks, sub-communicators and every collective."""
    random = Random(seed)
    return random_program(random, random.randint(2, 8), random.randint(20, 80), APART)


def timed() -> Iterator[workloads.Workload]:
    """Yield W1 to W4, of 16 and 64 ranks."""
    for ranks in (16, 64):
        yield workloads.halo(ranks, _MESSAGES)
        yield workloads.ring(ranks, _MESSAGES)
        yield workloads.pipeline(ranks, _MESSAGES)
        yield workloads.alltoall(ranks, _MESSAGES)
        yield workloads.allreduce(ranks, _MESSAGES)
        yield workloads.allreduce(ranks, _MESSAGES, nbytes=1_000_000)


def settings(ranks: int) -> tuple[Setting, ...]:
    """Return the machines to compare on."""
    return constant(ranks), flows(ranks), flows(ranks, bandwidth=12.5e9, latency=1e-6)


def difference(trace: Trace, setting: Setting, folder: Path) -> float:
    """Return the largest relative difference of a rank's finish between the two simulators."""
    return largest_difference(clue_finishes(trace, setting), simgrid_finishes(trace, setting, folder))
