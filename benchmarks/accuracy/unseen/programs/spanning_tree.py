"""The cheapest network that joins all places, by Boruvka's rounds: each group of places takes its cheapest way out."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
places, degree = int(sys.argv[1]), int(sys.argv[2])
roads = places * degree
begin, end = comm.rank * roads // comm.size, (comm.rank + 1) * roads // comm.size
NONE = np.iinfo(np.int64).max

# each place in turn has a road to one not far off; the first roads form a ring, so that everything can be joined
number = np.arange(begin, end)
random = np.random.default_rng(90)
jumps, costs = random.integers(1, 1 + places // 8, roads), random.integers(1, 2**20, roads)
ring = int(costs[:places].sum() - costs[:places].max())
jumps, costs = jumps[begin:end], costs[begin:end]
one = number % places
other = (one + np.where(number < places, 1, jumps)) % places
# compare by cost first, then by the number of the road, so that no two keys are equal
keys = costs.astype(np.int64) << 32 | number

group = np.arange(places)
groups, cost, taken, rounds = places, 0, 0, 0
while groups > 1:
    a, b = group[one], group[other]
    leading = a != b
    # roads within a group are never needed again
    one, other, keys, a, b = (values[leading] for values in (one, other, keys, a, b))
    best = np.full(groups, NONE)
    np.minimum.at(best, a, keys)
    np.minimum.at(best, b, keys)
    comm.Allreduce(MPI.IN_PLACE, best, op=MPI.MIN)

    # the owner of the road knows its destination
    goal = np.full(groups, -1)
    for here, there in ((a, b), (b, a)):
        mine = keys == best[here]
        goal[here[mine]] = there[mine]
    comm.Allreduce(MPI.IN_PLACE, goal, op=MPI.MAX)

    # of two groups that chose the same road, the one with the smaller number is the root; others follow until all agree
    everyone = np.arange(groups)
    mutual = goal[goal] == everyone
    goal = np.where(mutual & (everyone < goal), everyone, goal)
    chosen = best[goal != everyone]
    cost += int((chosen >> 32).sum())
    taken += len(chosen)
    while not (goal[goal] == goal).all():
        goal = goal[goal]
    roots, goal = np.unique(goal, return_inverse=True)
    group = goal[group]
    groups = len(roots)
    rounds += 1

assert taken == places - 1
assert rounds <= np.ceil(np.log2(places))
assert 0 < cost < ring
assert comm.allgather(cost) == [cost] * comm.size
