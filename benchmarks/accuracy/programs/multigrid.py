"""Poisson's equation on a periodic square by multigrid V-cycles, in strips, with halo exchanges at every level.

The strips of a level are twice as high as those of the next coarser one, so that restriction and prolongation need no
messages. The coarsest level is gathered, and every rank solves it by itself.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from section import measure

CYCLES, LEVELS, SWEEPS, COARSE_SWEEPS, OMEGA = 10, 3, 4, 40, 0.8


class Strips:
    """A level of the grid that is cut into strips of rows."""

    def __init__(self, comm: MPI.Intracomm, rows: int, n: int) -> None:
        self.comm = comm
        self.above, self.below = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        self.padded = np.zeros((rows + 2, n))

    def residual(self, values: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the residual of the own strip, using the neighbours' rows around it."""
        padded = self.padded
        padded[1:-1] = values
        self.comm.Sendrecv(padded[1], dest=self.above, recvbuf=padded[-1], source=self.below)
        self.comm.Sendrecv(padded[-2], dest=self.below, recvbuf=padded[0], source=self.above)
        left: np.ndarray = right - 4.0 * values
        left += padded[:-2] + padded[2:]
        left += np.roll(values, 1, axis=1) + np.roll(values, -1, axis=1)
        return left

    def smooth(self, values: np.ndarray, right: np.ndarray, sweeps: int) -> None:
        """Take some sweeps of damped Jacobi."""
        for _ in range(sweeps):
            values += OMEGA / 4 * self.residual(values, right)


def coarser(fine: np.ndarray) -> np.ndarray:
    """Return the sums over squares of four points: doubling the mesh width multiplies the right side by four."""
    rows: np.ndarray = fine[::2] + fine[1::2]
    return np.ascontiguousarray(rows[:, ::2] + rows[:, 1::2])


def solve_alone(right: np.ndarray) -> np.ndarray:
    """Return an approximate solution on the coarsest level, which every rank has in full."""
    values = np.zeros_like(right)
    for _ in range(COARSE_SWEEPS):
        around = sum(np.roll(values, step, axis) for step in (1, -1) for axis in (0, 1))
        values += OMEGA / 4 * (right - (4.0 * values - around))
    return values


def cycle(levels: list[Strips], values: np.ndarray, right: np.ndarray, level: int = 0) -> None:
    """Improve the values of a level with all coarser ones."""
    strips = levels[level]
    strips.smooth(values, right, SWEEPS)
    below = coarser(strips.residual(values, right))
    correction = np.zeros_like(below)
    if level + 1 < len(levels):
        cycle(levels, correction, below, level + 1)
    else:
        comm = strips.comm
        counts = np.array(comm.allgather(below.size))
        whole = np.empty((int(counts.sum()) // below.shape[1], below.shape[1]))
        comm.Allgatherv(below, (whole, counts))
        first = int(counts[: comm.rank].sum()) // below.shape[1]
        correction[:] = solve_alone(whole)[first : first + len(below)]
    values += np.repeat(np.repeat(correction, 2, axis=0), 2, axis=1)
    strips.smooth(values, right, SWEEPS)


def solve(comm: MPI.Intracomm, n: int) -> float:
    """Solve; return 0 if the residual has dropped to a twentieth, otherwise by how much it exceeds that."""
    scale = 2**LEVELS
    if n % scale or n // scale < comm.size:
        sys.exit(f"size must be a multiple of {scale} and at least {scale} times the ranks ({comm.size}), got {n}")
    coarse = n // scale
    own = (comm.rank + 1) * coarse // comm.size - comm.rank * coarse // comm.size
    levels = [Strips(comm, own * scale >> level, n >> level) for level in range(LEVELS)]
    first = comm.rank * coarse // comm.size * scale
    rows, columns = np.meshgrid(np.arange(first, first + own * scale), np.arange(n), indexing="ij")
    right = np.sin(2 * np.pi * rows / n) * np.sin(4 * np.pi * columns / n)
    values = np.zeros_like(right)

    def norm(of: np.ndarray) -> float:
        return float(np.sqrt(comm.allreduce(float(np.vdot(of, of)))))

    begin = norm(right)
    for _ in range(CYCLES):
        cycle(levels, values, right)
    return max(norm(levels[0].residual(values, right)) / begin - 0.05, 0.0)


if __name__ == "__main__":
    size = int(sys.argv[1])
    measure(MPI.COMM_WORLD, __file__, size, lambda: solve(MPI.COMM_WORLD, size))
