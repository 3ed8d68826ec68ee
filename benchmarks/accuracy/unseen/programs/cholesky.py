"""Cholesky factorisation by tiles distributed over a grid of ranks: each is sent only to the ranks that need it."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
tiles, side = int(sys.argv[1]), int(sys.argv[2])
down, across = MPI.Compute_dims(comm.size, 2)


def owner(i, j):
    return (i % down) * across + j % across


def tile(i, j):
    """A tile of a symmetric matrix whose diagonal outweighs the rest."""
    values = np.random.default_rng((i, j)).uniform(-1, 1, (side, side))
    return values + values.T + 2 * tiles * side * np.eye(side) if i == j else values


class Delivery:
    """Tiles of one column on their way to the ranks that need them."""

    def __init__(self):
        self.sent = []

    def share(self, i, k, goals):
        """Send a tile to other ranks if it is here; return it if it is needed here."""
        home = owner(i, k)
        goals = sorted(goals - {home})
        if comm.rank == home:
            self.sent += [comm.Isend(mine[i, k], dest=goal, tag=i) for goal in goals]
            return mine[i, k]
        if comm.rank not in goals:
            return None
        arrived = np.empty((side, side))
        comm.Recv(arrived, source=home, tag=i)
        return arrived


mine = {(i, j): tile(i, j) for j in range(tiles) for i in range(j, tiles) if owner(i, j) == comm.rank}
for k in range(tiles):
    delivery = Delivery()
    if (k, k) in mine:
        mine[k, k] = np.linalg.cholesky(mine[k, k])
    corner = delivery.share(k, k, {owner(i, k) for i in range(k + 1, tiles)})
    for i in range(k + 1, tiles):
        if (i, k) in mine:
            mine[i, k] = np.ascontiguousarray(np.linalg.solve(corner, mine[i, k].T).T)
    column = {}
    for i in range(k + 1, tiles):
        users = {owner(i, j) for j in range(k + 1, i + 1)} | {owner(j, i) for j in range(i, tiles)}
        column[i] = delivery.share(i, k, users)
    for i, j in mine:
        if j > k:
            mine[i, j] -= column[i] @ column[j].T
    MPI.Request.Waitall(delivery.sent)

# the product of the factor and its transpose must act on a vector like the matrix
vector = np.random.default_rng(0).normal(size=(tiles, side))
half, product, expected = np.zeros((3, tiles, side))
for (i, j), factor in mine.items():
    half[j] += factor.T @ vector[i]
comm.Allreduce(MPI.IN_PLACE, half)
for (i, j), factor in mine.items():
    product[i] += factor @ half[j]
    original = tile(i, j)
    expected[i] += original @ vector[j]
    if i != j:
        expected[j] += original.T @ vector[i]
total = comm.reduce(product - expected, root=0)
assert comm.rank or np.abs(total).max() < 1e-8 * tiles * side
