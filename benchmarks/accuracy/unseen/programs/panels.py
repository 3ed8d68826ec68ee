"""Matrix product by SUMMA: panels are broadcast along the rows and columns of a grid of ranks, made by Split."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, width = int(sys.argv[1]), int(sys.argv[2])
columns = max(k for k in range(1, comm.size + 1) if comm.size % k == 0 and k * k <= comm.size)
rows = comm.size // columns
my_row, my_column = divmod(comm.rank, columns)
along_row = comm.Split(my_row, my_column)
along_column = comm.Split(my_column, my_row)
height, breadth = n // rows, n // columns

random = np.random.default_rng(comm.rank)
a, b = random.random((2, height, breadth))
c = np.zeros((height, breadth))
for k in range(0, n, width):
    left, top = np.empty((height, width)), np.empty((width, breadth))
    if k // breadth == my_column:
        left[:] = a[:, k % breadth : k % breadth + width]
    if k // height == my_row:
        top[:] = b[k % height : k % height + width]
    along_row.Bcast(left, k // breadth)
    along_column.Bcast(top, k // height)
    c += left @ top

# check that (A B) 1 = A (B 1)
ones = along_row.allreduce(b.sum(axis=1))
whole = np.concatenate(along_column.allgather(ones))
expected = along_row.allreduce(a @ whole[my_column * breadth : (my_column + 1) * breadth])
assert np.allclose(along_row.allreduce(c.sum(axis=1)), expected)
along_row.Free()
along_column.Free()
