"""Conjugate gradients on a random sparse matrix whose blocks are distributed over a square of ranks, as in NPB's CG.

Inverse iteration: each step solves A z = x by 25 steps of conjugate gradients and takes the normalised z as its next x.
Rank (r, c) has block (r, c) of the matrix and part c of all vectors. A product takes two exchanges of vectors: the sums
with the rank beside it, and the parts with the rank across the diagonal. A dot product takes one exchange of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from mpi4py import MPI
from suite import SIDE, main

STEPS = 25
#: Shift of the matrix, whose random part has a spectrum between -1 and 1.
SHIFT = 1.5


@dataclass(frozen=True, slots=True)
class Size:
    """Number of unknowns, entries of a row, and steps of inverse iteration."""

    n: int
    entries: int
    iterations: int


SIZES = {
    "S": lambda iterations: Size(400, 40, iterations or 10),
    "B": lambda iterations: Size(1200, 260, iterations or 400),
}


class Block:
    """A block of the matrix: symmetric random entries, and the shift on the diagonal."""

    def __init__(self, size: Size, row: int, column: int) -> None:
        here, of_row = size.n // SIDE, size.entries // SIDE
        low, high = sorted((row, column))
        random = np.random.default_rng([314159, low, high])
        count = of_row // 2 if low == high else of_row
        rows = np.repeat(np.arange(here), count)
        columns = random.integers(0, here, rows.size)
        entries = random.uniform(-1, 1, rows.size) / (2 * np.sqrt(size.entries / 3))
        if low == high:  # The block plus its transpose.
            rows, columns, entries = np.r_[rows, columns], np.r_[columns, rows], np.r_[entries, entries]
        elif row > column:
            rows, columns = columns, rows
        # Each row needs at least one entry: the diagonal, or an explicit zero.
        diagonal = np.arange(here)
        rows, columns = np.r_[rows, diagonal], np.r_[columns, diagonal]
        entries = np.r_[entries, np.full(here, SHIFT if low == high else 0.0)]
        order = np.argsort(rows.astype(np.uint16), kind="stable")
        self.columns, self.entries = columns[order], entries[order]
        self.begins = np.searchsorted(rows[order], diagonal)
        self.products = np.empty_like(self.entries)

    def times(self, vector: np.ndarray, product: np.ndarray) -> None:
        """Multiply the block by a vector."""
        np.take(vector, self.columns, out=self.products)
        self.products *= self.entries
        np.add.reduceat(self.products, self.begins, out=product)


class Square:
    """A rank's place in the square, and the exchanges there."""

    def __init__(self, comm: MPI.Intracomm, length: int) -> None:
        self.comm = comm
        self.row, self.column = divmod(comm.rank, SIDE)
        self.beside = self.row * SIDE + 1 - self.column
        self.across = self.column * SIDE + self.row
        self.sums, self.received = np.zeros((2, length))
        self.number, self.other = np.zeros((2, 1))

    def exchange(self, partner: int, sent: np.ndarray, received: np.ndarray) -> None:
        """Exchange data of the same size with a partner."""
        request = self.comm.Irecv(received, partner)
        self.comm.Send(sent, partner)
        request.Wait()

    def times(self, block: Block, vector: np.ndarray, product: np.ndarray) -> None:
        """Multiply by a vector: the sum over the row of ranks is part r of the product, but part c is needed."""
        block.times(vector, self.sums)
        self.exchange(self.beside, self.sums, self.received)
        self.sums += self.received
        if self.across == self.comm.rank:
            product[:] = self.sums
        else:
            self.exchange(self.across, self.sums, product)

    def dot(self, one: np.ndarray, other: np.ndarray) -> float:
        """Return a dot product, summed over the row of ranks."""
        self.number[0] = one @ other
        self.exchange(self.beside, self.number, self.other)
        return float(self.number[0] + self.other[0])


def steps(square: Square, block: Block, x: np.ndarray) -> np.ndarray:
    """Return z such that A z is nearly x."""
    z, residual, direction, product = np.zeros_like(x), x.copy(), x.copy(), np.empty_like(x)
    rho = square.dot(residual, residual)
    for _ in range(STEPS):
        square.times(block, direction, product)
        alpha = rho / square.dot(direction, product)
        z += alpha * direction
        residual -= alpha * product
        rho, before = square.dot(residual, residual), rho
        direction *= rho / before
        direction += residual
    return z


def solve(comm: MPI.Intracomm, size: Size) -> tuple[float, float]:
    """Return how far the last A z is from its x, relative to x."""
    square = Square(comm, size.n // SIDE)
    block = Block(size, square.row, square.column)
    x = np.ones(size.n // SIDE)
    product = np.empty_like(x)
    error = 0.0
    for _ in range(size.iterations):
        z = steps(square, block, x)
        square.times(block, z, product)
        product -= x
        error = square.dot(product, product) / square.dot(x, x)
        x = z / np.sqrt(square.dot(z, z))
    return float(np.sqrt(error)), 1e-8


if __name__ == "__main__":
    main(__file__, SIZES, solve)
