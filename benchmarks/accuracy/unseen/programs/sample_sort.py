"""Sample sort, several times: splitters from samples of all ranks, one exchange of keys, a sort of those received."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, times = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(comm.rank)

for _ in range(times):
    keys = np.sort(rng.normal(size=n) ** 3)
    samples = np.empty(comm.size * 32)
    comm.Allgather(np.ascontiguousarray(keys[:: n // 32][:32]), samples)
    splitters = np.sort(samples)[32::32][: comm.size - 1]

    ends = np.append(np.searchsorted(keys, splitters), n)
    send = np.diff(ends, prepend=0)
    receive = np.empty_like(send)
    comm.Alltoall(send, receive)
    mine = np.empty(receive.sum())
    comm.Alltoallv([keys, send], [mine, receive])
    mine.sort()

    # check: sorted here, larger than the keys of the rank before, and none is lost
    last = np.array(mine[-1] if len(mine) else -np.inf)
    before = np.array(-np.inf)
    comm.Exscan(last, before, op=MPI.MAX)
    assert np.all(np.diff(mine) >= 0) and (comm.rank == 0 or before <= mine[0])
    assert comm.allreduce(len(mine)) == n * comm.size
