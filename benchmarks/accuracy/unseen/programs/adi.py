"""Heat in a plate by alternating directions: tridiagonal systems across ranks are solved in a pipeline, up and down."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
n, block, steps = (int(a) for a in sys.argv[1:])
above, below = rank - 1, rank + 1
begin, end = rank * n // size, (rank + 1) * n // size
rows = end - begin
r = 8.0  # dt / (2 h^2)

# elimination of -r x[i-1] + (1 + 2 r) x[i] - r x[i+1] = d[i]: all systems have the same factors
factor = np.zeros(n + 1)
for i in range(n):
    factor[i] = r / (1 + 2 * r - r * factor[i - 1])
pivot = factor / r


def solve_along_rows(d):
    d = np.ascontiguousarray(d.T)
    d[0] *= pivot[0]
    for j in range(1, n):
        d[j] = (d[j] + r * d[j - 1]) * pivot[j]
    for j in range(n - 2, -1, -1):
        d[j] += factor[j] * d[j + 1]
    return d.T


def solve_along_columns(d):
    blocks = [slice(at, min(at + block, n)) for at in range(0, n, block)]
    for number, columns in enumerate(blocks):
        part = d[:, columns]
        last = np.zeros(part.shape[1])
        if rank > 0:
            comm.Recv(last, source=above, tag=number)
        for i in range(rows):
            last = part[i] = (part[i] + r * last) * pivot[begin + i]
        if rank < size - 1:
            comm.Send(last.copy(), dest=below, tag=number)
    for number, columns in enumerate(blocks):
        part = d[:, columns]
        last = np.zeros(part.shape[1])
        if rank < size - 1:
            comm.Recv(last, source=below, tag=number)
        for i in range(rows - 1, -1, -1):
            last = part[i] = part[i] + factor[begin + i] * last
        if rank > 0:
            comm.Send(last.copy(), dest=above, tag=number)
    return d


def explicit_along_columns(u):
    """One half step in the other direction needs the rows next to this rank's."""
    padded = np.zeros((rows + 2, n))
    padded[1:-1] = u
    up = above if rank > 0 else MPI.PROC_NULL
    down = below if rank < size - 1 else MPI.PROC_NULL
    comm.Sendrecv(padded[1], up, 1, padded[-1], down, 1)
    comm.Sendrecv(padded[-2], down, 2, padded[0], up, 2)
    return u + r * (padded[:-2] - 2 * u + padded[2:])


def explicit_along_rows(u):
    padded = np.pad(u, ((0, 0), (1, 1)))
    return u + r * (padded[:, :-2] - 2 * u + padded[:, 2:])


angle = np.pi * np.arange(1, n + 1) / (n + 1)
start = np.sin(angle[begin:end])[:, None] * np.sin(2 * angle)
u = start.copy()
for _ in range(steps):
    u = solve_along_rows(explicit_along_columns(u))
    u = solve_along_columns(explicit_along_rows(u))

# the start is an eigenvector of either direction
slow, fast = (4 * r * np.sin(k * np.pi / (2 * (n + 1))) ** 2 for k in (1, 2))
exact = start * ((1 - slow) * (1 - fast) / ((1 + slow) * (1 + fast))) ** steps
assert comm.allreduce(np.abs(u - exact).max(), op=MPI.MAX) < 1e-9
