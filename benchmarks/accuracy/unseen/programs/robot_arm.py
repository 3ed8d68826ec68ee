"""A way for a robot's arm between obstacles: ranks try postures and moves, rank 0 finds a way, and all shorten it."""

import heapq
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
joints, obstacles, postures, near, rounds = (int(word) for word in sys.argv[1:])
REACH, RADIUS, FINE = 1.0, 0.1, 0.04


def world():
    """Round obstacles, none of which is near the foot of the arm, nor where it starts and stops."""
    random = np.random.default_rng(811)
    found = []
    while len(found) < obstacles:
        place = random.uniform(-REACH, REACH, size=2)
        if np.hypot(*place) > RADIUS * 2 and abs(place[1]) > RADIUS * 1.3:
            found.append(place)
    return np.array(found)


centres = world()
start, stop = np.zeros(joints), np.zeros(joints)
stop[0] = np.pi


def free(angles, radius):
    """Which postures, given by the angles of their joints, are as far from all obstacles as a radius."""
    heading = np.cumsum(angles, axis=1)
    limbs = np.stack([np.cos(heading), np.sin(heading)], axis=2) * (REACH / joints)
    ends = np.cumsum(limbs, axis=1)
    begins = ends - limbs
    offset = centres - begins[:, :, None]
    along = np.einsum("pjod,pjd->pjo", offset, limbs) / (REACH / joints) ** 2
    apart = offset - np.clip(along, 0, 1)[..., None] * limbs[:, :, None]
    return ((apart**2).sum(axis=3) > radius**2).all(axis=(1, 2))


def can_move(a, b, radius=RADIUS):
    steps = int(np.abs(b - a).max() / FINE) + 2
    return bool(free(a + np.linspace(0, 1, steps)[:, None] * (b - a), radius).all())


def length(way):
    return float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())


def share(total):
    return slice(comm.rank * total // comm.size, (comm.rank + 1) * total // comm.size)


# postures: everyone tries some, all get those that are free
random = np.random.default_rng(812)
tried = random.uniform(-1, 1, size=(postures, joints)) * ([np.pi] + [np.pi * 0.6] * (joints - 1))
mine = tried[share(postures)]
mine = np.ascontiguousarray(mine[free(mine, RADIUS)])
counts = np.array(comm.allgather(mine.size))
nodes = np.empty((counts.sum() // joints, joints))
comm.Allgatherv(mine, [nodes, counts])
nodes = np.concatenate([[start, stop], nodes])

# moves from one's share of them to the nearest ones
moves = []
for node in range(len(nodes))[share(len(nodes))]:
    far = np.linalg.norm(nodes - nodes[node], axis=1)
    for other in np.argsort(far, kind="stable")[1 : near + 1].tolist():
        if can_move(nodes[node], nodes[other]):
            moves.append((node, other, float(far[other])))
everything = comm.gather(moves, root=0)

# Dijkstra's shortest way
way = None
if comm.rank == 0:
    links = [[] for _ in nodes]
    for a, b, far in (move for some in everything for move in some):
        links[a].append((b, far))
        links[b].append((a, far))
    came, queue = {}, [(0.0, 0, 0)]
    while 1 not in came:
        gone, node, before = heapq.heappop(queue)
        if node not in came:
            came[node] = before
            for other, far in links[node]:
                heapq.heappush(queue, (gone + far, other, node))
    path = [1]
    while path[-1]:
        path.append(came[path[-1]])
    way = nodes[path[::-1]]
way = comm.bcast(way, root=0)
lengths = [length(way)]

# everyone tries short cuts; whoever has the shortest way tells it
random = np.random.default_rng([813, comm.rank])
for _ in range(rounds):
    best = way
    for _ in range(6):
        places = np.sort(random.uniform(0, len(best) - 1, size=2))
        (i, j), (s, t) = places.astype(int).tolist(), places % 1
        a = best[i] + s * (best[i + 1] - best[i])
        b = best[j] + t * (best[j + 1] - best[j])
        if i < j and can_move(a, b):
            best = np.concatenate([best[: i + 1], [a, b], best[j + 1 :]])
    shortest, winner = comm.allreduce((length(best), comm.rank), op=MPI.MINLOC)
    way = comm.bcast(best if comm.rank == winner else None, root=winner)
    lengths.append(shortest)

assert (way[0] == start).all() and (way[-1] == stop).all()
assert all(after <= before + 1e-9 for before, after in zip(lengths, lengths[1:]))
assert np.pi <= lengths[-1] < lengths[0] and abs(length(way) - lengths[-1]) < 1e-9
# a part of a move is looked at in other places than the whole
assert all(can_move(a, b, 0.8 * RADIUS) for a, b in zip(way, way[1:]))
assert not can_move(start, stop)
