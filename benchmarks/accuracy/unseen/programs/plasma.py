"""Particle-in-cell in one dimension: charges on a grid are summed over all ranks; particles move between ranks."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, cells, steps = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
size, rank = comm.size, comm.rank
length, dt = 2 * np.pi, 0.05
begin, end = length * rank / size, length * (rank + 1) / size
left, right = (rank - 1) % size, (rank + 1) % size

rng = np.random.default_rng(rank)
x = begin + (end - begin) * rng.random(n)
x = begin + (x - begin + 0.01 * np.sin(x)) % (end - begin)
v = rng.choice([-0.4, 0.4], n) + 0.02 * rng.standard_normal(n)
wave = np.fft.rfftfreq(cells, 1 / cells)
total = n * size


def deposited(x):
    """The density of all particles on the grid."""
    at = x / length * cells
    cell = at.astype(np.int64)
    part = at - cell
    here = np.bincount(cell % cells, 1 - part, cells) + np.bincount((cell + 1) % cells, part, cells)
    density = np.empty(cells)
    comm.Allreduce(here, density)
    return density * cells / total


def field(density):
    spectrum = np.fft.rfft(1 - density)
    spectrum[1:] /= 1j * wave[1:]
    spectrum[0] = 0
    return np.fft.irfft(spectrum, cells)


def moved(to, source, leaving):
    """Send particles to one neighbour, and return those that come from the other."""
    number = np.array(leaving.shape[1])
    coming = np.empty_like(number)
    comm.Sendrecv(number, to, 1, coming, source, 1)
    came = np.empty((2, int(coming)))
    comm.Sendrecv(np.ascontiguousarray(leaving), to, 2, came, source, 2)
    return came


for _ in range(steps):
    e = field(deposited(x))
    v -= dt * np.interp(x, length * np.arange(cells) / cells, e, period=length)
    x += dt * v
    low, high = x < begin, x >= end
    state = np.stack([x % length, v])
    stay = state[:, ~(low | high)]
    from_right = moved(left, right, state[:, low])
    from_left = moved(right, left, state[:, high])
    x, v = np.concatenate([stay, from_right, from_left], axis=1)

assert comm.allreduce(len(x)) == total
assert abs(deposited(x).mean() - 1) < 1e-9
