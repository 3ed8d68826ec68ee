"""Shortest ways from one place to all others, by delta-stepping: places are settled in order of ranges of distance."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
places, degree, longest, delta = (int(word) for word in sys.argv[1:])
ends = np.arange(comm.size + 1) * places // comm.size
begin, end = ends[comm.rank], ends[comm.rank + 1]
FAR = np.iinfo(np.int64).max // 4

# one-way streets from each place; the first leads to the next place, so that all can be reached
random = np.random.default_rng(60)
goals = random.integers(0, places, (places, degree))[begin:end]
lengths = random.integers(1, longest, (places, degree))[begin:end]
goals[:, 0] = (np.arange(begin, end) + 1) % places
short = lengths <= delta

distance = np.full(end - begin, FAR)
done_at = np.full(end - begin, FAR)
if begin <= 0 < end:
    distance[0] = 0


def tell(goal, reached):
    """Send distances at which places can be reached to their owners, which keep the least."""
    # only the best of several offers for the same place
    order = np.lexsort((reached, goal))
    goal, reached = goal[order], reached[order]
    first = np.ones(len(goal), dtype=bool)
    first[1:] = goal[1:] != goal[:-1]
    offers = np.stack([goal[first], reached[first]], axis=1)
    sent = np.diff(np.searchsorted(offers[:, 0], ends))
    received = np.empty_like(sent)
    comm.Alltoall(sent, received)
    heard = np.empty((received.sum(), 2), dtype=np.int64)
    comm.Alltoallv([offers, 2 * sent], [heard, 2 * received])
    np.minimum.at(distance, heard[:, 0] - begin, heard[:, 1])


def along(which, streets):
    """Follow some of the streets from places here."""
    chosen = streets[which]
    tell(goals[which][chosen], (distance[which][:, None] + lengths[which])[chosen])


ranges, rounds = 0, 0
while True:
    open_ones = distance[distance < done_at]
    number = comm.allreduce(int(open_ones.min()) // delta if len(open_ones) else FAR, op=MPI.MIN)
    if number == FAR:
        break
    limit = (number + 1) * delta
    settled = np.zeros(end - begin, dtype=bool)
    # short streets may lead to places within the same range, which are followed again
    while True:
        ready = (distance < limit) & (distance < done_at)
        more = np.array([ready.any()])
        comm.Allreduce(MPI.IN_PLACE, more, op=MPI.LOR)
        if not more[0]:
            break
        settled |= ready
        which = np.flatnonzero(ready)
        done_at[which] = distance[which]
        along(which, short)
        rounds += 1
    along(np.flatnonzero(settled), ~short)
    ranges += 1

# no street is a short cut, and some street leads to each place at just its distance
everywhere = np.empty(places, dtype=np.int64)
comm.Allgatherv(distance, [everywhere, np.diff(ends)])
reached = distance[:, None] + lengths
assert (everywhere[goals] <= reached).all()
explained = np.zeros(places, dtype=np.int8)
explained[goals[everywhere[goals] == reached]] = 1
comm.Allreduce(MPI.IN_PLACE, explained, op=MPI.MAX)
assert everywhere[0] == 0 and explained[1:].all()
assert rounds >= ranges > everywhere.max() // delta // 2
