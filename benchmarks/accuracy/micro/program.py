"""Run the steps for real: ``mpiexec -n 4 python program.py``; prints one line of JSON on rank 0.

All ranks begin a step at one instant of a shared clock, so they must be on one computer, as on a testbed. A step's time
runs from that instant until its last rank is done.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.accuracy.micro.steps import RANKS, SIZES, STEPS, Step

#: Lead time between agreeing on an instant and that instant, seconds; repetitions of each step after the warm-up.
_AHEAD, _TURNS, _TURNS_OF_LARGE, _LARGE = 0.004, 15, 5, 100_000


def _clocks() -> tuple[float, float]:
    """Return the time, and the CPU time of this rank, seconds."""
    return time.monotonic(), time.thread_time()


class RealRank:
    """A rank that is this process; it stores when it wakes up for a step, and when calls begin and end."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.comm = comm
        self.rank = comm.rank
        self.slower = float(os.environ.get("CLUE_TESTBED_FACTOR", "1"))
        self.woken = (0.0, 0.0)
        self.begins: list[tuple[float, float]] = []
        self.ends: list[tuple[float, float]] = []
        self.out = np.zeros(max(SIZES), np.uint8)
        self.into = np.zeros((2, max(SIZES)), np.uint8)

    def compute(self, seconds: float) -> None:
        """Compute for a time, stated in seconds of a core of this computer at its best."""
        self._begin()
        until = time.thread_time() + seconds / self.slower
        while time.thread_time() < until:
            pass
        MPI.Wtime()  # A paced rank's burst is extended to its nominal length at the next MPI call.
        self._end()

    def send(self, dest: int, nbytes: int) -> None:
        """Send."""
        buffer = self.out[:nbytes]
        self._begin()
        self.comm.Send(buffer, dest)
        self._end()

    def recv(self, source: int, nbytes: int) -> None:
        """Receive."""
        buffer = self.into[0, :nbytes]
        self._begin()
        self.comm.Recv(buffer, source)
        self._end()

    def sendrecv(self, other: int, nbytes: int) -> None:
        """Send and receive."""
        out, into = self.out[:nbytes], self.into[0, :nbytes]
        self._begin()
        self.comm.Sendrecv(out, other, recvbuf=into, source=other)
        self._end()

    def isend(self, dest: int, nbytes: int) -> MPI.Request:
        """Start to send."""
        buffer = self.out[:nbytes]
        self._begin()
        request = self.comm.Isend(buffer, dest)
        self._end()
        return request

    def irecv(self, source: int, nbytes: int) -> MPI.Request:
        """Start to receive."""
        buffer = self.into[0, :nbytes]
        self._begin()
        request = self.comm.Irecv(buffer, source)
        self._end()
        return request

    def wait(self, *requests: MPI.Request) -> None:
        """Wait for all of these."""
        self._begin()
        MPI.Request.Waitall(list(requests)) if len(requests) > 1 else requests[0].Wait()
        self._end()

    def start(self) -> float:
        """Wait for the common start, and return it."""
        now, instant = np.array(time.monotonic()), np.zeros(())
        self.comm.Allreduce(now, instant, MPI.MAX)
        begin = float(instant) + _AHEAD
        MPI.Wtime()  # A paced rank pays here for its burst so far, not after it wakes up.
        time.sleep(max(0.0, begin - time.monotonic()))
        MPI.Wtime()  # The sleep is not part of the burst that follows.
        self.begins, self.ends = [], []
        self.woken = _clocks()
        return begin

    def _begin(self) -> None:
        self.begins.append(_clocks())

    def _end(self) -> None:
        self.ends.append(_clocks())


def measure(rank: RealRank, step: Step, nbytes: int) -> tuple[list[list[float]], list[list[float]]]:
    """Return when this rank's calls end, relative to the start, and its bursts before them; for each repetition.

    Bursts are in seconds of a core of this computer, like those of a recording.
    """
    ends, bursts = [], []
    for _ in range(1 + (_TURNS if nbytes < _LARGE else _TURNS_OF_LARGE)):
        begin = rank.start()
        step.run(rank, nbytes)
        ends.append([end - begin for end, _ in rank.ends])
        left = [(begin, rank.woken[1]), *rank.ends]
        bursts.append([_burst(*each, rank.slower) for each in zip(left, rank.begins, strict=False)])
    return ends[1:], bursts[1:]


def _burst(left: tuple[float, float], called: tuple[float, float], slower: float) -> float:
    """Return a burst between two readings of the clocks; a rank without a core waits as long on any processor."""
    time_between, computed = (later - earlier for earlier, later in zip(left, called, strict=True))
    return computed + max(0.0, time_between - computed) / slower


def figures(step: Step, nbytes: int, ends: list[list[list[float]]], bursts: list[list[list[float]]]) -> dict[str, Any]:
    """Return medians over the repetitions, of the whole step, per message, and of the reported calls; and all bursts.

    Args:
        step: The step.
        nbytes: Size of its messages.
        ends: When calls end, by rank and repetition.
        bursts: Bursts before calls, by rank and repetition.
    """
    count = range(len(ends[0]))
    whole = [max(max(rank[turn], default=0.0) for rank in ends) / step.messages(nbytes) for turn in count]
    told = {
        name: statistics.median(
            ends[rank][turn][last] - (ends[rank][turn][first - 1] if first else 0.0) for turn in count
        )
        for name, (rank, first, last) in step.calls.items()
    }
    turns = [[[round(each, 9) for each in rank] for rank in turn] for turn in zip(*bursts, strict=True)]
    return {"step": step.name, "size": nbytes, "whole": statistics.median(whole), **told, "bursts": turns}


def main() -> None:
    """Measure all steps at all sizes and print them."""
    comm = MPI.COMM_WORLD
    if comm.size != RANKS:
        sys.exit(f"micro: ranks must be {RANKS}, got {comm.size}")
    rank, rows = RealRank(comm), []
    comm.Alltoall(np.zeros(RANKS), np.zeros(RANKS))
    for step in STEPS:
        for nbytes in SIZES:
            measured = comm.gather(measure(rank, step, nbytes))
            if measured is not None:
                ends, bursts = zip(*measured, strict=True)
                rows.append(figures(step, nbytes, list(ends), list(bursts)))
    if comm.rank == 0:
        print(json.dumps(rows), flush=True)


if __name__ == "__main__":
    main()
