"""Distances of a linked list's elements from its end, by pointer jumping: each asks for its successor's successor."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n = int(sys.argv[1])
size, rank = comm.size, comm.rank
begins = np.arange(size + 1) * n // size
begin, end = begins[rank], begins[rank + 1]

order = np.random.default_rng(8).permutation(n)
successor = np.empty(n, dtype=np.int64)
successor[order[:-1]] = order[1:]
successor[order[-1]] = order[-1]
successor = successor[begin:end].copy()
distance = (successor != np.arange(begin, end)).astype(np.int64)
tail = int(order[-1])

jumps = 0
while comm.allreduce(int((successor != tail).sum())):
    # elements that have not reached the end yet ask the owners of their successors
    asking = np.flatnonzero(successor != tail)
    goal = np.searchsorted(begins, successor[asking], side="right") - 1
    asking = asking[np.argsort(goal, kind="stable")]
    asked = np.bincount(goal, minlength=size)
    wanted = np.empty_like(asked)
    comm.Alltoall(asked, wanted)
    questions = np.empty(wanted.sum(), dtype=np.int64)
    comm.Alltoallv([successor[asking], asked], [questions, wanted])

    # answers arrive as pairs, and are used in the order of arrival
    firsts = np.concatenate([[0], np.cumsum(asked)])
    answers = np.empty((len(asking), 2), dtype=np.int64)
    others = [other for other in range(size) if asked[other]]
    arrivals = [comm.Irecv(answers[firsts[other] : firsts[other + 1]], source=other) for other in others]
    replies = np.column_stack([distance[questions - begin], successor[questions - begin]])
    parts = np.split(replies, np.cumsum(wanted)[:-1])
    departures = [comm.Isend(part, dest=other) for other, part in enumerate(parts) if len(part)]
    for _ in others:
        other = others[MPI.Request.Waitany(arrivals)]
        here = slice(firsts[other], firsts[other + 1])
        distance[asking[here]] += answers[here, 0]
        successor[asking[here]] = answers[here, 1]
    MPI.Request.Waitall(departures)
    jumps += 1

place = np.empty(n, dtype=np.int64)
place[order] = np.arange(n)
assert (distance == n - 1 - place[begin:end]).all()
assert 2**jumps >= n - 1
