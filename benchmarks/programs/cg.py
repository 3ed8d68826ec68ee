"""Conjugate gradients on the five-point Laplacian of a square, in strips: halo exchanges and two allreduces a step."""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from section import measure

STEPS = 130


class Laplacian:
    """The operator, with the halo exchange that it needs."""

    def __init__(self, comm: MPI.Intracomm, n: int, rows: int) -> None:
        self.comm = comm
        self.above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
        self.below = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
        self.product = np.zeros((rows, n))

    def __call__(self, padded: np.ndarray) -> np.ndarray:
        """Return the product with what stands inside a frame of zeros and neighbours' rows."""
        self.comm.Sendrecv(padded[1], dest=self.above, recvbuf=padded[-1], source=self.below)
        self.comm.Sendrecv(padded[-2], dest=self.below, recvbuf=padded[0], source=self.above)
        np.multiply(padded[1:-1, 1:-1], 4.0, out=self.product)
        for part in (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]):
            self.product -= part
        return self.product


def solve(comm: MPI.Intracomm, n: int) -> float:
    """Take some steps; returns how far the recursive residual is from the true one, relative to the right side."""
    rows = (comm.rank + 1) * n // comm.size - comm.rank * n // comm.size
    apply = Laplacian(comm, n, rows)
    direction, answer = np.zeros((2, rows + 2, n + 2))
    residual = np.ones((rows, n))
    direction[1:-1, 1:-1] = residual

    def dot(one: np.ndarray, other: np.ndarray) -> float:
        total = np.zeros(())
        comm.Allreduce(np.vdot(one, other), total)
        return float(total)

    square = begin = dot(residual, residual)
    for _ in range(STEPS):
        product = apply(direction)
        step = square / dot(direction[1:-1, 1:-1], product)
        answer[1:-1, 1:-1] += step * direction[1:-1, 1:-1]
        residual -= step * product
        square, before = dot(residual, residual), square
        direction[1:-1, 1:-1] *= square / before
        direction[1:-1, 1:-1] += residual
    true = 1.0 - apply(answer)
    return float(np.abs(true - residual).max() / np.sqrt(begin))


if __name__ == "__main__":
    size = int(sys.argv[1])
    measure(MPI.COMM_WORLD, __file__, size, lambda: solve(MPI.COMM_WORLD, size))
