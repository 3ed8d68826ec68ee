"""Gravity among n bodies, each pair once per step: blocks of bodies travel around a ring of ranks.

The total of all forces must be zero, because each force acts on both bodies.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from section import measure

STEPS, TILE = 4, 8


def forces(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return the forces of their bodies on mine; rows are x, y, z, mass. Works in tiles that stay in the cache."""
    total = np.empty((3, mine.shape[1]))
    for first in range(0, mine.shape[1], TILE):
        some = mine[:, first : first + TILE]
        apart = theirs[:3, None, :] - some[:3, :, None]
        square = np.square(apart).sum(axis=0) + 1e-2
        strength = theirs[3] * some[3][:, None] / (square * np.sqrt(square))
        total[:, first : first + TILE] = (apart * strength).sum(axis=2)
    return total


def gravity(comm: MPI.Intracomm, n: int) -> float:
    """Move all bodies by some steps; return the total force, relative to the largest force."""
    count = (comm.rank + 1) * n // comm.size - comm.rank * n // comm.size
    mine = np.random.default_rng(comm.rank).random((4, count))
    speed, total = np.zeros((3, count)), np.zeros((3, count))
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(STEPS):
        total[:] = 0.0
        travelling = mine.copy()
        for _ in range(comm.size):
            total += forces(mine, travelling)
            arriving = np.empty((4, _count_of(travelling, comm, n)))
            comm.Sendrecv(travelling, dest=after, recvbuf=arriving, source=before)
            travelling = arriving
        speed += 1e-6 * total / mine[3]
        mine[:3] += speed
    sums = np.zeros(3)
    comm.Allreduce(total.sum(axis=1), sums)
    return float(np.abs(sums).max() / max(np.abs(total).max(), 1e-300))


def _count_of(travelling: np.ndarray, comm: MPI.Intracomm, n: int) -> int:
    # If n is no multiple of the number of ranks, blocks would differ by a body; equal blocks keep the ring simple.
    if n % comm.size:
        sys.exit(f"number of bodies must be a multiple of the ranks ({comm.size}), got {n}")
    return int(travelling.shape[1])


if __name__ == "__main__":
    size = int(sys.argv[1])
    measure(MPI.COMM_WORLD, __file__, size, lambda: gravity(MPI.COMM_WORLD, size))
