"""Simulate decaying vortices by the lattice Boltzmann method (D2Q9) on a grid of ranks; halos are subarray types."""

import sys

import numpy as np
from mpi4py import MPI

n, steps = int(sys.argv[1]), int(sys.argv[2])
viscosity, speed = 0.05, 0.04

# nine velocities and their weights
C = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
W = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4

comm = MPI.COMM_WORLD
cart = comm.Create_cart(MPI.Compute_dims(comm.size, 2), periods=[True, True])
(px, py), (cx, cy) = cart.dims, cart.coords
x = np.arange(cx * n // px, (cx + 1) * n // px)
y = np.arange(cy * n // py, (cy + 1) * n // py)
nx, ny = len(x), len(y)


def layer(lengths, at):
    """Part of the local array, halo included, as a datatype."""
    return MPI.DOUBLE.Create_subarray((9, nx + 2, ny + 2), (9, *lengths), (0, *at)).Commit()


# rows first, then columns including the corners that came with the rows
exchanges = []
for axis, shape, ends in ((0, (1, ny + 2), nx), (1, (nx + 2, 1), ny)):
    low, high = cart.Shift(axis, 1)
    place = [layer(shape, (i, 0) if axis == 0 else (0, i)) for i in (0, 1, ends, ends + 1)]
    exchanges.append((low, high, *place))


def update_halo(f):
    for low, high, low_halo, first, last, high_halo in exchanges:
        cart.Sendrecv([f, 1, first], low, 0, [f, 1, high_halo], high, 0)
        cart.Sendrecv([f, 1, last], high, 1, [f, 1, low_halo], low, 1)


def equilibrium(rho, u, v):
    square = 1 - 1.5 * (u * u + v * v)
    result = np.empty((9, *rho.shape))
    for i, (a, b) in enumerate(C):
        cu = 3 * (a * u + b * v)
        result[i] = W[i] * rho * (square + cu + 0.5 * cu * cu)
    return result


k = 2 * np.pi / n
u = -speed * np.cos(k * x)[:, None] * np.sin(k * y)[None, :]
v = speed * np.sin(k * x)[:, None] * np.cos(k * y)[None, :]
rho = 1 - 0.75 * speed**2 * (np.cos(2 * k * x)[:, None] + np.cos(2 * k * y)[None, :])
mass = comm.allreduce(rho.sum())
energy = comm.allreduce((u * u + v * v).sum())

omega = 1 / (3 * viscosity + 0.5)
f = np.zeros((9, nx + 2, ny + 2))
f[:, 1:-1, 1:-1] = equilibrium(rho, u, v)
for _ in range(steps):
    inner = f[:, 1:-1, 1:-1]
    inner += omega * (equilibrium(rho, u, v) - inner)
    update_halo(f)
    moved = np.zeros_like(f)
    for i, (a, b) in enumerate(C):
        moved[i, 1:-1, 1:-1] = f[i, 1 - a : nx + 1 - a, 1 - b : ny + 1 - b]
    f = moved
    inner = f[:, 1:-1, 1:-1]
    rho = inner.sum(axis=0)
    u = sum(a * part for (a, _), part in zip(C, inner) if a) / rho
    v = sum(b * part for (_, b), part in zip(C, inner) if b) / rho

decayed = comm.allreduce((u * u + v * v).sum()) / energy
assert abs(comm.allreduce(rho.sum()) / mass - 1) < 1e-9
assert abs(np.log(decayed) / (-4 * viscosity * k * k * steps) - 1) < 0.1
for exchange in exchanges:
    for datatype in exchange[2:]:
        datatype.Free()
