"""Solve Poisson's equation on a ring by V-cycles of multigrid: halos of two numbers at every level and sweep."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
points, cycles = int(sys.argv[1]), int(sys.argv[2])
left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size


def exchange(u):
    comm.Sendrecv(u[1:2], left, recvbuf=u[-1:], source=right)
    comm.Sendrecv(u[-2:-1], right, recvbuf=u[:1], source=left)


def smooth(u, f, h, sweeps):
    for _ in range(sweeps):
        exchange(u)
        u[1:-1] += 2 / 3 * (0.5 * (u[:-2] + u[2:] + h * h * f) - u[1:-1])


def residual(u, f, h):
    exchange(u)
    return f - (2 * u[1:-1] - u[:-2] - u[2:]) / (h * h)


def cycle(u, f, h):
    smooth(u, f, h, 2)
    if len(f) > 2:
        defect = np.zeros(len(f) + 2)
        defect[1:-1] = residual(u, f, h)
        exchange(defect)
        coarse = 0.25 * (defect[0:-2:2] + 2 * defect[1:-1:2] + defect[2::2])
        correction = np.zeros(len(coarse) + 2)
        cycle(correction, coarse, 2 * h)
        exchange(correction)
        fine = np.zeros(len(f))
        fine[::2] = correction[1:-1]
        fine[1::2] = 0.5 * (correction[1:-1] + correction[2:])
        u[1:-1] += fine
    smooth(u, f, h, 40 if len(f) <= 2 else 2)


here = points // comm.size
n = here * comm.size
h = 1.0 / n
x = (comm.rank * here + np.arange(here)) * h
f = np.sin(2 * np.pi * x) * 4 * np.pi**2
u = np.zeros(here + 2)
first = comm.allreduce(np.abs(residual(u, f, h)).max(), MPI.MAX)
for _ in range(cycles):
    cycle(u, f, h)
last = comm.allreduce(np.abs(residual(u, f, h)).max(), MPI.MAX)
assert last < 0.5 * first, (first, last)
