"""Odd-even transposition sort: neighbours exchange whole blocks; one keeps the smaller half, the other the larger."""

import sys

import numpy as np
from mpi4py import MPI


def sort(comm, block):
    rank, size = comm.rank, comm.size
    block = np.sort(block)
    theirs = np.empty_like(block)
    for phase in range(size):
        if phase % 2 == rank % 2:
            partner = rank + 1
        else:
            partner = rank - 1
        if partner < 0 or partner >= size:
            continue
        comm.Sendrecv(block, partner, phase, theirs, partner, phase)
        both = np.sort(np.concatenate((block, theirs)))
        block = both[: len(block)] if rank < partner else both[-len(block) :]
        block = block.copy()
    return block


def main():
    comm = MPI.COMM_WORLD
    n, repeat = int(sys.argv[1]), int(sys.argv[2])
    for trial in range(repeat):
        rng = np.random.default_rng([trial, comm.rank])
        data = rng.lognormal(mean=comm.size - comm.rank, size=n)
        done = sort(comm, data)
        assert np.all(done[1:] >= done[:-1])
        before, after = comm.allreduce(data.sum()), comm.allreduce(done.sum())
        assert abs(after - before) < 1e-9 * before
        lowest = comm.gather(done[0], root=0)
        highest = comm.gather(done[-1], root=0)
        if comm.rank == 0:
            assert all(high <= low for high, low in zip(highest[:-1], lowest[1:]))


if __name__ == "__main__":
    main()
