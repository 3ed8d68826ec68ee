"""The measured section of a program: between two barriers, so that a trace of it can be cut to the same section.

Before it every pair of ranks has talked, so that no connection is opened within. Each program prints one line of JSON
on rank 0: its name, size, seconds of the slowest rank, and a figure that checks its result.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mpi4py import MPI


def measure(comm: MPI.Intracomm, program: str, size: int, work: Callable[[], float]) -> None:
    """Run the section and report.

    Args:
        comm: Whose ranks take part.
        program: Path of the program.
        size: Its problem size.
        work: The section; returns a number to check its result by, 0 being perfect.
    """
    one, other = np.zeros((2, comm.size))
    for _ in range(2):
        comm.Alltoall(one, other)
    gc.collect()
    gc.disable()
    comm.Barrier()
    begin = MPI.Wtime()
    error = work()
    seconds = MPI.Wtime() - begin
    comm.Barrier()
    slowest = comm.reduce(seconds, MPI.MAX)
    worst = comm.reduce(abs(error), MPI.MAX)
    if comm.rank == 0:
        print(json.dumps({"program": Path(program).stem, "size": size, "seconds": slowest, "error": worst}), flush=True)
