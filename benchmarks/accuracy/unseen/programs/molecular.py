"""Molecular dynamics of a Lennard-Jones fluid: all ranks know all positions, and each moves its own atoms."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
cells, steps = int(sys.argv[1]), int(sys.argv[2])
density, temperature, dt = 0.7, 0.9, 0.003
cutoff, skin, renew = 2.5, 0.4, 10

# atoms on a face-centred lattice, the same on all ranks
n = 4 * cells**3
box = (n / density) ** (1 / 3)
corners = np.array(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij")).reshape(3, -1).T
basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
places = (corners[:, None, :] + basis).reshape(-1, 3) * box / cells
velocities = np.random.default_rng(3).standard_normal((n, 3)) * np.sqrt(temperature)
velocities -= velocities.mean(axis=0)

limits = np.arange(comm.size + 1) * n // comm.size
first, last = limits[comm.rank], limits[comm.rank + 1]
counts = 3 * np.diff(limits)
mine = places[first:last].copy()
v = velocities[first:last].copy()


def neighbours():
    """Pairs of an atom of this rank and any other atom nearby."""
    own, other = [], []
    for i in range(first, last):
        apart = places - places[i]
        apart -= box * np.round(apart / box)
        near = np.flatnonzero((apart * apart).sum(axis=1) < (cutoff + skin) ** 2)
        near = near[near != i]
        own.append(np.full(len(near), i - first))
        other.append(near)
    return np.concatenate(own), np.concatenate(other)


def forces(own, other):
    apart = mine[own] - places[other]
    apart -= box * np.round(apart / box)
    square = (apart * apart).sum(axis=1)
    inverse = np.where(square < cutoff**2, 1 / square, 0.0) ** 3
    strength = 24 * (2 * inverse**2 - inverse) / square
    force = np.stack([np.bincount(own, strength * apart[:, i], len(mine)) for i in range(3)], axis=1)
    shift = 4 * (cutoff**-12 - cutoff**-6)
    potential = (4 * (inverse**2 - inverse) - shift * (square < cutoff**2)).sum() / 2
    return force, potential


pairs = neighbours()
force, potential = forces(*pairs)
energies = []
for step in range(steps):
    v += 0.5 * dt * force
    mine += dt * v
    comm.Allgatherv(mine, [places, counts])
    if step % renew == renew - 1:
        pairs = neighbours()
    force, potential = forces(*pairs)
    v += 0.5 * dt * force
    if step % 5 == 0:
        here = np.array([potential, 0.5 * (v * v).sum()])
        total = np.empty(2)
        comm.Allreduce(here, total)
        energies.append(total.sum() / n)

assert max(energies) - min(energies) < 0.02, energies
momentum = comm.reduce(v.sum(axis=0), root=0)
if comm.rank == 0:
    assert np.abs(momentum).max() < 1e-6 * n
