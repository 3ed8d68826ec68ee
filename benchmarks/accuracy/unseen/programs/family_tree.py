"""A tree of species from their distances, by neighbour joining: ranks have rows, and agree on the next two to join."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n = int(sys.argv[1])
begin, end = comm.rank * n // comm.size, (comm.rank + 1) * n // comm.size
owner = np.repeat(
    np.arange(comm.size), [(rank + 1) * n // comm.size - rank * n // comm.size for rank in range(comm.size)]
)


def distances(joins):
    """Distances of species in a tree that is given by what joins what, and the lengths of both branches."""
    depth, result = np.zeros(n), np.zeros((n, n))
    members = {each: np.array([each]) for each in range(n)}
    for one, other, length, other_length in joins:
        left, right = members[one], members.pop(other)
        depth[left] += length
        depth[right] += other_length
        between = depth[left][:, None] + depth[right]
        result[np.ix_(left, right)] = between
        result[np.ix_(right, left)] = between.T
        members[one] = np.concatenate([left, right])
    return result


# how it was; only the distances are known
random = np.random.default_rng(141)
alive, true_joins = list(range(n)), []
while len(alive) > 1:
    other = alive.pop(int(random.integers(len(alive))))
    one = alive[int(random.integers(len(alive)))]
    true_joins.append((one, other, *random.uniform(0.1, 1.0, size=2)))
truth = distances(true_joins)[begin:end]
rows = truth.copy()

active = np.arange(n)
sums = np.zeros(n)
sums[begin:end] = rows.sum(axis=1)
comm.Allreduce(MPI.IN_PLACE, sums)
place_type = np.dtype([("value", np.float64), ("place", np.int32)], align=True)
nearest, agreed = np.empty(1, dtype=place_type), np.empty(1, dtype=place_type)
pair = np.empty((2, n))
joins = []
while len(active) > 2:
    # the two that are near to each other, and far from all others
    left = active[(active >= begin) & (active < end)]
    nearest[0] = np.inf, n * n
    if len(left):
        score = (len(active) - 2) * rows[np.ix_(left - begin, active)]
        score -= sums[left][:, None]
        score -= sums[active]
        score[np.arange(len(left)), np.searchsorted(active, left)] = np.inf
        best, column = divmod(int(score.argmin()), len(active))
        nearest[0] = score[best, column], left[best] * n + active[column]
    comm.Allreduce([nearest, 1, MPI.DOUBLE_INT], [agreed, 1, MPI.DOUBLE_INT], op=MPI.MINLOC)
    one, other = sorted(divmod(int(agreed[0]["place"]), n))
    for line, each in zip(pair, (one, other)):
        if owner[each] == comm.rank:
            line[:] = rows[each - begin]
        comm.Bcast(line, root=owner[each])

    # what has joined takes the place of the first
    between = pair[0, other]
    length = between / 2 + (sums[one] - sums[other]) / (2 * (len(active) - 2))
    joins.append((one, other, length, between - length))
    new = (pair[0] + pair[1] - between) / 2
    new[one] = 0
    active = active[active != other]
    sums[active] += new[active] - pair[0, active] - pair[1, active]
    sums[one] = new[active].sum()
    rows[:, one] = new[begin:end]
    if begin <= one < end:
        rows[one - begin] = new

one, other = active
last = np.array([rows[one - begin, other]]) if owner[one] == comm.rank else np.empty(1)
comm.Bcast(last, root=owner[one])
joins.append((int(one), int(other), last[0], 0.0))

# the tree has the same distances
assert sorted(other for _, other, *_ in joins) == [each for each in range(n) if each != one]
assert np.abs(distances(joins)[begin:end] - truth).max(initial=0) < 1e-6
total, true_total = (sum(join[2] + join[3] for join in each) for each in (joins, true_joins))
assert abs(total - true_total) < 1e-6 * true_total
assert comm.allreduce(joins[-1][2], op=MPI.MAX) == joins[-1][2]
