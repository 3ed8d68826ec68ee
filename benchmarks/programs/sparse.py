"""Products with a sparse matrix whose rows need entries from here and there: messages of every size, in no order.

Which entries a rank needs of which other is random, with a few heavy pairs; nonblocking messages, one Waitall.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.sparse
from mpi4py import MPI
from section import measure

ITERATIONS, PER_ROW = 50, 12


def rows_of(rank: int, own: int, n: int) -> scipy.sparse.csr_array:
    """Return the own rows: random columns, the nearer to the first ones the more often; each row sums up to 1."""
    random = np.random.default_rng(100 + rank)
    columns = (random.random((own, PER_ROW)) ** 2 * n).astype(int)
    indices, starts = columns.ravel(), np.arange(0, own * PER_ROW + 1, PER_ROW)
    return scipy.sparse.csr_array((np.full(own * PER_ROW, 1.0 / PER_ROW), indices, starts), shape=(own, n))


def multiply(comm: MPI.Intracomm, n: int, matrix: scipy.sparse.csr_array) -> float:
    """Multiply a vector of ones again and again; it must stay one."""
    own = n // comm.size
    needed = np.unique(matrix.indices)
    wanted = [needed[needed // own == other] for other in range(comm.size)]
    given = comm.alltoall([each % own for each in wanted])
    others = [other for other in range(comm.size) if other != comm.rank]
    entries, mine = np.zeros(n), np.ones(own)
    arriving = {other: np.empty(len(wanted[other])) for other in others}
    for _ in range(ITERATIONS):
        requests = [comm.Irecv(arriving[other], source=other) for other in others if len(wanted[other])]
        requests += [comm.Isend(mine[given[other]], dest=other) for other in others if len(given[other])]
        MPI.Request.Waitall(requests)
        for other in others:
            entries[wanted[other]] = arriving[other]
        entries[comm.rank * own : (comm.rank + 1) * own] = mine
        mine = matrix @ entries
    return float(np.abs(mine - 1.0).max())


def main() -> None:
    """Build the own rows, then multiply."""
    comm, n = MPI.COMM_WORLD, int(sys.argv[1])
    if n % comm.size:
        sys.exit(f"size must be a multiple of the ranks ({comm.size}), got {n}")
    matrix = rows_of(comm.rank, n // comm.size, n)
    measure(comm, __file__, n, lambda: multiply(comm, n, matrix))


if __name__ == "__main__":
    main()
