"""Three-dimensional FFT in slabs, redistributed by Alltoallw with subarray types as in mpi4py-fft, and its inverse."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, rounds = int(sys.argv[1]), int(sys.argv[2])


def share(rank):
    begin = rank * n // comm.size
    return begin, (rank + 1) * n // comm.size - begin


begin, here = share(comm.rank)
by_x = (here, n, n)
by_y = (n, here, n)
pieces_of_x = [
    MPI.COMPLEX16.Create_subarray(by_x, (here, size, n), (0, at, 0)).Commit()
    for at, size in map(share, range(comm.size))
]
pieces_of_y = [
    MPI.COMPLEX16.Create_subarray(by_y, (size, here, n), (at, 0, 0)).Commit()
    for at, size in map(share, range(comm.size))
]
ones, zeros = [1] * comm.size, [0] * comm.size

u = np.random.default_rng(comm.rank).random(by_x) + 0j
original = u.copy()
slab = np.empty(by_y, complex)
for _ in range(rounds):
    u = np.fft.fftn(u, axes=(1, 2))
    comm.Alltoallw([u, ones, zeros, pieces_of_x], [slab, ones, zeros, pieces_of_y])
    slab = np.fft.fft(slab, axis=0)
    slab = np.fft.ifft(slab, axis=0)
    comm.Alltoallw([slab, ones, zeros, pieces_of_y], [u, ones, zeros, pieces_of_x])
    u = np.fft.ifftn(u, axes=(1, 2))

assert np.abs(u - original).max() < 1e-9
for kind in pieces_of_x + pieces_of_y:
    kind.Free()
