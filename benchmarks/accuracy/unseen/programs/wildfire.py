"""A wildfire over hills with grass, shrubs and trees; ranks have rows, shared anew every few steps by what burns."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
height, width, lakes, often = (int(word) for word in sys.argv[1:])
HIGH, KIND, LIT = range(3)
NEVER = 2**30
STEEP = 8
AROUND = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]
DOWN, RIGHT = np.array(AROUND).T[:, :, None]
# by kind: rock or water, grass, shrubs, trees
BURNS = np.array([0, 5, 9, 16])
SLOW = np.array([1e9, 2.0, 3.5, 6.0])
# how long it takes to set fire to a neighbour, by direction, kind and how much higher it is; the wind helps
far = np.hypot(DOWN, RIGHT)[:, :, None]
wind = np.exp((0.5 * DOWN + 0.35 * RIGHT)[:, :, None] / far)
hill = np.exp(0.1 * np.arange(-STEEP, STEEP + 1) / far)
DELAY = np.maximum(1, np.rint(far * SLOW[:, None] / (wind * hill))).astype(int)


def smooth(field, reach):
    for axis in (0, 1):
        field = sum(np.roll(field, shift, axis=axis) for shift in range(-reach, reach + 1))
    return field


def landscape():
    random = np.random.default_rng(1202)
    land = np.empty((height, 3, width), dtype=np.int32)
    hills = smooth(smooth(random.integers(0, 1000, size=(height, width)), 6), 6)
    land[:, HIGH] = (hills - hills.min()) * 100 // (hills.max() - hills.min())
    growth = smooth(random.integers(0, 1000, size=(height, width)), 4)
    land[:, KIND] = 1 + (growth - growth.min()) * 5 // (growth.max() - growth.min() + 1) // 2
    down, right = np.ogrid[:height, :width]
    for _ in range(lakes):
        y, x, size = random.integers(height), random.integers(width), random.integers(3, 4 + width // 16)
        land[:, KIND][(down - y) ** 2 + (right - x) ** 2 < size**2] = 0
    land[:, KIND, 0] = land[:, KIND, -1] = 0
    land[:, LIT] = NEVER
    # lightning strikes a tree
    y, x = height // 4, width // 3
    land[y, KIND, x], land[y, LIT, x] = 3, 0
    return land


def exchange(top, first, last, bottom):
    """Begin to send the first and last row to the neighbours, and to get theirs."""
    above = comm.rank - 1 if comm.rank else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
    return [
        comm.Irecv(top, source=above, tag=1),
        comm.Irecv(bottom, source=below, tag=2),
        comm.Isend(first, dest=above, tag=2),
        comm.Isend(last, dest=below, tag=1),
    ]


def with_neighbours(rows):
    land = np.zeros((len(rows) + 2, 3, width), dtype=np.int32)
    land[:, LIT] = NEVER
    land[1:-1] = rows
    MPI.Request.Waitall(exchange(land[0], land[1], land[-2], land[-1]))
    return land


def takes(land, way, y, x):
    """How long the fire needs to some places from their neighbours against a direction."""
    climb = np.clip(land[y, HIGH, x] - land[y - DOWN[way, 0], HIGH, x - RIGHT[way, 0]], -STEEP, STEEP)
    return DELAY[way, land[y, KIND, x], climb + STEEP]


def spread(land, step, y, x):
    """Which places of one's rows catch fire from those that burn."""
    to_y, to_x = y + DOWN, x + RIGHT
    way, place = np.nonzero((to_y > 0) & (to_y < len(land) - 1))
    to_y, to_x = to_y[way, place], to_x[way, place]
    fresh = (land[to_y, LIT, to_x] == NEVER) & (land[to_y, KIND, to_x] > 0)
    way, place, to_y, to_x = way[fresh], place[fresh], to_y[fresh], to_x[fresh]
    hot = step - land[y[place], LIT, x[place]] >= takes(land, way, to_y, to_x)
    return np.divmod(np.unique(to_y[hot] * width + to_x[hot]), width)


