"""Heat in a plate by Jacobi iterations, in strips of rows (the program Heat of PEMPIs-Het, section 5.1).

Neighbours swap a halo several rows deep and then sweep once for each of these rows, each time over one row less on
either side. This gives few messages, and bursts long enough to be measured well.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from section import measure

EXCHANGES, DEEP = 40, 16


def exchange(comm: MPI.Intracomm, plate: np.ndarray) -> None:
    """Exchange border rows with the neighbours; at the edge of the plate there is no neighbour."""
    above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
    comm.Sendrecv(plate[DEEP : 2 * DEEP], dest=above, recvbuf=plate[-DEEP:], source=below)
    comm.Sendrecv(plate[-2 * DEEP : -DEEP], dest=below, recvbuf=plate[:DEEP], source=above)


def sweep(old: np.ndarray, new: np.ndarray, first: int, last: int) -> None:
    """Set each inner point of some rows to the mean of its four neighbours."""
    inner = new[first:last, 1:-1]
    np.add(old[first - 1 : last - 1, 1:-1], old[first + 1 : last + 1, 1:-1], out=inner)
    inner += old[first:last, :-2]
    inner += old[first:last, 2:]
    inner *= 0.25


def heat(comm: MPI.Intracomm, n: int) -> float:
    """Iterate; all ranks agree on the change after each exchange. Return how far temperatures violate bounds."""
    rows = (comm.rank + 1) * n // comm.size - comm.rank * n // comm.size
    old, new = np.zeros((2, rows + 2 * DEEP, n + 2))
    if comm.rank == 0:
        old[DEEP - 1], new[DEEP - 1] = 1.0, 1.0
    change = np.zeros(())
    for _ in range(EXCHANGES):
        exchange(comm, old)
        for margin in range(1, DEEP + 1):
            first = DEEP if comm.rank == 0 else margin
            last = rows + DEEP if comm.rank + 1 == comm.size else rows + 2 * DEEP - margin
            sweep(old, new, first, last)
            old, new = new, old
        comm.Allreduce(np.abs(new[DEEP:-DEEP] - old[DEEP:-DEEP]).max(), change, op=MPI.MAX)
    # The plate is symmetric, and no inner point is outside the range of the edges' temperatures.
    return float(np.abs(old - old[:, ::-1]).max() + max(0.0, old.max() - 1.0, -old.min()))


if __name__ == "__main__":
    size = int(sys.argv[1])
    measure(MPI.COMM_WORLD, __file__, size, lambda: heat(MPI.COMM_WORLD, size))
