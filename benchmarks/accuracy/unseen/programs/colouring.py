"""Colour a graph as Jones and Plassmann do: a vertex heavier than its neighbours chooses, and sends its colour."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, degree, reach = (int(word) for word in sys.argv[1:])
begins = np.arange(comm.size + 1) * n // comm.size
begin, end = begins[comm.rank], begins[comm.rank + 1]

# the whole graph from one seed, of which only the edges that begin here are kept
random = np.random.default_rng(12)
weight = random.permutation(n)
one = np.repeat(np.arange(n), degree // 2)
other = (one + random.integers(1, reach, len(one))) % n
one, other = np.concatenate([one, other]), np.concatenate([other, one])
mine = (one >= begin) & (one < end)
one, other = one[mine], other[mine]

# vertices at the border: which of these are needed elsewhere, and which remote ones are needed here
owner = np.searchsorted(begins, other, side="right") - 1
near = [int(rank) for rank in np.unique(owner) if rank != comm.rank]
given = [np.unique(one[owner == rank]) for rank in near]
needed = [np.unique(other[owner == rank]) for rank in near]
graph = comm.Create_dist_graph_adjacent(near, near)
leaving, coming = np.concatenate([[], *given]).astype(int), np.concatenate([[], *needed]).astype(int)
departures, arrivals = [len(part) for part in given], [len(part) for part in needed]

colour = np.full(n, -1)
left, rounds = n, 0
while left:
    waits = (colour[other] < 0) & (weight[other] > weight[one])
    blocked = np.bincount(one[waits] - begin, minlength=end - begin) > 0
    ready = (colour[begin:end] < 0) & ~blocked
    used = np.zeros(end - begin, dtype=np.int64)
    known = ready[one - begin] & (colour[other] >= 0)
    np.bitwise_or.at(used, one[known] - begin, 1 << colour[other[known]])
    lowest = np.log2((~used & (used + 1)).astype(float)).astype(int)
    colour[begin:end][ready] = lowest[ready]
    got = np.empty(len(coming), dtype=colour.dtype)
    graph.Neighbor_alltoallv([colour[leaving], departures], [got, arrivals])
    colour[coming] = got
    left = comm.allreduce(int((colour[begin:end] < 0).sum()))
    rounds += 1
graph.Free()

assert (colour[one] >= 0).all()
assert (colour[one] != colour[other]).all()
most = comm.allreduce(int(np.bincount(one - begin).max()), op=MPI.MAX)
assert comm.allreduce(int(colour[begin:end].max()), op=MPI.MAX) <= most
