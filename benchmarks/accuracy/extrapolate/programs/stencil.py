"""``stencil.py N DIMENSIONS``: ten sweeps over N × N points, distributed along one dimension or two, and gathered."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, dimensions = int(sys.argv[1]), int(sys.argv[2])
rows, columns = MPI.Compute_dims(comm.size, dimensions) if dimensions == 2 else (comm.size, 1)
row, column = divmod(comm.rank, columns)
height = n // rows + (row < n % rows)
width = n // columns + (column < n % columns)
up = comm.rank - columns if row > 0 else MPI.PROC_NULL
down = comm.rank + columns if row < rows - 1 else MPI.PROC_NULL
left = comm.rank - 1 if column > 0 else MPI.PROC_NULL
right = comm.rank + 1 if column < columns - 1 else MPI.PROC_NULL

u = np.zeros((height + 2, width + 2))
u[1:-1, 1:-1] = comm.rank
for _ in range(10):
    below, above = np.empty(width), np.empty(width)
    comm.Sendrecv(u[1, 1:-1].copy(), up, 1, below, down, 1)
    comm.Sendrecv(u[-2, 1:-1].copy(), down, 2, above, up, 2)
    if dimensions == 2:
        behind, before = np.empty(height), np.empty(height)
        comm.Sendrecv(u[1:-1, 1].copy(), left, 3, behind, right, 3)
        comm.Sendrecv(u[1:-1, -2].copy(), right, 4, before, left, 4)
    u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    change = np.empty(1)
    comm.Allreduce(np.array([np.abs(u).max()]), change)
counts = np.empty(comm.size, np.int64)
comm.Allgather(np.array([height * width]), counts)
everything = np.empty(counts.sum()) if comm.rank == 0 else None
comm.Gatherv(u[1:-1, 1:-1].copy(), (everything, counts) if comm.rank == 0 else None, 0)
