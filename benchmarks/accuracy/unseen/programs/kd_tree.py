"""Find the nearest neighbour of all points: points move into boxes of a k-d tree of ranks, and query boxes nearby."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
n, leaf = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(40 + world.rank)
count = (world.rank + 1) * n // world.size - world.rank * n // world.size
points = random.normal(size=(count, 3)) * [1, 2, 4] + random.integers(0, 3, (count, 1))

# halve the ranks, and the points with them, until each rank is alone in its box
comm, depth = world.Dup(), 0
while comm.size > 1:
    axis, half = depth % 3, comm.size // 2
    sample = np.sort(np.concatenate(comm.allgather(points[::20, axis])))
    cut = sample[len(sample) * half // comm.size]
    turns = np.arange(len(points)) + comm.rank
    goal = np.where(points[:, axis] < cut, turns % half, half + turns % (comm.size - half))
    leaving = 3 * np.bincount(goal, minlength=comm.size)
    coming = np.empty_like(leaving)
    comm.Alltoall(leaving, coming)
    came = np.empty((coming.sum() // 3, 3))
    comm.Alltoallv([points[np.argsort(goal, kind="stable")], leaving], [came, coming])
    points = came
    smaller = comm.Split(int(comm.rank >= half), comm.rank)
    comm.Free()
    comm, depth = smaller, depth + 1
comm.Free()


def build(points, depth=0):
    """The leaves of the tree below a box: each has some points, and the corners around them."""
    if len(points) <= leaf:
        return [(points, points.min(axis=0), points.max(axis=0))]
    points = points[np.argsort(points[:, depth % 3])]
    middle = len(points) // 2
    return build(points[:middle], depth + 1) + build(points[middle:], depth + 1)


def gap(points, low, high):
    """The distances of points from a box."""
    return np.sqrt((np.maximum(0, np.maximum(low - points, points - high)) ** 2).sum(axis=1))


def nearest(asked, best):
    """The distances to the nearest points here, where they are smaller than the best so far."""
    best = best.copy()
    for there, low, high in tree:
        worth = np.flatnonzero(gap(asked, low, high) < best)
        if len(worth):
            apart = np.sqrt(((asked[worth, None] - there) ** 2).sum(axis=2))
            apart[apart == 0] = np.inf
            best[worth] = np.minimum(best[worth], apart.min(axis=1))
    return best


tree = build(points)
points = np.concatenate([there for there, _, _ in tree])
best = np.empty(len(points))
begin = 0
for there, _, _ in tree:
    apart = np.sqrt(((there[:, None] - there) ** 2).sum(axis=2)) + np.diag(np.full(len(there), np.inf))
    best[begin : begin + len(there)] = apart.min(axis=1)
    begin += len(there)
best = nearest(points, best)

boxes = world.allgather((points.min(axis=0), points.max(axis=0)))
asking = [np.flatnonzero(gap(points, *box) < best) if i != world.rank else [] for i, box in enumerate(boxes)]
questions = world.alltoall([(points[which], best[which]) if len(which) else None for which in asking])
answers = world.alltoall([nearest(*question) if question else None for question in questions])
for which, answer in zip(asking, answers):
    if answer is not None:
        best[which] = np.minimum(best[which], answer)

some = world.allgather((points[::200], best[::200]))
checked, claimed = (np.concatenate(parts) for parts in zip(*some))
apart = np.sqrt(((checked[:, None] - points) ** 2).sum(axis=2))
apart[apart == 0] = np.inf
found = np.empty_like(claimed)
world.Allreduce(apart.min(axis=1), found, op=MPI.MIN)
assert np.allclose(found, claimed)
assert world.allreduce(len(points)) == n
