"""Red-black relaxation of Poisson's equation by blocks of rows; edges are exchanged for each colour."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
size, steps = int(sys.argv[1]), int(sys.argv[2])

rows = len(np.array_split(np.arange(size), comm.size)[comm.rank])
first = comm.exscan(rows) or 0
above = comm.rank - 1 if comm.rank else MPI.PROC_NULL
below = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
grid = np.zeros((rows + 2, size + 2))
source = np.ones((rows, size)) / size**2
coloured = (np.arange(first, first + rows)[:, None] + np.arange(size)[None, :]) % 2 == 0

changes = []
for step in range(steps):
    for colour in (coloured, ~coloured):
        comm.Sendrecv(grid[1], dest=above, recvbuf=grid[-1], source=below)
        comm.Sendrecv(grid[-2], dest=below, recvbuf=grid[0], source=above)
        inner = grid[1:-1, 1:-1]
        relaxed = (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:] + source) / 4
        change = np.where(colour, relaxed - inner, 0.0)
        inner += change
    if step % 5 == 4:
        changes.append(comm.allreduce(float(np.abs(change).max()), op=MPI.MAX))
assert changes[-1] < changes[0]
