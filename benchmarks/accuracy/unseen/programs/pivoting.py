"""LU factorisation with partial pivoting, rows distributed cyclically: the pivot is the largest over all ranks."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n = int(sys.argv[1])
size, rank = comm.size, comm.rank
rng = np.random.default_rng(11)
whole = rng.standard_normal((n, n))
x = rng.standard_normal(n)
own = np.arange(rank, n, size)
a = np.column_stack([whole[own], whole[own] @ x])

for k in range(n):
    rest = own >= k
    column = np.abs(a[rest, k])
    best = (column.max(), int(own[rest][column.argmax()])) if rest.any() else (-1.0, n)
    _, pivot = comm.allreduce(best, op=MPI.MAXLOC)
    # rows k and pivot change places
    here, there = k % size, pivot % size
    if pivot != k:
        if here == there == rank:
            a[[k // size, pivot // size]] = a[[pivot // size, k // size]]
        elif rank in (here, there):
            at = (k if rank == here else pivot) // size
            row = a[at].copy()
            comm.Sendrecv_replace(row, there if rank == here else here, 3, there if rank == here else here, 3)
            a[at] = row
    row = a[k // size, k:].copy() if rank == here else np.empty(n + 1 - k)
    comm.Bcast(row, root=here)
    below = own > k
    a[below, k:] -= np.outer(a[below, k] / row[0], row)

# back substitution from the last row on
solution = np.zeros(n)
for k in range(n - 1, -1, -1):
    value = np.zeros(1)
    if k % size == rank:
        line = a[k // size]
        value[0] = (line[n] - line[k + 1 : n] @ solution[k + 1 :]) / line[k]
    comm.Bcast(value, root=k % size)
    solution[k] = value[0]
assert np.allclose(solution, x, atol=1e-6)
