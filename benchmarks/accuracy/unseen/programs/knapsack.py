"""Branch and bound for the knapsack problem: a rank that finds a better filling tells the others, which poll."""

import sys

import numpy as np
from mpi4py import MPI

BETTER, DEPTH = 7, 6
world = MPI.COMM_WORLD
items, every = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(5)
weights = rng.integers(200, 1000, items)
values = weights + rng.integers(90, 110, items)
order = np.argsort(-values / weights)
weights, values = weights[order].tolist(), values[order].tolist()
capacity = sum(weights) // 2
best, heard = 0, 0
told = [0] * world.size
sent = []


def bound(item, room, value):
    for i in range(item, items):
        if weights[i] > room:
            return value + values[i] * room // weights[i]
        room -= weights[i]
        value += values[i]
    return value


def hear():
    global best, heard
    while world.Iprobe(source=MPI.ANY_SOURCE, tag=BETTER):
        best = max(best, world.recv(source=MPI.ANY_SOURCE, tag=BETTER))
        heard += 1


def tell():
    for other in range(world.size):
        if other != world.rank:
            sent.append(world.isend(best, dest=other, tag=BETTER))
            told[other] += 1


# the choices of the first items are distributed over the ranks
stack = []
for number in reversed(range(world.rank, 2**DEPTH, world.size)):
    taken = [i for i in range(DEPTH) if not number >> i & 1]
    room = capacity - sum(weights[i] for i in taken)
    if room >= 0:
        stack.append((DEPTH, room, sum(values[i] for i in taken)))
visited = 0
while stack:
    item, room, value = stack.pop()
    visited += 1
    if visited % every == 0:
        hear()
    if value > best:
        best = value
        tell()
    if item == items or bound(item, room, value) <= best:
        continue
    stack.append((item + 1, room, value))
    if weights[item] <= room:
        stack.append((item + 1, room - weights[item], value + values[item]))

# receive the messages that are still under way
expected = sum(world.alltoall(told))
while heard < expected:
    hear()
MPI.Request.waitall(sent)

most = np.zeros(capacity + 1, int)
if world.rank == 0:
    for weight, value in zip(weights, values):
        most[weight:] = np.maximum(most[weight:], most[:-weight] + value)
assert best == world.bcast(int(most[-1]))
