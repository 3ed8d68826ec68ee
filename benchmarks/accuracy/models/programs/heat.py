"""Heat in a metal plate, as in PEMPIs-Het's program Heat: a master distributes blocks of rows, and the others iterate.

The master computes the initial plate, sends each worker its rows, and collects them at the end. In between, the workers
swap border rows with their neighbours and set every point to the mean of its four neighbours.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

ITERATIONS, TILE = 20, 16


def plate_of(n: int) -> np.ndarray:
    """Return the plate with its edges; it is warm in the middle of each row."""
    plate = np.zeros((n + 2, n + 2))
    across = np.sin(np.linspace(0.0, np.pi, n + 2))
    for row in range(1, n + 1):
        plate[row] = across * across[row]
    return plate


def rows_of(n: int, part: int, parts: int) -> slice:
    """Return the rows of one of several parts, with one further row on either side."""
    return slice(part * n // parts, (part + 1) * n // parts + 2)


def master(comm: MPI.Intracomm, n: int) -> float:
    """Distribute rows and collect them; return the mean temperature."""
    plate = plate_of(n)
    for rank in range(1, comm.size):
        comm.Send(plate[rows_of(n, rank - 1, comm.size - 1)], dest=rank)
    for rank in range(1, comm.size):
        rows = rows_of(n, rank - 1, comm.size - 1)
        comm.Recv(plate[rows.start + 1 : rows.stop - 1], source=rank)
    return float(plate.mean())


def exchange(comm: MPI.Intracomm, mine: np.ndarray) -> None:
    """Send the own border rows to the neighbours and get theirs."""
    above = comm.rank - 1 if comm.rank > 1 else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
    comm.Sendrecv(mine[1], dest=above, recvbuf=mine[-1], source=below)
    comm.Sendrecv(mine[-2], dest=below, recvbuf=mine[0], source=above)


def sweep(old: np.ndarray, new: np.ndarray) -> None:
    """Set each inner point to the mean of its four neighbours, some rows at a time."""
    for first in range(1, len(old) - 1, TILE):
        last = min(first + TILE, len(old) - 1)
        inner = new[first:last, 1:-1]
        np.add(old[first - 1 : last - 1, 1:-1], old[first + 1 : last + 1, 1:-1], out=inner)
        inner += old[first:last, :-2]
        inner += old[first:last, 2:]
        inner *= 0.25


def worker(comm: MPI.Intracomm, n: int) -> None:
    """Iterate over the own rows."""
    rows = rows_of(n, comm.rank - 1, comm.size - 1)
    old = np.empty((rows.stop - rows.start, n + 2))
    comm.Recv(old, source=0)
    new = old.copy()
    for _ in range(ITERATIONS):
        exchange(comm, old)
        sweep(old, new)
        old, new = new, old
    comm.Send(old[1:-1], dest=0)


def main() -> None:
    """Heat a plate of the size given on the command line."""
    comm, n = MPI.COMM_WORLD, int(sys.argv[1])
    if not 2 <= comm.size <= n + 1:
        sys.exit(f"ranks must be a master and at most {n} others, got {comm.size}")
    if comm.rank == 0:
        print(f"heat n={n} mean={master(comm, n):.12f}")
    else:
        worker(comm, n)


if __name__ == "__main__":
    main()
