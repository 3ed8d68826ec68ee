"""Sort integers by buckets: a histogram by allreduce, keys by alltoallv, as in NAS IS."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
keys_here, rounds = int(sys.argv[1]), int(sys.argv[2])
largest = 1 << 20
random = np.random.default_rng(comm.rank)

for _ in range(rounds):
    # Sums of uniform numbers: the middle of the range is dense and its ends are sparse, so ranks get unequal shares.
    keys = (random.integers(0, largest, (4, keys_here)).sum(axis=0) // 4).astype(np.int32)
    buckets = 1024
    counted = np.bincount(keys * buckets // largest, minlength=buckets)
    total = np.empty_like(counted)
    comm.Allreduce(counted, total)
    owner = np.minimum(np.cumsum(total) * comm.size // (total.sum() + 1), comm.size - 1)
    belongs = owner[keys * buckets // largest]
    order = np.argsort(belongs, kind="stable")
    outgoing = keys[order]
    sent = np.bincount(belongs, minlength=comm.size)
    received = np.empty_like(sent)
    comm.Alltoall(sent, received)
    mine = np.empty(received.sum(), np.int32)
    comm.Alltoallv([outgoing, sent], [mine, received])
    mine.sort()

assert comm.allreduce(len(mine)) == keys_here * comm.size
edges = comm.allgather((int(mine[0]), int(mine[-1])))
assert all(low[1] <= high[0] for low, high in zip(edges, edges[1:], strict=False))
