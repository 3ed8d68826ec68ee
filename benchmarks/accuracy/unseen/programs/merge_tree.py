"""Numbers are sorted locally and merged up a binomial tree; the root broadcasts those in the middle."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
count, rounds = int(sys.argv[1]), int(sys.argv[2])

generator = np.random.default_rng(comm.rank)
for _ in range(rounds):
    numbers = np.sort(generator.random(count))
    step = 1
    while step < comm.size:
        if comm.rank % (2 * step):
            comm.Send(numbers, dest=comm.rank - step)
            break
        if comm.rank + step < comm.size:
            status = MPI.Status()
            comm.Probe(source=comm.rank + step, status=status)
            others = np.empty(status.Get_count(MPI.DOUBLE))
            comm.Recv(others, source=comm.rank + step)
            numbers = np.sort(np.concatenate([numbers, others]), kind="stable")
        step *= 2
    median = comm.bcast(float(np.median(numbers)) if comm.rank == 0 else None)
    assert 0.4 < median < 0.6