def burning(land, step):
    lit = land[:, LIT]
    return np.nonzero((lit < step) & (step <= lit + BURNS[land[:, KIND]]))


def share(work):
    """Where each rank's rows begin and end if all are to have as much work, and at least a row."""
    summed = np.cumsum(work)
    bounds = [0]
    for rank in range(1, comm.size):
        bound = int(np.searchsorted(summed * comm.size, rank * summed[-1])) + 1
        bounds.append(min(max(bound, bounds[-1] + 1), height - comm.size + rank))
    return [*bounds, height]


bounds = [rank * height // comm.size for rank in range(comm.size + 1)]
counts = [(end - begin) * 3 * width for begin, end in zip(bounds, bounds[1:])]
mine = np.empty((bounds[comm.rank + 1] - bounds[comm.rank], 3, width), dtype=np.int32)
comm.Scatterv([landscape(), counts] if comm.rank == 0 else None, mine, root=0)
land = with_neighbours(mine)
until, burnt = 0, [int((land[1:-1, LIT] == 0).sum())]

while True:
    # how much burns in each row, and whether anything does
    y, x = burning(land[1:-1], until + 1)
    rows = [end - begin for begin, end in zip(bounds, bounds[1:])]
    work = np.empty(height, dtype=np.int64)
    comm.Allgatherv(np.bincount(y, minlength=rows[comm.rank]), [work, rows])
    if not work.any():
        break
    # rows go to where they belong from now on
    before, bounds = bounds, share(20 + work)
    low, high, new_low, new_high = (b[comm.rank + i] for b in (before, bounds) for i in (0, 1))
    to = [max(0, min(high, bounds[r + 1]) - max(low, bounds[r])) * 3 * width for r in range(comm.size)]
    come = [max(0, min(new_high, before[r + 1]) - max(new_low, before[r])) * 3 * width for r in range(comm.size)]
    mine = np.empty((new_high - new_low, 3, width), dtype=np.int32)
    comm.Alltoallv([land[1:-1], to], [mine, come])
    land = with_neighbours(mine)

    y, x = burning(land[1:-1], until + 1)
    y += 1
    for step in range(until + 1, until + often + 1):
        requests = exchange(land[0, LIT], land[1, LIT], land[-2, LIT], land[-1, LIT])
        alight = step <= land[y, LIT, x] + BURNS[land[y, KIND, x]]
        y, x = y[alight], x[alight]
        MPI.Request.Waitall(requests)
        edge_y, edge_x = burning(land[[0, -1]], step)
        edge_y *= len(land) - 1
        new_y, new_x = spread(land, step, np.concatenate([y, edge_y]), np.concatenate([x, edge_x]))
        land[new_y, LIT, new_x] = step
        y, x = np.concatenate([y, new_y]), np.concatenate([x, new_x])
        burnt.append(len(new_y))
    until += often

# every place burns from the time at which the first of its neighbours that burn long enough sets fire to it
land = with_neighbours(land[1:-1])
y, x = np.nonzero(land[1:-1, KIND])
y += 1
soonest = np.where(land[y, LIT, x] == 0, 0, NEVER)
for way, (down, right) in enumerate(AROUND):
    need = takes(land, way, y, x)
    enough = need <= BURNS[land[y - down, KIND, x - right]]
    soonest = np.minimum(soonest, np.where(enough, land[y - down, LIT, x - right] + need, NEVER))
curve = np.array(burnt)
comm.Allreduce(MPI.IN_PLACE, curve, op=MPI.SUM)
total = comm.allreduce(np.array([len(y), np.count_nonzero(land[1:-1, LIT] < NEVER)]), op=MPI.SUM)
assert (land[y, LIT, x] == soonest).all()
assert (land[:, LIT][land[:, KIND] == 0] == NEVER).all()
# most of what can burn has burnt, each place once
assert curve[0] == 1 and curve.sum() == total[1] and 0.5 * total[0] < total[1] <= total[0]
