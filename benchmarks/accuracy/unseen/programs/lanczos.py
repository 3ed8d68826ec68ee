"""Energies of a particle in a trap by Lanczos' method: slabs of space, faces of which travel meanwhile."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
n, steps = int(sys.argv[1]), int(sys.argv[2])
HALF = 5.0

# a slab has one neighbour on either side, except at the ends
near = [each for each in (world.rank - 1, world.rank + 1) if 0 <= each < world.size]
comm = world.Create_dist_graph_adjacent(near, near)
begin, end = comm.rank * n // comm.size, (comm.rank + 1) * n // comm.size
points = np.linspace(-HALF, HALF, n + 2)[1:-1]
h = points[1] - points[0]
squares = points**2 / 2
trap = squares[begin:end, None, None] + squares[:, None] + squares

leaving, coming = np.empty((len(near), n, n)), np.empty((len(near), n, n))


def energy_of(wave):
    """Apply the Hamiltonian; outside of the box there is nothing."""
    for number, each in enumerate(near):
        leaving[number] = wave[0] if each < comm.rank else wave[-1]
    request = comm.Ineighbor_alltoall(leaving, coming)
    result = (trap + 3 / h**2) * wave
    bonds = np.zeros_like(wave)
    bonds[1:] += wave[:-1]
    bonds[:-1] += wave[1:]
    bonds[:, 1:] += wave[:, :-1]
    bonds[:, :-1] += wave[:, 1:]
    bonds[:, :, 1:] += wave[:, :, :-1]
    bonds[:, :, :-1] += wave[:, :, 1:]
    request.Wait()
    for number, each in enumerate(near):
        bonds[0 if each < comm.rank else -1] += coming[number]
    result -= bonds / (2 * h**2)
    return result


def length(of):
    square = np.array([of @ of])
    comm.Allreduce(MPI.IN_PLACE, square)
    return np.sqrt(square[0])


basis = np.zeros((steps + 1, (end - begin) * n * n))
# begin with a wave that is too wide, and not in the middle
x, y, z = (points - shift for shift in (0.8, -0.5, 0.3))
start = np.exp(-((x[begin:end, None, None] ** 2 + y[:, None] ** 2 + z**2) / 3)).ravel()
basis[0] = start / length(start)
along, across = np.zeros(steps), np.zeros(steps)
for step in range(steps):
    wave = energy_of(basis[step].reshape(-1, n, n)).ravel()
    # rounding makes waves lean towards the earlier ones, so all of them are subtracted
    shares = basis[: step + 1] @ wave
    comm.Allreduce(MPI.IN_PLACE, shares)
    wave -= shares @ basis[: step + 1]
    along[step], across[step] = shares[step], length(wave)
    basis[step + 1] = wave / across[step]

energies, mixtures = np.linalg.eigh(np.diag(along) + np.diag(across[:-1], 1) + np.diag(across[:-1], -1))

# an oscillator in space: one and a half quanta, and one more at each level
assert np.allclose(energies[:2], [1.5, 2.5], rtol=0.03)
# every rank takes the same sign
lowest = np.sign(mixtures[0, 0]) * mixtures[:, 0] @ basis[:steps]
assert np.isclose(length(lowest), 1)
assert length(energy_of(lowest.reshape(-1, n, n)).ravel() - energies[0] * lowest) < 0.02
bell = np.exp(-trap.ravel())
overlap = comm.allreduce(float(bell @ lowest)) / length(bell)
assert abs(overlap) > 0.999
comm.Free()
