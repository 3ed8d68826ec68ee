"""Householder tridiagonalisation QᵀAQ = T of a dense symmetric matrix, as ScaLAPACK's PDSYTRD does it.

    python tridiagonalisation.py --n 500 --check         one process
    mpiexec -n 6 python tridiagonalisation.py --n 6000   six, on a 2 × 3 grid
    clue record -n 6 tridiagonalisation.py --n 6000      the same, recorded

Each column needs one product of the matrix that remains with a vector (Level 2 BLAS, half of the operations);
the updates A - V·Wᵀ - W·Vᵀ of a panel of columns are made at once (Level 3 BLAS, the other half). Only the
lower triangle of the matrix is kept up to date. ``--columns K`` stops after the first K columns: the
beginning of a large run, where a column takes longest.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from block_cyclic import BlockCyclic, Matrix, argument_parser, distribute, report
from mpi4py import MPI

import virtual_layer


class Tridiagonalisation:
    """The reduction of one distributed matrix.

    Attributes:
        local: The local part of the matrix; the reflectors overwrite its lower triangle.
        diagonal: Diagonal of T where this process holds it, zero elsewhere.
        below: Subdiagonal of T where this process holds it, zero elsewhere.
        at_rows: Vectors of the current panel, one row per local row: v₀ w₀ v₁ w₁ …
        at_columns: The same at the local columns with each pair exchanged: w₀ v₀ w₁ v₁ …, so that
            at_rows · at_columnsᵀ = V·Wᵀ + W·Vᵀ.
    """

    def __init__(self, layout: BlockCyclic, local: Matrix) -> None:
        self.layout, self.local = layout, local
        self.diagonal, self.below = np.zeros(layout.n), np.zeros(layout.n)
        self.at_rows = np.zeros((len(layout.rows), 2 * layout.block), order="F")
        self.at_columns = np.zeros((len(layout.columns), 2 * layout.block), order="F")

    def reduce(self, columns: int) -> None:
        """Reduce so many columns from the left."""
        layout = self.layout
        for first in range(0, columns, layout.block):
            last = min(first + layout.block, columns)
            for j in range(first, last):
                self.reduce_column(j, 2 * (j - first))
            left = self.at_rows[layout.rows_before[last] :, : 2 * (last - first)]
            right = self.at_columns[layout.columns_before[last] :, : 2 * (last - first)]
            layout.subtract_product(self.local, left, right, last)

    def reduce_column(self, j: int, k: int) -> None:
        """Make the reflector of column j, where the panel holds k vectors so far."""
        layout, grid = self.layout, self.layout.grid
        top, side = layout.rows_before[j + 1], layout.columns_before[j + 1]
        reflector = np.empty(len(layout.rows) - top + 1)
        v, tau = reflector[:-1], reflector[-1:]
        if grid.column == layout.column_owner(j):
            self.update_column(j, k)
        if j + 1 == layout.n:
            return
        if grid.column == layout.column_owner(j):
            tau[:] = self.make_reflector(j, v)
        grid.along_row.Bcast(reflector, root=layout.column_owner(j))
        v_columns = layout.transpose(v, j + 1)
        w = tau * self.multiply(j, k, v, v_columns)
        share = np.array(v @ w)
        grid.along_column.Allreduce(MPI.IN_PLACE, share)
        w -= 0.5 * tau * share * v
        self.at_rows[top:, k], self.at_rows[top:, k + 1] = v, w
        self.at_columns[side:, k], self.at_columns[side:, k + 1] = layout.transpose(w, j + 1), v_columns

    def update_column(self, j: int, k: int) -> None:
        """Apply the k vectors of this panel to column j."""
        layout = self.layout
        top, column = layout.rows_before[j], layout.columns_before[j]
        self.local[top:, column] -= self.at_rows[top:, :k] @ self.at_columns[column, :k]
        if layout.grid.row == layout.row_owner(j):
            self.diagonal[j] = self.local[top, column]

    def make_reflector(self, j: int, v: Matrix) -> float:
        """Fill in v, return tau: (I - tau·v·vᵀ) maps column j below the diagonal to a multiple of e₁."""
        layout = self.layout
        x = self.local[layout.rows_before[j + 1] :, layout.columns_before[j]]
        heads = layout.grid.row == layout.row_owner(j + 1)
        sums = np.array([x[0], x[1:] @ x[1:]] if heads else [0.0, x @ x])
        layout.grid.along_column.Allreduce(MPI.IN_PLACE, sums)
        alpha, square = sums.tolist()
        beta = alpha if square == 0 else -np.copysign(np.sqrt(alpha**2 + square), alpha)
        if square > 0:
            x /= alpha - beta
        if heads:
            x[0] = 1.0
            self.below[j] = beta
        v[:] = x
        return (beta - alpha) / beta if square > 0 else 0.0

    def multiply(self, j: int, k: int, v: Matrix, v_columns: Matrix) -> Matrix:
        """Return the local rows of (A - V·Wᵀ - W·Vᵀ)·v, rows and columns behind index j.

        A strip left of its square on the diagonal is also its mirror image above. V and W, of k vectors
        together, are seen to by the process column of column j alone.
        """
        layout, grid = self.layout, self.layout.grid
        top, side = layout.rows_before[j + 1], layout.columns_before[j + 1]
        panel = self.at_rows[top:, : k if grid.column == layout.column_owner(j) else 0]
        product = np.zeros(len(v))
        # What falls to the local columns, and the products of the panel's vectors with v: one sum for both.
        sums = np.zeros(len(v_columns) + panel.shape[1])
        mirrored, inner = sums[: len(v_columns)], sums[len(v_columns) :]
        for rows, square, end in layout.strips(j + 1):
            strip, here = self.local[rows, side:end], slice(rows.start - top, rows.stop - top)
            product[here] = strip @ v_columns[: end - side]
            if square > side:
                mirrored[: square - side] += strip[:, : square - side].T @ v[here]
        inner[:] = v @ panel
        grid.along_column.Allreduce(MPI.IN_PLACE, sums)
        # Each sum along a column is added by one process of the row, and reaches the others in the next sum.
        layout.add_transposed(mirrored, product, j + 1)
        exchanged = inner.reshape(-1, 2)[:, ::-1].ravel()
        product -= panel @ exchanged
        grid.along_row.Allreduce(MPI.IN_PLACE, product)
        return product


def check(layout: BlockCyclic, reduction: Tridiagonalisation, seed: int) -> float | None:
    """Return the largest error of an eigenvalue, relative to the largest eigenvalue, on rank 0."""
    matrix = layout.gather(layout.random_symmetric(seed))
    diagonal = layout.grid.comm.reduce(reduction.diagonal)
    below = layout.grid.comm.reduce(reduction.below)
    if matrix is None:
        return None
    expected = scipy.linalg.eigvalsh(matrix)
    found = scipy.linalg.eigvalsh_tridiagonal(diagonal, below[:-1])
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def main() -> None:
    """Reduce a random matrix and report the time."""
    parser = argument_parser(__doc__)
    parser.add_argument("--columns", type=int, metavar="K", help="reduce only the first K columns")
    args = parser.parse_args()
    columns = args.n if args.columns is None else args.columns
    if not 0 < columns <= args.n or (args.check and columns < args.n):
        parser.error(f"--columns must be 1 to {args.n}, and {args.n} to check, got {columns}")
    comm = MPI.COMM_WORLD
    flops = 4 / 3 * (args.n**3 - (args.n - columns) ** 3)
    with virtual_layer.region("setup"):
        layout = distribute(comm, args)
        reduction = Tridiagonalisation(layout, layout.random_symmetric(args.seed))
        comm.Barrier()
    begin = MPI.Wtime()
    with virtual_layer.region("tridiagonalisation", flops=flops / comm.size):
        reduction.reduce(columns)
    seconds = MPI.Wtime() - begin
    residual = check(layout, reduction, args.seed) if args.check else None
    report(layout, "tridiagonalisation", seconds, flops, residual)


if __name__ == "__main__":
    main()
