"""Find the shortest paths between all pairs of nodes by Floyd-Warshall; the matrix is distributed in blocks."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n = int(sys.argv[1])

# a grid of processes; each belongs to one row and to one column
nrows, ncols = MPI.Compute_dims(comm.size, 2)
myrow, mycol = divmod(comm.rank, ncols)
row_comm = comm.Split(color=myrow, key=mycol)
col_comm = comm.Split(color=mycol, key=myrow)


def bounds(parts):
    return np.arange(parts + 1) * n // parts


row_bounds, col_bounds = bounds(nrows), bounds(ncols)
r0, r1 = row_bounds[myrow], row_bounds[myrow + 1]
c0, c1 = col_bounds[mycol], col_bounds[mycol + 1]

# a ring and some random roads, the same on all processes
rng = np.random.default_rng(11)
length = np.full((n, n), np.inf, dtype=np.float32)
length[np.arange(n), (np.arange(n) + 1) % n] = 100
start, end = rng.integers(0, n, (2, 6 * n))
length[start, end] = rng.integers(1, 100, 6 * n)
np.fill_diagonal(length, 0)

d = length[r0:r1, c0:c1].copy()
row = np.empty(c1 - c0, dtype=np.float32)
column = np.empty(r1 - r0, dtype=np.float32)
for k in range(n):
    row_owner = int(np.searchsorted(row_bounds, k, side="right")) - 1
    col_owner = int(np.searchsorted(col_bounds, k, side="right")) - 1
    if myrow == row_owner:
        row[:] = d[k - r0]
    if mycol == col_owner:
        column[:] = d[:, k - c0]
    col_comm.Bcast(row, root=row_owner)
    row_comm.Bcast(column, root=col_owner)
    np.minimum(d, column[:, None] + row, out=d)

# rank 0 assembles the blocks and tests some nodes: no further last step may shorten a path
blocks = comm.gather(((r0, r1), (c0, c1), d), root=0)
if comm.rank == 0:
    whole = np.empty((n, n), dtype=np.float32)
    for (a, b), (p, q), block in blocks:
        whole[a:b, p:q] = block
    assert np.isfinite(whole).all() and not whole.diagonal().any()
    for node in range(0, n, max(1, n // 10)):
        assert np.array_equal(whole[node], (whole[node][:, None] + length).min(axis=0))
row_comm.Free()
col_comm.Free()
