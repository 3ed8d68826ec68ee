"""The measured section of a program: between two barriers, so that a trace of it can be cut to the same section.

Before the section, the program runs once as a warm-up, and every pair of ranks communicates, so that no code is loaded
and no connection is opened within the section. Such one-time work would take a different time in a recording, where
other programs have loaded the code before. Each program prints one line of JSON on rank 0: its name, size, seconds of
the slowest rank, and a figure that checks its result.
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
        comm: Communicator of the ranks that take part.
        program: Path of the program.
        size: Its problem size.
        work: The section, without barriers. It is called twice, and returns a figure of its result; 0 is perfect.
    """
    one, other = np.zeros((2, comm.size))
    for _ in range(2):
        comm.Alltoall(one, other)
    work()
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
        said = {"program": Path(program).stem, "size": size, "seconds": slowest, "error": worst}
        print(json.dumps(said), flush=True)
