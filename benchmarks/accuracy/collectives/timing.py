"""Times cases of a program between barriers: rank 0 prints the cases, and the seconds of a call in each.

A repetition follows a barrier: some calls in a row, as a loop makes them. A rank's time runs from when it leaves the
barrier until its last call has returned, or until the time that the call returns; that of the slowest rank counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import numpy as np
from mpi4py import MPI

#: Repetitions of each case, of which the first is a warm-up.
REPEATS = 5
#: Name, size in bytes, number of calls in a row, and the call: if it returns a float, that is when it ended.
TimedCase = tuple[str, int, int, Callable[[int], object]]


def timed(program: str, cases: Iterable[TimedCase]) -> None:
    """Make all calls and print their times, by case and repetition."""
    comm, known, times = MPI.COMM_WORLD, list(cases), []
    for _, size, rounds, call in known:
        for _ in range(REPEATS):
            comm.Barrier()
            begin = MPI.Wtime()
            for _ in range(rounds):
                end = call(size)
            if not isinstance(end, float):
                end = MPI.Wtime()
            times.append(max(0.0, end - begin) / rounds)
    slowest = np.zeros(len(times))
    comm.Barrier()
    comm.Reduce(np.array(times), slowest, MPI.MAX)
    if comm.rank == 0:
        seconds = slowest.reshape(-1, REPEATS).tolist()
        listed = [case[:3] for case in known]
        print(json.dumps({"program": program, "cases": listed, "seconds": seconds}), flush=True)
