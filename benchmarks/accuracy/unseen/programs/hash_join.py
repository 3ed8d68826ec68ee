"""A join of two tables of keys and values: rows go to the rank given by their key's hash, which finds the pairs."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, keys, times = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
size = comm.size
rng = np.random.default_rng(comm.rank)


def dealt(table):
    """The rows of all ranks whose keys belong to this rank."""
    owner = (table[:, 0] * 2654435761 % 2**32) * size // 2**32
    table = table[np.argsort(owner, kind="stable")]
    send = np.bincount(owner, minlength=size) * 2
    receive = np.array(comm.alltoall([int(count) for count in send]))
    came = np.empty((receive.sum() // 2, 2), np.int64)
    comm.Alltoallv([table, send], [came, receive])
    return came


for _ in range(times):
    left = np.column_stack([rng.integers(0, keys, n), rng.integers(0, 100, n)])
    right = np.column_stack([rng.integers(0, keys, n // 2), rng.integers(0, 100, n // 2)])
    here, there = dealt(left), dealt(right)
    there = there[np.argsort(there[:, 0], kind="stable")]
    low = np.searchsorted(there[:, 0], here[:, 0])
    high = np.searchsorted(there[:, 0], here[:, 0], side="right")
    sums = np.append(0, np.cumsum(there[:, 1]))
    product = int((here[:, 1] * (sums[high] - sums[low])).sum())
    pairs = comm.reduce(int((high - low).sum()))
    total = comm.reduce(product)

    # check against the sums of each key in either table
    of_keys = np.stack([np.bincount(each[:, 0], each[:, 1], keys) for each in (left, right)])
    numbers = np.stack([np.bincount(each[:, 0], minlength=keys) for each in (left, right)]).astype(float)
    everywhere = np.empty((2, 2, keys))
    comm.Allreduce(np.stack([of_keys, numbers]), everywhere)
    if comm.rank == 0:
        assert total == int((everywhere[0, 0] * everywhere[0, 1]).sum())
        assert pairs == int((everywhere[1, 0] * everywhere[1, 1]).sum())
