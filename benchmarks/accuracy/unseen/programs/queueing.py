"""Jobs in a shop with many machines, event by event: ranks have machines, and proceed by windows that are safe."""

import heapq
import math
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
stations, jobs, until, carriage = (int(word) for word in sys.argv[1:])
first, last = comm.rank * stations // comm.size, (comm.rank + 1) * stations // comm.size
owner = np.repeat(np.arange(comm.size), np.diff([rank * stations // comm.size for rank in range(comm.size + 1)]))
owner = owner.tolist()


def drawn(state):
    """A pseudo-random number between 0 and 1 of a job's own sequence, and the state after it."""
    state = (6364136223846793005 * state + 1442695040888963407) % 2**64
    return (state >> 11) / 2**53, state


# an event is a job that arrives: its time, number, station and random state
pending = []
for job in range(jobs):
    state = 2 * job + 1
    for _ in range(4):
        chance, state = drawn(state)
    station = int(chance * stations)
    if first <= station < last:
        chance, state = drawn(state)
        heapq.heappush(pending, (chance, job, station, state))

began = sum(event[0] for event in pending)
free = dict.fromkeys(range(first, last), 0.0)
busy, waits, carried, served, moved, windows = 0.0, 0.0, 0.0, 0, 0, 0
while True:
    earliest = comm.allreduce(pending[0][0] if pending else math.inf, op=MPI.MIN)
    if earliest >= until:
        break
    # whatever leaves from now on takes at least the carriage, so nothing arrives before
    safe = min(earliest + carriage, until)
    windows += 1
    leaving = [[] for _ in range(comm.size)]
    while pending and pending[0][0] < safe:
        time, job, station, state = heapq.heappop(pending)
        chance, state = drawn(state)
        work = -math.log(1 - chance)
        begin = max(time, free[station])
        free[station] = begin + work
        busy += work
        waits += begin - time
        served += 1
        # most jobs go on to a station nearby, some anywhere
        chance, state = drawn(state)
        if chance < 0.75:
            chance, state = drawn(state)
            to = (station + 1 + int(5 * chance)) % stations
        else:
            chance, state = drawn(state)
            to = int(chance * stations)
        chance, state = drawn(state)
        way = carriage * (1 + chance)
        carried += way
        event = (begin + work + way, job, to, state)
        if owner[to] == comm.rank:
            heapq.heappush(pending, event)
        else:
            leaving[owner[to]].append(event)
            moved += 1
    for part in comm.alltoall(leaving):
        for event in part:
            heapq.heappush(pending, event)

# no job is lost or doubled
present = comm.allgather([event[1] for event in pending])
assert sorted(job for part in present for job in part) == list(range(jobs))
served, moved = comm.allreduce(served), comm.allreduce(moved)
busy, waits = comm.allreduce(busy), comm.allreduce(waits)
assert windows <= until and 0 < moved < served
assert abs(busy / served - 1) < 0.1
# at all times a job is worked on, waits or is carried
began, ended = comm.allreduce(began), comm.allreduce(sum(event[0] for event in pending))
assert abs(busy + waits + comm.allreduce(carried) - (ended - began)) < 1e-6 * ended
