"""Power iteration on a dense matrix by rows: the whole vector is gathered before each product."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
size, steps = int(sys.argv[1]), int(sys.argv[2])

rows = np.array_split(np.arange(size), comm.size)
counts = [len(some) for some in rows]
mine = rows[comm.rank]
matrix = 1.0 / (1.0 + np.abs(mine[:, None] - np.arange(size)[None, :]))
vector, value = np.ones(size), 0.0
for _ in range(steps):
    product = matrix @ vector
    norm = np.sqrt(comm.allreduce(product @ product))
    comm.Allgatherv(product / norm, [vector, counts])
    value = norm
matrix_times = matrix @ vector
off = comm.allreduce(np.abs(matrix_times - value * vector[mine]).max(), op=MPI.MAX)
assert off < 1e-3 * value
