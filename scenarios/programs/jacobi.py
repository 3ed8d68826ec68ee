"""Heat in a metal plate: Jacobi iterations on a square grid, cut into strips of rows.

    mpiexec -n 4 python jacobi.py --n 1000               run it
    clue record -n 4 jacobi.py --n 1000                  record it as jacobi.clue

Every iteration exchanges the border rows with both neighbours; after every tenth, all ranks agree on the
change and stop if it is small (the program Heat of Laine and Midorikawa, PEMPIs-Het, section 5.1). The upper
edge is kept at 1, the others at 0.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from mpi4py import MPI


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


def heat(comm: MPI.Intracomm, n: int, iterations: int, tolerance: float) -> tuple[np.ndarray, int, float]:
    """Return this rank's strip with its two border rows, the iterations made, and the last change known."""
    rows = (comm.rank + 1) * n // comm.size - comm.rank * n // comm.size
    old, new = np.zeros((2, rows + 2, n + 2))
    if comm.rank == 0:
        old[0], new[0] = 1.0, 1.0
    change = np.array(np.inf)
    for iteration in range(1, iterations + 1):
        exchange(comm, old)
        sweep(old, new)
        if iteration % 10 == 0:
            mine = np.abs(new[1:-1] - old[1:-1]).max()
            comm.Allreduce(mine, change, op=MPI.MAX)
            if change < tolerance:
                return new, iteration, float(change)
        old, new = new, old
    return old, iterations, float(change)


def main() -> None:
    """Heat the plate and report its mean temperature."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=500, help="inner points along each side (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=500, help="at most so many (default: %(default)s)")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="stop at this change (default: %(default)s)")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    if args.n < comm.size:
        sys.exit(f"--n must be at least the number of ranks ({comm.size}), got {args.n}")
    begin = MPI.Wtime()
    plate, iterations, change = heat(comm, args.n, args.iterations, args.tolerance)
    mean = comm.allreduce(plate[1:-1, 1:-1].sum()) / args.n**2
    if comm.rank == 0:
        seconds = MPI.Wtime() - begin
        print(f"jacobi n={args.n} {iterations=} seconds={seconds:.3f} {change=:.3e} mean={mean:.12f}")


if __name__ == "__main__":
    main()
