"""Invert a matrix by Gauss-Jordan elimination with partial pivoting; its rows are distributed cyclically."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, nprocs = comm.Get_rank(), comm.Get_size()
N = int(sys.argv[1])

A = np.random.default_rng(42).standard_normal((N, N))
my_rows = np.arange(rank, N, nprocs)
# [A | I], of which this process has every nprocs-th row
work = np.hstack([A[my_rows], np.eye(N)[my_rows]])
free = np.ones(len(my_rows), dtype=bool)
pivot_of = np.full(len(my_rows), -1)

best = np.zeros(1, dtype=np.dtype([("value", "f8"), ("where", "i4")], align=True))
winner = np.zeros_like(best)
row = np.empty(2 * N)
for k in range(N):
    # find the rank with the largest element in column k, in a row that has not been a pivot
    column = np.where(free, np.abs(work[:, k]), -1.0)
    i = int(column.argmax())
    best[0] = column[i], rank
    comm.Allreduce([best, MPI.DOUBLE_INT], [winner, MPI.DOUBLE_INT], op=MPI.MAXLOC)
    owner = int(winner["where"][0])
    factors = work[:, k].copy()
    if owner == rank:
        work[i] /= work[i, k]
        row[:] = work[i]
        free[i] = False
        pivot_of[i] = k
        factors[i] = 0.0
    comm.Bcast(row, root=owner)
    work -= np.outer(factors, row)

# A inv(A) = 1: the row that was pivot k is row k of the inverse
inverse = np.zeros((N, N))
inverse[pivot_of] = work[:, N:]
error = np.abs(A @ comm.allreduce(inverse[:, :3]) - np.eye(N)[:, :3]).max()
assert error < 1e-6, error
