"""Which friends belong together (Girvan and Newman): the friendship on most shortest paths ends, until circles part."""

import sys
from collections import deque

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
circles, people, within, between = (int(word) for word in sys.argv[1:])
total = circles * people

if comm.rank == 0:
    random = np.random.default_rng(711)
    pairs = set()
    for circle in range(circles):
        for place in range(people):
            # a ring of neighbours, and some others of the circle
            others = [(place + 1) % people, *random.choice(people, size=within, replace=False).tolist()]
            first = circle * people
            pairs.update((first + min(place, o), first + max(place, o)) for o in others if o != place)
    for _ in range(between):
        one, other = sorted(random.choice(circles, size=2, replace=False).tolist())
        pairs.add((one * people + int(random.integers(people)), other * people + int(random.integers(people))))
    known = sorted(pairs)
else:
    known = None
known = comm.bcast(known, root=0)

neighbours = [[] for _ in range(total)]
for number, (a, b) in enumerate(known):
    neighbours[a].append((b, number))
    neighbours[b].append((a, number))


def paths_from(source, load):
    """Add what share of the shortest paths from a person goes over each friendship (Brandes)."""
    distance, ways = [-1] * total, [0] * total
    distance[source], ways[source] = 0, 1
    order, queue, reached = [], deque([source]), []
    while queue:
        person = queue.popleft()
        order.append(person)
        further = distance[person] + 1
        for other, number in neighbours[person]:
            if distance[other] < 0:
                distance[other] = further
                queue.append(other)
            if distance[other] == further:
                ways[other] += ways[person]
                reached.append((person, other, number))
    share = [1.0] * total
    for person, other, number in reversed(reached):
        part = share[other] * ways[person] / ways[other]
        share[person] += part
        load[number] += part
    return sum(distance[person] for person in order), len(order)


def circle_of(person):
    found, queue = {person}, [person]
    while queue:
        for other, _ in neighbours[queue.pop()]:
            if other not in found:
                found.add(other)
                queue.append(other)
    return found


ended, parts = [], 1
while parts < circles:
    load = [0.0] * len(known)
    far = 0
    for source in range(comm.rank, total, comm.size):
        far += paths_from(source, load)[0]
    mine = np.array([*load, far])
    summed = np.empty_like(mine) if comm.rank == 0 else None
    comm.Reduce(mine, summed, op=MPI.SUM, root=0)
    worst = None
    if comm.rank == 0:
        # all paths together are as long as they load friendships
        assert abs(summed[:-1].sum() - summed[-1]) < 1e-6 * summed[-1]
        worst = int(np.argmax(np.round(summed[:-1], 6)))
    worst = comm.bcast(worst, root=0)
    a, b = known[worst]
    neighbours[a].remove((b, worst))
    neighbours[b].remove((a, worst))
    ended.append(worst)
    parts += b not in circle_of(a)

# what is left are the circles, and nearly all that ended were friendships between them
found = {frozenset(circle_of(person)) for person in range(comm.rank, total, comm.size)}
assert found <= {frozenset(range(begin, begin + people)) for begin in range(0, total, people)}
assert len(set().union(*comm.allgather(found))) == circles
apart = sum(known[number][0] // people != known[number][1] // people for number in ended)
assert apart == sum(a // people != b // people for a, b in known)
assert len(ended) < 1.5 * apart
