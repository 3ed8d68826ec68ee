"""The programs for the comparison of clue with SimGrid: random ones, and small sizes of the timed workloads."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from benchmarks.speed import workloads
from clue.trace import Op, Trace
from tests.formats.programs import APART, Kind, random_program

_MESSAGES = 2000
#: Programs of blocking sends, and of collectives that consist of them.
_IN_TURN = Kind(to_self=False, nonblocking=False, collectives=(Op.BCAST, Op.REDUCE, Op.GATHER, Op.SCATTER))


def program(seed: int) -> Trace:
    """Return a random program of two to eight ranks, with sub-communicators and every collective."""
    return _random(seed, APART)


def program_in_turn(seed: int) -> Trace:
    """Return a random program in which each rank sends one message after the other."""
    return _random(seed, _IN_TURN)


def _random(seed: int, kind: Kind) -> Trace:
    random = Random(seed)
    return random_program(random, random.randint(2, 8), random.randint(20, 80), kind)


def program_of(ranks: int, seed: int) -> Trace:
    """Return a random program of this many ranks."""
    return random_program(Random(seed), ranks, 10 * ranks, APART)


def timed() -> Iterator[workloads.BenchProgram]:
    """Yield W1 to W4 on 16 and 64 ranks."""
    for ranks in (16, 64):
        yield workloads.halo(ranks, _MESSAGES)
        yield workloads.ring(ranks, _MESSAGES)
        yield workloads.pipeline(ranks, _MESSAGES)
        yield workloads.alltoall(ranks, _MESSAGES)
        yield workloads.allreduce(ranks, _MESSAGES)
        yield workloads.allreduce(ranks, _MESSAGES, nbytes=1_000_000)


def exchanges(ranks: int) -> Iterator[workloads.BenchProgram]:
    """Yield the workloads in which ranks start all their messages before they wait."""
    yield workloads.halo(ranks, _MESSAGES)
    yield workloads.alltoall(ranks, _MESSAGES)
    yield workloads.allreduce(ranks, _MESSAGES)
    yield workloads.allreduce(ranks, _MESSAGES, nbytes=1_000_000)
