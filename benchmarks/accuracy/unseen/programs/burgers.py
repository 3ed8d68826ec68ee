"""Burgers' equation in two dimensions by a spectral method: rows are transformed here, columns once transposed."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, steps = int(sys.argv[1]), int(sys.argv[2])
rows = n // comm.size
assert rows * comm.size == n
viscosity, dt = 0.05, 1e-3
grid = 2 * np.pi * np.arange(n) / n
wave = np.fft.fftfreq(n, 1 / n)
mine = slice(comm.rank * rows, (comm.rank + 1) * rows)


def transposed(a):
    """This rank's rows of the transposed matrix."""
    blocks = np.ascontiguousarray(a.reshape(rows, comm.size, rows).transpose(1, 2, 0))
    came = np.empty_like(blocks)
    comm.Alltoall(blocks, came)
    return came.transpose(1, 0, 2).reshape(rows, n)


def forward(u):
    return np.fft.fft(transposed(np.fft.fft(u, axis=1)), axis=1)


def backward(w):
    return np.fft.ifft(transposed(np.fft.ifft(w, axis=1)), axis=1).real


# after a transformation, rows are wave numbers of the second direction
second, first = wave[mine][:, None], wave[None, :]
decay = np.exp(-viscosity * (first**2 + second**2) * dt)
u = np.sin(grid[mine][:, None]) * np.cos(grid[None, :])
start = comm.allreduce((u * u).sum())
mean = comm.allreduce(u.sum())
w = forward(u.astype(complex))
for _ in range(steps):
    u = backward(w)
    w = decay * (w - dt * 0.5j * (first + second) * forward((u * u).astype(complex)))
u = backward(w)

# it conserves the mean and loses energy
end = comm.allreduce((u * u).sum())
assert abs(comm.allreduce(u.sum()) - mean) < 1e-8 and 0.5 * start < end < start
