"""Growth on a network: each place grows by itself, and then takes the mean of places at random distances.

The mean is a product with a sparse matrix, for which ranks exchange messages of all sizes in no particular order. The
entries that a rank needs from each other rank are random, with some heavy pairs; it uses nonblocking messages and one
Waitall.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.sparse
from mpi4py import MPI
from section import measure

ITERATIONS, PER_ROW, STEPS, STEP = 12, 12, 800, 0.01


def rows_of(rank: int, own: int, n: int) -> scipy.sparse.csr_array:
    """Return the own rows: columns are random, lower ones more likely; each row sums up to 1."""
    random = np.random.default_rng(100 + rank)
    columns = (random.random((own, PER_ROW)) ** 2 * n).astype(int)
    indices, starts = columns.ravel(), np.arange(0, own * PER_ROW + 1, PER_ROW)
    return scipy.sparse.csr_array((np.full(own * PER_ROW, 1.0 / PER_ROW), indices, starts), shape=(own, n))


def grow(places: np.ndarray) -> None:
    """Let each place grow towards 1 for some small time steps (logistic growth)."""
    growth = np.empty_like(places)
    for _ in range(STEPS):
        np.subtract(1.0, places, out=growth)
        growth *= places
        growth *= STEP
        places += growth


def spread(comm: MPI.Intracomm, n: int, matrix: scipy.sparse.csr_array) -> float:
    """Grow and mix repeatedly; from one half, all places must reach 1."""
    own = n // comm.size
    needed = np.unique(matrix.indices)
    wanted = [needed[needed // own == other] for other in range(comm.size)]
    given = comm.alltoall([each % own for each in wanted])
    others = [other for other in range(comm.size) if other != comm.rank]
    entries, mine = np.zeros(n), np.full(own, 0.5)
    arriving = {other: np.empty(len(wanted[other])) for other in others}
    for _ in range(ITERATIONS):
        grow(mine)
        requests = [comm.Irecv(arriving[other], source=other) for other in others if len(wanted[other])]
        requests += [comm.Isend(mine[given[other]], dest=other) for other in others if len(given[other])]
        MPI.Request.Waitall(requests)
        for other in others:
            entries[wanted[other]] = arriving[other]
        entries[comm.rank * own : (comm.rank + 1) * own] = mine
        mine = matrix @ entries
    return float(np.abs(mine - 1.0).max())


def main() -> None:
    """Build the own rows, then let growth spread."""
    comm, n = MPI.COMM_WORLD, int(sys.argv[1])
    if n % comm.size:
        sys.exit(f"size must be a multiple of the ranks ({comm.size}), got {n}")
    matrix = rows_of(comm.rank, n // comm.size, n)
    measure(comm, __file__, n, lambda: spread(comm, n, matrix))


if __name__ == "__main__":
    main()
