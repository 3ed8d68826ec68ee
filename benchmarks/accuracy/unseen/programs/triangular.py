"""Pipelined Gauss-Seidel in the order of rows: a finished block of columns is passed down the chain of ranks."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, block, sweeps = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
size, rank = comm.size, comm.rank
begin, end = rank * n // size, (rank + 1) * n // size
rows = end - begin
above = rank - 1 if rank > 0 else MPI.PROC_NULL
below = rank + 1 if rank < size - 1 else MPI.PROC_NULL

u = np.zeros((rows + 2, n + 2))
b = np.ones((rows, n)) / (n + 1) ** 2


def residual():
    lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    return np.sqrt(comm.allreduce(((b + lap) ** 2).sum()))


first = residual()
for _ in range(sweeps):
    # the row below still has the values of the previous sweep
    comm.Sendrecv(u[1].copy(), above, 1, u[-1], below, 1)
    for start in range(1, n + 1, block):
        columns = slice(start, min(start + block, n + 1))
        came = np.ascontiguousarray(u[0, columns])
        comm.Recv(came, above, 2)
        u[0, columns] = came
        for i in range(1, rows + 1):
            right_side = b[i - 1, start - 1 : columns.stop - 1] + u[i - 1, columns] + u[i + 1, columns]
            right_side[:-1] += u[i, start + 1 : columns.stop]
            right_side[-1] += u[i, columns.stop]
            value = u[i, start - 1]
            line = u[i]
            for j, each in enumerate(right_side.tolist(), start):
                value = (each + value) / 4
                line[j] = value
        comm.Send(np.ascontiguousarray(u[-2, columns]), below, 2)
comm.Sendrecv(u[1].copy(), above, 1, u[-1], below, 1)
comm.Sendrecv(u[-2].copy(), below, 3, u[0], above, 3)
assert residual() < first
