"""Particles that attract each other, as in PEMPIs-Het's program PGF: every pair once per particle and step.

A master keeps the state of all particles. It broadcasts the state, each rank moves its share of the particles, and the
master gathers the state again.
"""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
from mpi4py import MPI

STEPS, TILE = 4, 8


def forces(mine: np.ndarray, every: np.ndarray) -> np.ndarray:
    """Return the forces of all particles on mine; rows are x, y, z, mass. Works in tiles that stay in the cache."""
    total = np.empty((3, mine.shape[1]))
    for first in range(0, mine.shape[1], TILE):
        some = mine[:, first : first + TILE]
        apart = every[:3, None, :] - some[:3, :, None]
        square = np.square(apart).sum(axis=0) + 1e-2
        strength = every[3] * some[3][:, None] / (square * np.sqrt(square))
        total[:, first : first + TILE] = (apart * strength).sum(axis=2)
    return total


def gravity(comm: MPI.Intracomm, n: int) -> float:
    """Move the particles; return, on the master, how far their centre has moved."""
    bounds = [rank * n // comm.size for rank in range(comm.size + 1)]
    counts = [4 * (end - begin) for begin, end in pairwise(bounds)]
    mine = slice(bounds[comm.rank], bounds[comm.rank + 1])
    state = np.random.default_rng(1).random((n, 4)) if comm.rank == 0 else np.empty((n, 4))
    begin = state[:, :3].mean(axis=0)
    speed = np.zeros((mine.stop - mine.start, 3))
    for _ in range(STEPS):
        comm.Bcast(state, root=0)
        own = state[mine].copy()
        speed += 1e-9 * forces(own.T, state.T).T / own[:, 3:]
        own[:, :3] += speed
        comm.Gatherv(own, [state, counts] if comm.rank == 0 else None, root=0)
    return float(np.abs(state[:, :3].mean(axis=0) - begin).max())


def main() -> None:
    """Move the number of particles given on the command line."""
    comm, n = MPI.COMM_WORLD, int(sys.argv[1])
    if n < comm.size:
        sys.exit(f"particles must be at least the ranks ({comm.size}), got {n}")
    moved = gravity(comm, n)
    if comm.rank == 0:
        print(f"gravity n={n} moved={moved:.3e}")


if __name__ == "__main__":
    main()
