"""Diffusion in a slab: borders are sent by Isend, the inside is computed meanwhile, then the borders are awaited."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
columns, rows, steps = (int(word) for word in sys.argv[1:4])
up, down = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
random = np.random.default_rng(comm.rank)
u, v = np.zeros((2, rows + 2, columns))
u[1:-1] = random.random((rows, columns))
total = comm.allreduce(u[1:-1].sum())


def diffuse(u, v, low, high):
    inner = u[low:high]
    v[low:high] = inner + 0.1 * (
        u[low - 1 : high - 1]
        + u[low + 1 : high + 1]
        + np.roll(inner, 1, axis=1)
        + np.roll(inner, -1, axis=1)
        - 4 * inner
    )


for _ in range(steps):
    requests = [
        comm.Irecv(u[0], up, 1),
        comm.Irecv(u[-1], down, 2),
        comm.Isend(u[1], up, 2),
        comm.Isend(u[-2], down, 1),
    ]
    diffuse(u, v, 2, rows)
    MPI.Request.Waitall(requests)
    diffuse(u, v, 1, 2)
    diffuse(u, v, rows, rows + 1)
    u, v = v, u

assert abs(comm.allreduce(u[1:-1].sum()) / total - 1) < 1e-9
