"""Sort all suffixes of a text by doubling their prefixes, and find the longest passage that occurs twice."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, passage = int(sys.argv[1]), int(sys.argv[2])
size, rank = comm.size, comm.rank
text = np.random.default_rng(3).integers(0, 4, n)
text[n // 2 : n // 2 + passage] = text[n // 8 : n // 8 + passage]
begins = np.arange(size + 1) * n // size
begin, end = begins[rank], begins[rank + 1]
places = np.arange(begin, end)


def owner(places):
    return np.searchsorted(begins, places, side="right") - 1


def exchange(pairs, goal):
    """Send pairs of numbers to their ranks."""
    send = 2 * np.bincount(goal, minlength=size)
    receive = np.empty_like(send)
    comm.Alltoall(send, receive)
    came = np.empty((receive.sum() // 2, 2), dtype=np.int64)
    comm.Alltoallv([pairs[np.argsort(goal, kind="stable")], send], [came, receive])
    return came


def sort(pairs):
    """Sort pairs over all ranks; those with the same first number are on the same rank."""
    sample = np.sort(pairs[:, 0])[:: max(len(pairs) // 50, 1)]
    samples = np.sort(np.concatenate(comm.allgather(sample)))
    splitters = samples[np.arange(1, size) * len(samples) // size]
    pairs = exchange(pairs, np.searchsorted(splitters, pairs[:, 0], side="right"))
    return pairs[np.argsort(pairs[:, 0], kind="stable")]


# the names of suffixes give the order of their first letters: one letter, then two, four, ...
names, known, distinct = text[begin:end].copy(), 1, 0
while distinct < n:
    used = places >= known
    came = exchange(np.column_stack([places - known, names])[used], owner(places[used] - known))
    further = np.full(end - begin, -1)
    further[came[:, 0] - begin] = came[:, 1]
    pairs = sort(np.column_stack([names * (n + 1) + further + 1, places]))
    new = np.diff(pairs[:, 0], prepend=-1) > 0
    before = comm.exscan(len(pairs)) or 0
    numbers = before + np.maximum.accumulate(np.where(new, np.arange(len(pairs)), 0))
    distinct = comm.allreduce(int(new.sum()))
    came = exchange(np.column_stack([pairs[:, 1], numbers]), owner(pairs[:, 1]))
    names[came[:, 0] - begin] = came[:, 1]
    known *= 2

# check each suffix against the one before it: the number of shared letters, and that the next one is larger
order = pairs[:, 1]
lasts = [last for part in comm.allgather(order[-1:])[:rank] for last in part]
order = np.concatenate([np.array(lasts[-1:], dtype=int), order])
one, other = order[:-1], order[1:]
padded = np.append(text, np.full(n, -1))
shared = np.zeros(len(one), dtype=int)
same = np.arange(len(one))
while len(same):
    same = same[(padded[one[same] + shared[same]] == padded[other[same] + shared[same]])]
    shared[same] += 1
assert (padded[one + shared] < padded[other + shared]).all()
assert comm.allreduce(int(shared.max(initial=0)), op=MPI.MAX) >= passage
assert comm.allreduce(len(one)) == n - 1
