"""Patterns of two substances that react and diffuse (Gray and Scott) in a box: one call exchanges faces of blocks."""

import sys

import numpy as np
from mpi4py import MPI

n, steps, every = (int(word) for word in sys.argv[1:])
dims = MPI.Compute_dims(MPI.COMM_WORLD.size, 3)
cart = MPI.COMM_WORLD.Create_cart(dims, periods=[True] * 3)
place = cart.Get_coords(cart.rank)
begins = [n * at // of for at, of in zip(place, dims)]
shape = [n * (at + 1) // of - n * at // of for at, of in zip(place, dims)]
FEED, KILL, SPREAD_U, SPREAD_V = 0.035, 0.06, 0.16, 0.08

# both substances in one array, with a halo that neighbours fill
field = np.zeros((2, *(side + 2 for side in shape)), dtype=np.float32)


def face(axis, where):
    """The datatype of one layer of the array, at a place along an axis."""
    sizes, starts = [2, *shape], [0, 1, 1, 1]
    sizes[axis + 1], starts[axis + 1] = 1, where
    return MPI.FLOAT.Create_subarray(field.shape, sizes, starts).Commit()


leaving = [face(axis, where) for axis in range(3) for where in (1, shape[axis])]
coming = [face(axis, where) for axis in range(3) for where in (0, shape[axis] + 1)]
ones, zeros = [1] * 6, [0] * 6


def exchange():
    cart.Neighbor_alltoallw([field, ones, zeros, leaving], [field, ones, zeros, coming])


def spread(of):
    """The sum of the six neighbours, minus six times the centre."""
    middle = of[1:-1, 1:-1, 1:-1]
    total = of[:-2, 1:-1, 1:-1] + of[2:, 1:-1, 1:-1]
    total += of[1:-1, :-2, 1:-1]
    total += of[1:-1, 2:, 1:-1]
    total += of[1:-1, 1:-1, :-2]
    total += of[1:-1, 1:-1, 2:]
    return total - 6 * middle


u, v = field
inside = (slice(1, -1),) * 3
x, y, z = (np.arange(begin, begin + side) for begin, side in zip(begins, shape))

# check that every face arrives where it belongs
u[inside] = x[:, None, None] + n * y[:, None] + n * n * z
exchange()
assert (u[[0, -1], 1:-1, 1:-1] == np.array([x[0] - 1, x[-1] + 1])[:, None, None] % n + n * y[:, None] + n * n * z).all()
assert (u[1:-1, 1:-1, 0] == x[:, None] + n * y + n * n * ((z[0] - 1) % n)).all()

cube = (abs(x - n // 2) < n // 6)[:, None, None] & (abs(y - n // 2) < n // 6)[:, None] & (abs(z - n // 2) < n // 6)
u[inside], v[inside] = np.where(cube, 0.5, 1.0), np.where(cube, 0.25, 0.0)

amounts = []
for step in range(1, steps + 1):
    exchange()
    mine, yours = u[inside], v[inside]
    reaction = mine * yours * yours
    more_u = SPREAD_U * spread(u) - reaction + FEED * (1 - mine)
    more_v = SPREAD_V * spread(v) + reaction - (FEED + KILL) * yours
    mine += more_u
    yours += more_v
    if step % every == 0:
        amounts.append(cart.allreduce(np.array([mine.sum(dtype=float), yours.sum(dtype=float)])) / n**3)
for each in leaving + coming:
    each.Free()

# the picture is the same from three sides, whatever the number of ranks
assert all(0 < amount_u <= 1 and 0 < amount_v < 0.5 for amount_u, amount_v in amounts)
parts = cart.gather((begins, v[inside].copy()), root=0)
if cart.rank == 0:
    whole = np.empty((n, n, n), dtype=np.float32)
    for (i, j, k), part in parts:
        whole[i : i + part.shape[0], j : j + part.shape[1], k : k + part.shape[2]] = part
    assert np.allclose(whole, whole.transpose(2, 1, 0), atol=1e-3)
    assert np.allclose(whole, whole.transpose(1, 0, 2), atol=1e-3)
    assert np.isclose(whole.mean(dtype=float), amounts[-1][1], rtol=1e-4) or steps % every
