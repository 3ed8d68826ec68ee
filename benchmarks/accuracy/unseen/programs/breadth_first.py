"""Breadth-first search in a random graph: each rank has its own vertices, and sends those it finds to their owners."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, degree, roots = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
size, rank = comm.size, comm.rank

# the same edges on all ranks, of which each keeps those from its own vertices
rng = np.random.default_rng(7)
ends = rng.integers(0, n, (n * degree // 2, 2))
ends = np.concatenate([ends, ends[:, ::-1]])
ends = ends[ends[:, 0] % size == rank]
ends = ends[np.argsort(ends[:, 0], kind="stable")]
first = np.searchsorted(ends[:, 0], np.arange(rank, n, size))
last = np.searchsorted(ends[:, 0], np.arange(rank, n, size), side="right")
targets = np.ascontiguousarray(ends[:, 1])


def neighbours(vertices):
    """The ends of all edges from some of this rank's vertices."""
    if not len(vertices):
        return targets[:0]
    at = vertices // size
    return np.unique(np.concatenate([targets[a:b] for a, b in zip(first[at], last[at])]))


for root in range(roots):
    level = np.full(len(range(rank, n, size)), -1)
    frontier = np.array([root] if root % size == rank else [], np.int64)
    depth = 0
    while True:
        level[frontier // size] = depth
        if not comm.allreduce(len(frontier)):
            break
        found = neighbours(frontier)
        found = found[np.argsort(found % size, kind="stable")]
        send = np.bincount(found % size, minlength=size)
        receive = np.empty_like(send)
        comm.Alltoall(send, receive)
        came = np.empty(receive.sum(), np.int64)
        comm.Alltoallv([found, send], [came, receive])
        came = np.unique(came)
        frontier = came[level[came // size] < 0]
        depth += 1

    # no edge spans more than one level
    whole = np.empty(n, np.int64)
    for other, part in enumerate(comm.allgather(level)):
        whole[other::size] = part
    here, there = whole[ends[:, 0]], whole[ends[:, 1]]
    assert np.abs(here - there).max() <= 1 and whole[root] == 0
