"""How far a flock of birds reaches: ranks have birds, and pairs of them join hulls until all know the whole one."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
birds, minutes = (int(word) for word in sys.argv[1:])
STEP, NEAR, DIRECTIONS = 0.02, 0.05, 64


def half(points):
    """The lower half of the hull of points in order, by Andrew's monotone chain."""
    chain = []
    for x, y in points:
        while len(chain) > 1:
            (ax, ay), (bx, by) = chain[-2:]
            if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                break
            chain.pop()
        chain.append((x, y))
    return chain[:-1]


def hull(points):
    points = sorted(points)
    return half(points) + half(reversed(points))


def joined(own):
    """The hull of all ranks' hulls: pairs of ranks exchange theirs; those beyond a power of two join in by another."""
    power = 1 << comm.size.bit_length() - 1
    if comm.rank >= power:
        comm.send(own, dest=comm.rank - power)
        return comm.recv(source=comm.rank - power)
    if comm.rank + power < comm.size:
        own = hull(own + comm.recv(source=comm.rank + power))
    bit = 1
    while bit < power:
        own = hull(own + comm.sendrecv(own, dest=comm.rank ^ bit, source=comm.rank ^ bit))
        bit *= 2
    if comm.rank + power < comm.size:
        comm.send(own, dest=comm.rank + power)
    return own


def area(corners):
    x, y = np.array(corners).T
    return float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2


def fly(places, speeds, corners):
    """Birds wander; those near the edge of the flock turn back to its middle."""
    ends = np.array(corners)
    way = np.roll(ends, -1, axis=0) - ends
    inwards = np.stack([-way[:, 1], way[:, 0]], axis=1) / np.hypot(*way.T)[:, None]
    inside = places @ inwards.T - (ends * inwards).sum(axis=1)
    edge = inside.min(axis=1) < NEAR
    back = ends.mean(axis=0) - places[edge]
    speeds[edge] = 0.7 * speeds[edge] + 0.3 * back
    places += STEP * speeds
    return int(edge.sum())


# the same birds, however many ranks there are
random = np.random.default_rng(211)
angle, distance = random.uniform(0, 2 * np.pi, size=birds), np.sqrt(random.uniform(size=birds))
begin, end = comm.rank * birds // comm.size, (comm.rank + 1) * birds // comm.size
places = np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=1)[begin:end].copy()
speeds = random.normal(size=(birds, 2))[begin:end] * 0.5

areas, turned = [], 0
for _ in range(minutes):
    corners = joined(hull(places.tolist()))
    areas.append(area(corners))
    turned += fly(places, speeds, corners)

# it reaches as far as its outermost bird in any direction, and all ranks agree on it
corners = np.array(joined(hull(places.tolist())))
angle = np.arange(DIRECTIONS) * 2 * np.pi / DIRECTIONS
towards = np.array([np.cos(angle), np.sin(angle)])
farthest = (places @ towards).max(axis=0)
comm.Allreduce(MPI.IN_PLACE, farthest, op=MPI.MAX)
assert np.abs(farthest - (corners @ towards).max(axis=0)).max() < 1e-12
first = np.array(corners)
comm.Bcast(first, root=0)
assert (first == corners).all()
assert 0.98 * np.pi < areas[0] < np.pi and max(areas) < 2 * np.pi
assert comm.allreduce(turned) > 0
