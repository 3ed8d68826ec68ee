"""What the programs of the suite have in common: their command line, their clock, and the check of their result.

``PROGRAM.py CLASS [ITERATIONS]`` solves its problem on four ranks between two barriers and prints one line of JSON on
rank 0: the program, its class, the seconds between the barriers, and the error of its result. A result whose error
exceeds its limit ends the program with status 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
from mpi4py import MPI

Size = TypeVar("Size")
#: Number of ranks, which form a square, and ranks per side.
RANKS, SIDE = 4, 2


def main(
    program: str,
    sizes: Mapping[str, Callable[[int], Size]],
    solve: Callable[[MPI.Intracomm, Size], tuple[float, float]],
) -> None:
    """Solve the problem named on the command line.

    Args:
        program: Path of the program.
        sizes: For each class, a function from the number of iterations to a size; 0 means the iterations of the class.
        solve: Returns, on all ranks alike, the error of the result, and its limit.
    """
    comm, name = MPI.COMM_WORLD, Path(program).stem
    kind, *more = sys.argv[1:] or ["S"]
    if comm.size != RANKS or kind not in sizes:
        wanted = f"{RANKS} ranks and a class among {', '.join(sizes)}"
        sys.exit(f"{name}: must be given {wanted}, got {comm.size} and {kind}" if comm.rank == 0 else 2)
    size = sizes[kind](int(more[0]) if more else 0)
    comm.Barrier()
    begin = MPI.Wtime()
    error, most = solve(comm, size)
    comm.Barrier()
    seconds = MPI.Wtime() - begin
    if comm.rank == 0:
        print(json.dumps({"program": name, "class": kind, "seconds": seconds, "error": error}), flush=True)
    if not error <= most:
        sys.exit(f"{name}: error must be at most {most:g}, got {error:g}")


def total(comm: MPI.Intracomm, here: float) -> float:
    """Return the sum over all ranks."""
    there = np.zeros(1)
    comm.Allreduce(np.array([here], float), there)
    return float(there[0])
