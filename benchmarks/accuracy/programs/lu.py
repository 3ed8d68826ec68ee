"""LU factorisation with partial pivoting, columns distributed block-cyclically (HPL on a 1 × Q grid; Kishimoto).

The owner of a panel factors it and broadcasts it with its pivots; every rank swaps rows, solves, updates its columns.
Elements are complex, as for systems in the frequency domain, which means four times the work on twice the data.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.linalg
from mpi4py import MPI
from section import measure

BLOCK = 64


def factor(comm: MPI.Intracomm, n: int, local: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Overwrite the local columns with their part of L and U; return the order of rows."""
    order = np.arange(n)
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        owner = first // BLOCK % comm.size
        panel, pivots = np.empty((n - first, last - first), complex), np.empty(last - first, np.int32)
        mine = slice(*np.searchsorted(columns, (first, last)))
        if comm.rank == owner:
            panel[:], pivots[:] = scipy.linalg.lu_factor(local[first:, mine], check_finite=False)
        comm.Bcast(pivots, root=owner)
        comm.Bcast(panel, root=owner)
        for i, pivot in enumerate(pivots.tolist()):
            if pivot != i:
                pair = [first + i, first + pivot]
                order[pair] = order[pair[::-1]]
                local[pair] = local[pair[::-1]]
        if comm.rank == owner:
            local[first:, mine] = panel
        _update(panel, local[first:, np.searchsorted(columns, last) :])
    return order


def _update(panel: np.ndarray, right: np.ndarray) -> None:
    """Solve for the rows of U beside the panel's square block, and subtract their product from the rows below."""
    width = panel.shape[1]
    solved = scipy.linalg.solve_triangular(
        panel[:width], right[:width], lower=True, unit_diagonal=True, check_finite=False
    )
    right[:width] = solved
    right[width:] -= panel[width:] @ solved


def main() -> None:
    """Factor a random matrix; check that its first and last rows are recovered by multiplying the factors."""
    comm, n = MPI.COMM_WORLD, int(sys.argv[1])
    columns = np.flatnonzero(np.arange(n) // BLOCK % comm.size == comm.rank)
    whole = np.random.default_rng(0).random((n, 2 * n)).view(complex) - (0.5 + 0.5j)
    local = np.empty((n, len(columns)), complex)
    order = np.arange(n)

    def work() -> float:
        local[:] = whole[:, columns]
        order[:] = factor(comm, n, local, columns)
        return 0.0

    measure(comm, __file__, n, work)
    parts = comm.gather((columns, local))
    if parts is not None:
        result = np.empty((n, n), complex)
        for where, part in parts:
            result[:, where] = part
        product = (np.tril(result, -1) + np.eye(n)) @ np.triu(result)
        residual = float(np.abs(product - whole[order]).max())
        if residual > 1e-9 * n:
            sys.exit(f"lu: residual must be below {1e-9 * n:g}, got {residual:g}")


if __name__ == "__main__":
    main()
