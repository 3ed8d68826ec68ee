"""A product of two matrices by blocks of rows: the blocks of the second go round a ring."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
size, products = int(sys.argv[1]), int(sys.argv[2])

edges = np.linspace(0, size, comm.size + 1).astype(int)
mine = slice(edges[comm.rank], edges[comm.rank + 1])
left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
widest = int(np.diff(edges).max())
place = np.arange(size)
for power in range(1, products + 1):
    one = np.cos(power * place[mine, None] + place[None, :])
    passing = np.zeros((widest, size))
    passing[: mine.stop - mine.start] = np.sin(place[mine, None] - power * place[None, :])
    result = np.zeros((mine.stop - mine.start, size))
    for step in range(comm.size):
        owner = (comm.rank + step) % comm.size
        rows = slice(edges[owner], edges[owner + 1])
        result += one[:, rows] @ passing[: rows.stop - rows.start]
        comm.Sendrecv_replace(passing, dest=left, source=right)
    checked = one[0] @ np.sin(place[:, None] - power * place[None, :])
    assert np.allclose(result[0], checked)
