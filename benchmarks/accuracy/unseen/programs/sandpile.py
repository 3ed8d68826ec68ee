"""Heaps of sand slide down: ranks have strips of the ground, and grains that leave one fall on the next."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
side, heap, sweeps = (int(word) for word in sys.argv[1:])
rank, size = comm.rank, comm.size
begin, end = rank * side // size, (rank + 1) * side // size
count = end - begin

# two grains everywhere, and heaps along the diagonal, each larger than the one before
HEAPS = 5
heaps = [((2 * i + 1) * side // (2 * HEAPS), (i + 1) * heap) for i in range(HEAPS)]
ground = np.zeros((count + 2, side + 2), dtype=np.int64)
inside = ground[1:-1, 1:-1]
inside[:] = 2
for place, more in heaps:
    if begin <= place < end:
        inside[place - begin, place] += more
slides = np.zeros((count, side), dtype=np.int64)
lost = 0


def slide():
    """Places with four grains or more give one to each neighbour, as often as they can; tell whether any did."""
    falling = inside >> 2
    if not falling.any():
        return False
    np.add(slides, falling, out=slides)
    np.subtract(inside, 4 * falling, out=inside)
    ground[:-2, 1:-1] += falling
    ground[2:, 1:-1] += falling
    ground[1:-1, :-2] += falling
    ground[1:-1, 2:] += falling
    return True


above = rank - 1 if rank > 0 else MPI.PROC_NULL
below = rank + 1 if rank < size - 1 else MPI.PROC_NULL
upwards, downwards = np.empty(side, dtype=np.int64), np.empty(side, dtype=np.int64)
from_above, from_below = np.zeros(side, dtype=np.int64), np.zeros(side, dtype=np.int64)
moving = np.ones(1, dtype=bool)
while moving[0]:
    for _ in range(sweeps):
        if not slide():
            break

    # what has fallen beyond the edges of the strip
    upwards[:], downwards[:] = ground[0, 1:-1], ground[-1, 1:-1]
    if above == MPI.PROC_NULL:
        lost += int(upwards.sum())
    if below == MPI.PROC_NULL:
        lost += int(downwards.sum())
    lost += int(ground[:, 0].sum() + ground[:, -1].sum())
    ground[[0, -1]] = 0
    ground[:, [0, -1]] = 0
    comm.Sendrecv(upwards, dest=above, recvbuf=from_below, source=below)
    comm.Sendrecv(downwards, dest=below, recvbuf=from_above, source=above)
    inside[0] += from_above
    inside[-1] += from_below
    moving[0] = (inside >= 4).any()
    comm.Allreduce(MPI.IN_PLACE, moving, op=MPI.LOR)

grains = comm.allreduce(np.array([int(inside.sum()), lost]))
assert grains.sum() == 2 * side * side + sum(more for _, more in heaps)
parts = comm.gather((inside.copy(), slides), root=0)
if rank == 0:
    sand, slid = (np.concatenate(each) for each in zip(*parts))
    assert sand.min() >= 0 and sand.max() <= 3
    # the order of slides does not matter, so that the pattern is the same from both sides
    assert (sand == sand.T).all() and (slid == slid.T).all()
    around = np.pad(slid, 1)
    given = around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]
    at_first = np.full((side, side), 2)
    for place, more in heaps:
        at_first[place, place] += more
    assert (sand == at_first - 4 * slid + given).all()
