"""Gravity in a plane, by cells: near cells send their particles, far cells only their mass and its centre."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
count, level, steps = (int(word) for word in sys.argv[1:])
size, rank = comm.size, comm.rank
side, soft, dt = 2**level, 0.01, 2e-4

# the cells lie on a Z curve, and every rank has a piece of it
i, j = np.indices((side, side))
curve = sum(((i >> bit & 1) << 2 * bit + 1) + ((j >> bit & 1) << 2 * bit) for bit in range(level))
edges = np.arange(size + 1) * side**2 // size
counts = np.diff(edges)
owner = np.repeat(np.arange(size), counts)
mine = range(edges[rank], edges[rank + 1])
near = {}
for a, b in np.ndindex(side, side):
    near[int(curve[a, b])] = curve[max(a - 1, 0) : a + 2, max(b - 1, 0) : b + 2].ravel()
border = [[cell for cell in mine if other != rank and other in owner[near[cell]]] for other in range(size)]


def cells_of(particles):
    at = np.clip(particles[:, :2] * side, 0, side - 1).astype(int)
    return curve[at[:, 0], at[:, 1]]


def settle(particles):
    """Send particles to the ranks of their cells; return the own particles sorted by cell."""
    goal = owner[cells_of(particles)]
    particles = np.concatenate(comm.alltoall([particles[goal == other] for other in range(size)]))
    cells = cells_of(particles)
    order = np.argsort(cells, kind="stable")
    return particles[order], np.searchsorted(cells[order], np.arange(edges[rank], edges[rank + 1] + 1))


def pull(places, others):
    apart = others[:, :2] - places[:, None]
    distance = np.sqrt((apart**2).sum(axis=2) + soft**2)
    return np.einsum("ij,ijk->ik", others[:, 2] / distance**3, apart)


def accelerations(particles, first):
    x, y, _, _, mass = particles.T
    at = cells_of(particles) - edges[rank]
    here = np.column_stack([np.bincount(at, weights, len(mine)) for weights in (mass * x, mass * y, mass)])
    cells = np.empty((side**2, 3))
    comm.Allgatherv(here, [cells, 3 * counts])
    cells[:, :2] /= np.maximum(cells[:, 2:], 1e-300)
    inside = {cell: particles[a:b] for cell, a, b in zip(mine, first, first[1:])}
    for theirs in comm.alltoall([{cell: inside[cell] for cell in border[other]} for other in range(size)]):
        inside.update(theirs)
    found = np.empty((len(particles), 2))
    for cell, a, b in zip(mine, first, first[1:]):
        if a < b:
            close = np.concatenate([inside[int(other)] for other in near[cell]])[:, [0, 1, 4]]
            far = np.delete(cells, near[cell], axis=0)
            found[a:b] = pull(particles[a:b, :2], np.concatenate([close, far]))
    return found


# two clusters, of which one is denser; all ranks draw the same particles, and keep some
rng = np.random.default_rng(8)
everything = np.zeros((count, 5))
everything[:, :2] = rng.normal([0.35, 0.4], 0.12, (count, 2))
everything[: count // 4, :2] = rng.normal([0.75, 0.7], 0.05, (count // 4, 2))
everything[:, 4] = rng.uniform(0.5, 1.5, count) / count
particles, first = settle(everything[rank::size])
for _ in range(steps):
    particles[:, 2:4] += dt * accelerations(particles, first)
    particles[:, :2] += dt * particles[:, 2:4]
    particles, first = settle(particles)

# check some of the accelerations against the sum over all particles
everything = np.concatenate(comm.allgather(particles))
assert everything.shape == (count, 5)
exact = pull(particles[::10, :2], everything[:, [0, 1, 4]])
wrong = accelerations(particles, first)[::10] - exact
assert comm.allreduce((wrong**2).sum()) < 0.02**2 * comm.allreduce((exact**2).sum())
