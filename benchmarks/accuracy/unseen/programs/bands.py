"""Electrons in a crystal: groups of ranks divide its waves; all search for the level that the electrons fill."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
waves, points, rounds = (int(word) for word in sys.argv[1:])
WARMTH, MIXING = 0.05, 0.4

# groups of two ranks, the last one of three if there are odd ranks: each has some of the waves
groups = max(1, world.size // 2)
colour = min(world.rank // 2, groups - 1)
group = world.Split(colour, world.rank)
heads = world.Split(0 if group.rank == 0 else MPI.UNDEFINED, world.rank)
mine = range(colour, points, groups)
momenta = np.arange(points) / points - 0.5 + 0.5 / points
electrons = 4.0

orders = np.arange(waves) - waves // 2
grid = np.arange(2 * waves) / (2 * waves)
ions = -6 * np.exp(-(((grid - 0.35) / 0.08) ** 2)) - 4 * np.exp(-(((grid - 0.7) / 0.1) ** 2))


def solve(momentum, potential):
    """Energies of a wave, and the density of its electrons."""
    parts = np.fft.fft(potential) / len(potential)
    matrix = parts[orders[:, None] - orders]
    matrix[np.diag_indices(waves)] += 2 * np.pi**2 * (orders + momentum) ** 2 / 10
    energies, states = np.linalg.eigh(matrix)
    few = 8
    return energies[:few], np.abs(np.fft.ifft(np.eye(2 * waves)[:, orders] @ states[:, :few], axis=0)) ** 2


def filling(energies, level):
    return 2 / (1 + np.exp(np.clip((energies - level) / WARMTH, -50, 50)))


density = np.full(2 * waves, electrons)
changes = []
for _ in range(rounds):
    potential = ions + 0.5 * density
    share = list(mine)[group.rank :: group.size]
    found = [solve(momenta[point], potential) for point in share]
    energies = np.array([each for each, _ in found]).reshape(-1, 8)

    # bisection for the level below which there is room for all electrons
    low, high = -50.0, 50.0
    for _ in range(50):
        middle = (low + high) / 2
        room = world.allreduce(float(filling(energies, middle).sum())) / points
        low, high = (middle, high) if room < electrons else (low, middle)
    fillings = filling(energies, middle)

    # densities are summed within groups, then among the heads of groups, which broadcast the sum
    here = np.zeros(2 * waves)
    for (_, where), filled in zip(found, fillings):
        here += where @ filled * 2 * waves / where.sum(axis=0).mean() / points
    total = np.empty_like(here)
    group.Reduce(here, total, root=0)
    if heads != MPI.COMM_NULL:
        heads.Allreduce(MPI.IN_PLACE, total)
    group.Bcast(total, root=0)
    changes.append(float(np.abs(total - density).mean()))
    density = (1 - MIXING) * density + MIXING * total

if heads != MPI.COMM_NULL:
    heads.Free()
group.Free()
assert np.isclose(density.mean(), electrons, rtol=1e-6)
assert density[np.argmin(ions)] > 1.5 * density[0]
assert changes[-1] < changes[0]
