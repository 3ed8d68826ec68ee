"""Friends of friends who are friends: triangles of a network, open pairs of which are sent to who can close them."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
people, degree, parts = (int(word) for word in sys.argv[1:])


def exchange(owner, *columns):
    """Send each entry to its owner."""
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner, minlength=comm.size)
    arriving = np.empty(comm.size, dtype=np.int64)
    comm.Alltoall(counts, arriving)
    result = []
    for column in columns:
        got = np.empty(arriving.sum(), dtype=np.int64)
        comm.Alltoallv([column[order], counts], [got, arriving])
        result.append(got)
    return result


# some people are known to many; everybody reads a part of the file
edges = people * degree // 2
mine = (comm.rank + 1) * edges // comm.size - comm.rank * edges // comm.size
random = np.random.default_rng([81, comm.rank])
one = (people * random.random(mine) ** 2).astype(np.int64)
other = (one + (people * random.random(mine) ** 5).astype(np.int64)) % people
other, one = np.maximum(one, other), np.minimum(one, other)
kept = one != other
one, other = one[kept], other[kept]

# who is on either side learns of it; twice is as good as once
one, other = exchange(one % comm.size, one, other)
code = np.unique(one * people + other)
one, other = code // people, code % people
degrees = np.bincount(one, minlength=people) + np.bincount(other, minlength=people)
comm.Allreduce(MPI.IN_PLACE, degrees)

# an edge is kept by the end that knows fewer
swap = (degrees[one] > degrees[other]) | ((degrees[one] == degrees[other]) & (one > other))
one, other = np.where(swap, other, one), np.where(swap, one, other)
one, other = exchange(one % comm.size, one, other)
code = np.sort(one * people + other)
one, other = code // people, code % people
starts = np.flatnonzero(np.r_[True, one[1:] != one[:-1]]) if len(one) else np.empty(0, dtype=int)
ends = np.r_[starts[1:], len(one)]


def pairs(groups):
    """All pairs of friends of some people, the one who knows fewer first."""
    found = [np.empty((3, 0), dtype=np.int64)]
    for begin, end in groups:
        friends = other[begin:end]
        friends = friends[np.lexsort((friends, degrees[friends]))]
        i, j = np.triu_indices(len(friends), 1)
        found.append(np.array([np.full(len(i), one[begin]), friends[i], friends[j]]))
    return np.concatenate(found, axis=1)


def closed(first, second):
    """Which pairs are edges that are kept here."""
    wanted = first * people + second
    at = np.searchsorted(code, wanted)
    return code[np.minimum(at, len(code) - 1)] == wanted if len(code) else np.zeros(len(first), dtype=bool)


total, corners = 0, np.zeros(people, dtype=np.int64)
groups = list(zip(starts, ends))
for part in range(parts):
    middle, first, second = pairs(groups[part::parts])
    middle, first, second = exchange(first % comm.size, middle, first, second)
    hits = closed(first, second)
    total += int(hits.sum())
    for column in (middle, first, second):
        corners += np.bincount(column[hits], minlength=people)

total = comm.allreduce(total)
comm.Allreduce(MPI.IN_PLACE, corners)
assert corners.sum() == 3 * total > 0
assert comm.allreduce(len(code)) * 2 == degrees.sum()

# count again for some people: edges among those whom they know
for person in [int(corners.argmax()), *range(3, people, people // 5)]:
    friends = np.concatenate(comm.allgather(np.concatenate([other[one == person], one[other == person]])))
    assert len(friends) == degrees[person]
    assert comm.allreduce(int((np.isin(one, friends) & np.isin(other, friends)).sum())) == corners[person]
