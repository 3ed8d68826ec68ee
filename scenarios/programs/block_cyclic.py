"""Dense matrices spread over a grid of processes in blocks, as ScaLAPACK does: what the kernels here share.

A matrix is cut into square blocks; block (I, J) lives on the process in row I mod P and column J mod Q of a
P × Q grid. Each process keeps its blocks as one array, so that its part of an update is a few large products.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

Matrix = npt.NDArray[np.float64]

#: Blocks in the height of a strip: enough for fast products, few enough that little of a lower triangle cut into
#: strips falls above the diagonal.
STRIP = 4


class ProcessGrid:
    """P × Q processes in row-major order, with a communicator along each row and each column.

    Attributes:
        rows: P, the number of process rows.
        columns: Q, the number of process columns.
        row: Process row of this rank.
        column: Process column of this rank.
        along_row: The processes of this row; their ranks are the process columns.
        along_column: The processes of this column; their ranks are the process rows.
    """

    def __init__(self, comm: MPI.Intracomm, rows: int, columns: int) -> None:
        self.comm = comm
        self.rows, self.columns = rows, columns
        self.row, self.column = divmod(comm.rank, columns)
        self.along_row = comm.Split(color=self.row, key=self.column)
        self.along_column = comm.Split(color=self.column, key=self.row)


class BlockCyclic:
    """Which rows and columns of an n × n matrix this process holds.

    Attributes:
        rows: Global indices of the local rows, rising.
        columns: Global indices of the local columns, rising.
        rows_before: ``rows_before[i]`` local rows come before row i: the local index of the first from i on.
        columns_before: The same for columns.
    """

    def __init__(self, grid: ProcessGrid, n: int, block: int) -> None:
        self.grid, self.n, self.block = grid, n, block
        everything = np.arange(n)
        row_owners = everything // block % grid.rows
        column_owners = everything // block % grid.columns
        self.rows = np.flatnonzero(row_owners == grid.row)
        self.columns = np.flatnonzero(column_owners == grid.column)
        self.rows_before = _counts_before(self.rows, n)
        self.columns_before = _counts_before(self.columns, n)
        # The local columns by the process row that holds the same index as a row: indices, and their counts.
        wanted = [self.columns[row_owners[self.columns] == row] for row in range(grid.rows)]
        self._column_places = [np.searchsorted(self.columns, indices) for indices in wanted]
        self._wanted_before = [_counts_before(indices, n) for indices in wanted]
        self._row_places = np.searchsorted(self.rows, wanted[grid.row])

    def row_owner(self, i: int) -> int:
        """Return the process row that holds row i."""
        return i // self.block % self.grid.rows

    def column_owner(self, j: int) -> int:
        """Return the process column that holds column j."""
        return j // self.block % self.grid.columns

    def strips(self, first: int) -> Iterator[tuple[slice, int, int]]:
        """Cut rows and columns from index ``first`` on, on and below the diagonal, into strips of rows.

        Gives the local rows of each strip that has some, and the number of local columns before the square that
        it has on the diagonal, and before the end of that.
        """
        height = STRIP * self.block
        for corner in range(first // height * height, self.n, height):
            begin, end = max(corner, first), min(corner + height, self.n)
            rows = slice(self.rows_before[begin], self.rows_before[end])
            if rows.start < rows.stop:
                yield rows, self.columns_before[begin], self.columns_before[end]

    def random_symmetric(self, seed: int, diagonal: float = 0.0) -> Matrix:
        """Return the local part of a random symmetric matrix, the same on every grid, without communication.

        Element (i, j) is the (i + j)th of 2n random numbers between -1/2 and 1/2. With ``diagonal`` = n added
        on the diagonal the matrix is positive definite.
        """
        numbers = np.random.default_rng(seed).uniform(-0.5, 0.5, 2 * self.n)
        local = np.empty((len(self.rows), len(self.columns)))
        for i, row in enumerate(self.rows):
            local[i] = numbers[row + self.columns]
        local[self._row_places, self._column_places[self.grid.row]] += diagonal
        return local

    def transpose(self, held: Matrix, first: int) -> Matrix:
        """Return the entries at the local columns of what is held at the local rows, from index ``first`` on.

        ``held`` is a vector, or a matrix of one row per index. The processes of a column need the same
        entries and hold them among themselves: each process row that has some of them broadcasts these.
        """
        top, side = self.rows_before[first], self.columns_before[first]
        result = np.empty((len(self.columns) - side, *held.shape[1:]))
        for owner, (places, before) in enumerate(zip(self._column_places, self._wanted_before, strict=True)):
            start = before[first]
            if start == len(places):
                continue
            if owner == self.grid.row:
                part = held[self._row_places[start:] - top]
            else:
                part = np.empty((len(places) - start, *held.shape[1:]))
            self.grid.along_column.Bcast(part, root=owner)
            result[places[start:] - side] = part
        return result

    def add_transposed(self, at_columns: Matrix, at_rows: Matrix, first: int) -> None:
        """Add to a vector at the local rows what one at the local columns holds at the same indices.

        Both begin at index ``first``. Of the processes of a row just one holds an index in both.
        """
        start = self._wanted_before[self.grid.row][first]
        rows = self._row_places[start:] - self.rows_before[first]
        columns = self._column_places[self.grid.row][start:] - self.columns_before[first]
        at_rows[rows] += at_columns[columns]

    def subtract_product(self, local: Matrix, left: Matrix, right: Matrix, first: int) -> None:
        """Subtract left · rightᵀ from rows and columns from index ``first`` on, on and below the diagonal.

        ``left`` has one row per local row, ``right`` one per local column. The squares of the strips on the
        diagonal are done in full, what lies above them not at all.
        """
        top, side = self.rows_before[first], self.columns_before[first]
        for rows, _, until in self.strips(first):
            local[rows, side:until] -= left[rows.start - top : rows.stop - top] @ right[: until - side].T

    def gather(self, local: Matrix) -> Matrix | None:
        """Return the whole matrix on rank 0, ``None`` elsewhere."""
        parts = self.grid.comm.gather((self.rows, self.columns, local))
        if parts is None:
            return None
        whole = np.empty((self.n, self.n))
        for rows, columns, part in parts:
            whole[np.ix_(rows, columns)] = part
        return whole


def _counts_before(indices: npt.NDArray[np.int64], n: int) -> list[int]:
    return np.searchsorted(indices, np.arange(n + 1)).tolist()


def squarest(processes: int) -> tuple[int, int]:
    """Return the most square P × Q with P · Q = processes and P ≤ Q."""
    rows = max(p for p in range(1, math.isqrt(processes) + 1) if processes % p == 0)
    return rows, processes // rows


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the arguments that all kernels take."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000, help="order of the matrix (default: %(default)s)")
    parser.add_argument("--block", type=int, default=64, help="order of a block (default: %(default)s)")
    parser.add_argument("--grid", metavar="PxQ", help="process grid (default: the most square with P <= Q)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the matrix (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="compare with scipy on rank 0")
    return parser


def distribute(comm: MPI.Intracomm, args: argparse.Namespace) -> BlockCyclic:
    """Return the distribution that the arguments ask for; end the program if they make no sense."""
    try:
        rows, columns = map(int, args.grid.split("x")) if args.grid else squarest(comm.size)
    except ValueError:
        sys.exit(f"--grid must be PxQ, for instance 2x3, got {args.grid}")
    if rows < 1 or columns < 1 or rows * columns != comm.size:
        sys.exit(f"--grid must have one process per rank ({comm.size}), got {rows}x{columns}")
    if args.n < 1 or args.block < 1:
        sys.exit(f"--n and --block must be at least 1, got {args.n} and {args.block}")
    return BlockCyclic(ProcessGrid(comm, rows, columns), args.n, args.block)


def report(layout: BlockCyclic, name: str, seconds: float, flops: float, residual: float | None) -> None:
    """Print one line on rank 0: the slowest rank's time and the speed of all ranks together."""
    slowest = layout.grid.comm.reduce(seconds, MPI.MAX)
    if slowest is None:
        return
    grid = f"{layout.grid.rows}x{layout.grid.columns}"
    speed = flops / slowest / 1e6
    check = "" if residual is None else f" residual={residual:.1e}"
    print(f"{name} n={layout.n} grid={grid} seconds={slowest:.6f} Mflop/s={speed:.0f}{check}")
