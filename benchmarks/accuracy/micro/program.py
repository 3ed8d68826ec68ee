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


class RealRank:
    """A rank that is this process; it stores the end time of each of its calls."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.comm = comm
        self.rank = comm.rank
        self.slower = float(os.environ.get("CLUE_TESTBED_FACTOR", "1"))
        self.ends: list[float] = []
        self.out = np.zeros(max(SIZES), np.uint8)
        self.into = np.zeros((2, max(SIZES)), np.uint8)

    def compute(self, seconds: float) -> None:
        """Compute for a time, stated in seconds of a core of this computer at its best."""
        until = time.thread_time() + seconds / self.slower
        while time.thread_time() < until:
            pass
        MPI.Wtime()  # A paced rank's burst is extended to its nominal length at the next MPI call.
        self._end()

    def send(self, dest: int, nbytes: int) -> None:
        """Send."""
        self.comm.Send(self.out[:nbytes], dest)
        self._end()

    def recv(self, source: int, nbytes: int) -> None:
        """Receive."""
        self.comm.Recv(self.into[0, :nbytes], source)
        self._end()

    def sendrecv(self, other: int, nbytes: int) -> None:
        """Send and receive."""
        self.comm.Sendrecv(self.out[:nbytes], other, recvbuf=self.into[0, :nbytes], source=other)
        self._end()

    def isend(self, dest: int, nbytes: int) -> MPI.Request:
        """Start to send."""
        request = self.comm.Isend(self.out[:nbytes], dest)
        self._end()
        return request

    def irecv(self, source: int, nbytes: int) -> MPI.Request:
        """Start to receive."""
        request = self.comm.Irecv(self.into[0, :nbytes], source)
        self._end()
        return request

    def wait(self, *requests: MPI.Request) -> None:
        """Wait for all of these."""
        MPI.Request.Waitall(list(requests)) if len(requests) > 1 else requests[0].Wait()
        self._end()

    def begin(self) -> float:
        """Wait for the common start, and return it."""
        now, instant = np.array(time.monotonic()), np.zeros(())
        self.comm.Allreduce(now, instant, MPI.MAX)
        begin = float(instant) + _AHEAD
        time.sleep(max(0.0, begin - time.monotonic()))
        MPI.Wtime()  # The sleep is not part of the burst that follows.
        self.ends = []
        return begin

    def _end(self) -> None:
        self.ends.append(time.monotonic())


def measure(rank: RealRank, step: Step, nbytes: int) -> list[list[float]]:
    """Return the end times of this rank's calls, relative to the start, for each repetition."""
    turns = []
    for _ in range(1 + (_TURNS if nbytes < _LARGE else _TURNS_OF_LARGE)):
        begin = rank.begin()
        step.run(rank, nbytes)
        turns.append([end - begin for end in rank.ends])
    return turns[1:]


def figures(step: Step, nbytes: int, ranks: list[list[list[float]]]) -> dict[str, Any]:
    """Return medians over the repetitions: of the whole step, per message, and of the reported calls."""
    count = range(len(ranks[0]))
    whole = [max(max(rank[turn], default=0.0) for rank in ranks) / step.messages(nbytes) for turn in count]
    told = {
        name: statistics.median(
            ranks[rank][turn][last] - (ranks[rank][turn][first - 1] if first else 0.0) for turn in count
        )
        for name, (rank, first, last) in step.calls.items()
    }
    return {"step": step.name, "size": nbytes, "whole": statistics.median(whole), "least": min(whole), **told}


def main() -> None:
    """Measure all steps at all sizes and print them."""
    comm = MPI.COMM_WORLD
    if comm.size != RANKS:
        sys.exit(f"micro: ranks must be {RANKS}, got {comm.size}")
    rank, rows = RealRank(comm), []
    comm.Alltoall(np.zeros(RANKS), np.zeros(RANKS))
    for step in STEPS:
        for nbytes in SIZES:
            turns = comm.gather(measure(rank, step, nbytes))
            if turns is not None:
                rows.append(figures(step, nbytes, turns))
    if comm.rank == 0:
        print(json.dumps(rows), flush=True)


if __name__ == "__main__":
    main()
