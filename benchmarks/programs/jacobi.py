"""Heat in a plate by Jacobi iterations, in strips of rows (the program Heat of PEMPIs-Het, section 5.1)."""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from section import measure

ITERATIONS = 200


def exchange(comm: MPI.Intracomm, plate: np.ndarray) -> None:
    """Send the own border rows to the neighbours and get theirs; beyond the edge there is nobody."""
    above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
    comm.Sendrecv(plate[1], dest=above, recvbuf=plate[-1], source=below)
    comm.Sendrecv(plate[-2], dest=below, recvbuf=plate[0], source=above)


def sweep(old: np.ndarray, new: np.ndarray) -> None:
    """Set each inner point to the mean of its four neighbours."""
    inner = new[1:-1, 1:-1]
    np.add(old[:-2, 1:-1], old[2:, 1:-1], out=inner)
    inner += old[1:-1, :-2]
    inner += old[1:-1, 2:]
    inner *= 0.25


def heat(comm: MPI.Intracomm, n: int) -> float:
    """Iterate; all ranks agree on the change at every tenth. Returns how far the corner temperatures are impossible."""
    rows = (comm.rank + 1) * n // comm.size - comm.rank * n // comm.size
    old, new = np.zeros((2, rows + 2, n + 2))
    if comm.rank == 0:
        old[0], new[0] = 1.0, 1.0
    change = np.zeros(())
    for iteration in range(1, ITERATIONS + 1):
        exchange(comm, old)
        sweep(old, new)
        if iteration % 10 == 0:
            comm.Allreduce(np.abs(new[1:-1] - old[1:-1]).max(), change, op=MPI.MAX)
        old, new = new, old
    # The plate is symmetric, and no inner point is outside the temperatures of the edges.
    return float(np.abs(old - old[:, ::-1]).max() + max(0.0, old.max() - 1.0, -old.min()))


if __name__ == "__main__":
    size = int(sys.argv[1])
    measure(MPI.COMM_WORLD, __file__, size, lambda: heat(MPI.COMM_WORLD, size))
