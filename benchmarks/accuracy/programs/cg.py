"""Conjugate gradients on the five-point Laplacian of a square, in strips: halo exchanges and two allreduces per step.

The preconditioner is a number of Jacobi sweeps within each strip, which need no messages.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from section import measure

STEPS, SWEEPS = 30, 48


class Laplacian:
    """The operator, with the halo exchange that it needs."""

    def __init__(self, comm: MPI.Intracomm, n: int, rows: int) -> None:
        self.comm = comm
        self.above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
        self.below = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
        self.product = np.zeros((rows, n))

    def __call__(self, padded: np.ndarray) -> np.ndarray:
        """Return the product with the interior of a field that is framed by zeros and neighbours' rows."""
        self.comm.Sendrecv(padded[1], dest=self.above, recvbuf=padded[-1], source=self.below)
        self.comm.Sendrecv(padded[-2], dest=self.below, recvbuf=padded[0], source=self.above)
        np.multiply(padded[1:-1, 1:-1], 4.0, out=self.product)
        for part in _around(padded):
            self.product -= part
        return self.product


def _around(padded: np.ndarray) -> tuple[np.ndarray, ...]:
    return padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]


class Sweeps:
    """The preconditioner: Jacobi sweeps on the own strip, starting from zero, with zeros around the strip."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.now, self.next = np.zeros((2, shape[0] + 2, shape[1] + 2))

    def __call__(self, residual: np.ndarray) -> np.ndarray:
        """Return an approximate solution. It is a symmetric function of the residual, as the method requires."""
        self.now[1:-1, 1:-1] = residual
        self.now *= 0.25
        for _ in range(SWEEPS - 1):
            inner = self.next[1:-1, 1:-1]
            inner[:] = residual
            for part in _around(self.now):
                inner += part
            inner *= 0.25
            self.now, self.next = self.next, self.now
        return self.now[1:-1, 1:-1]


def solve(comm: MPI.Intracomm, n: int) -> float:
    """Take some steps; return how far the recursive residual is from the true one, relative to the right side."""
    rows = (comm.rank + 1) * n // comm.size - comm.rank * n // comm.size
    apply = Laplacian(comm, n, rows)
    precondition = Sweeps((rows, n))
    direction, answer = np.zeros((2, rows + 2, n + 2))
    residual = np.ones((rows, n))
    better = precondition(residual)
    direction[1:-1, 1:-1] = better

    def dot(one: np.ndarray, other: np.ndarray) -> float:
        total = np.zeros(())
        comm.Allreduce(np.vdot(one, other), total)
        return float(total)

    square = begin = dot(residual, better)
    for _ in range(STEPS):
        product = apply(direction)
        step = square / dot(direction[1:-1, 1:-1], product)
        answer[1:-1, 1:-1] += step * direction[1:-1, 1:-1]
        residual -= step * product
        better = precondition(residual)
        square, before = dot(residual, better), square
        direction[1:-1, 1:-1] *= square / before
        direction[1:-1, 1:-1] += better
    true = 1.0 - apply(answer)
    return float(np.abs(true - residual).max() / np.sqrt(begin))


if __name__ == "__main__":
    size = int(sys.argv[1])
    measure(MPI.COMM_WORLD, __file__, size, lambda: solve(MPI.COMM_WORLD, size))
