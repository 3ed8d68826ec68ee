"""Cholesky factorisation A = L·Lᵀ of a dense matrix, as ScaLAPACK's PDPOTRF does it (lower, right-looking).

    python cholesky.py --n 500 --check                   one process
    mpiexec -n 6 python cholesky.py --n 6000             six, on a 2 × 3 grid
    clue record -n 6 cholesky.py --n 6000                the same, recorded

A step factors a diagonal block, solves for the panel of L below it in that process column, sends the panel
along the process rows and its transpose along the process columns, and subtracts their product from the
matrix that remains (Level 3 BLAS throughout). The matrix is random with a large diagonal; L overwrites it.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from block_cyclic import BlockCyclic, Matrix, argument_parser, distribute, report
from mpi4py import MPI

import virtual_layer


def factor(layout: BlockCyclic, local: Matrix) -> None:
    """Overwrite the lower triangle of the distributed matrix with its Cholesky factor."""
    for first in range(0, layout.n, layout.block):
        last = min(first + layout.block, layout.n)
        panel = factor_panel(layout, local, first, last)
        layout.grid.along_row.Bcast(panel, root=layout.column_owner(first))
        across = layout.transpose(panel, last)
        layout.subtract_product(local, panel, across, last)


def factor_panel(layout: BlockCyclic, local: Matrix, first: int, last: int) -> Matrix:
    """Factor columns first … last - 1; return the local rows of L below them, or room for them elsewhere."""
    grid = layout.grid
    top, below = layout.rows_before[first], layout.rows_before[last]
    if grid.column != layout.column_owner(first):
        return np.empty((len(layout.rows) - below, last - first))
    columns = slice(layout.columns_before[first], layout.columns_before[last])
    diagonal = np.empty((last - first, last - first))
    if grid.row == layout.row_owner(first):
        diagonal[:] = scipy.linalg.cholesky(local[top:below, columns], lower=True, check_finite=False)
        local[top:below, columns] = diagonal
    grid.along_column.Bcast(diagonal, root=layout.row_owner(first))
    rows = local[below:, columns]
    rows[:] = scipy.linalg.solve_triangular(diagonal, rows.T, lower=True, check_finite=False).T
    return np.ascontiguousarray(rows)


def check(layout: BlockCyclic, local: Matrix, seed: int) -> float | None:
    """Return the largest difference from scipy's factor, relative to its largest element, on rank 0."""
    matrix = layout.gather(layout.random_symmetric(seed, diagonal=layout.n))
    result = layout.gather(local)
    if matrix is None or result is None:
        return None
    expected = scipy.linalg.cholesky(matrix, lower=True)
    return float(np.abs(np.tril(result) - expected).max() / np.abs(expected).max())


def main() -> None:
    """Factor a random matrix and report the time."""
    args = argument_parser(__doc__).parse_args()
    comm = MPI.COMM_WORLD
    flops = args.n**3 / 3
    with virtual_layer.region("setup"):
        layout = distribute(comm, args)
        local = layout.random_symmetric(args.seed, diagonal=args.n)
        comm.Barrier()
    begin = MPI.Wtime()
    with virtual_layer.region("cholesky", flops=flops / comm.size):
        factor(layout, local)
    seconds = MPI.Wtime() - begin
    report(layout, "cholesky", seconds, flops, check(layout, local, args.seed) if args.check else None)


if __name__ == "__main__":
    main()
