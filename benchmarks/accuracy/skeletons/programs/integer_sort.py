"""Rank integers by buckets: a histogram by Allreduce, counts by Alltoall, keys by Alltoallv, as in NPB's IS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from mpi4py import MPI
from suite import main, total

BUCKETS = 1024


@dataclass(frozen=True, slots=True)
class Size:
    """Number of keys per rank, their upper bound, and number of rankings."""

    keys: int
    largest: int
    iterations: int


SIZES = {
    "S": lambda iterations: Size(1 << 13, 1 << 16, iterations or 25),
    "B": lambda iterations: Size(1_600_000, 1 << 21, iterations or 22),
}


def owners(comm: MPI.Intracomm, counted: np.ndarray) -> np.ndarray:
    """Return the owner of each bucket: ranks own consecutive buckets, and get about the same number of keys."""
    everywhere = np.empty_like(counted)
    comm.Allreduce(counted, everywhere)
    before = np.cumsum(everywhere) - everywhere
    owner: np.ndarray = before * comm.size // everywhere.sum()
    return owner


def share(comm: MPI.Intracomm, size: Size, keys: np.ndarray) -> np.ndarray:
    """Exchange keys; return those that belong to this rank."""
    bucket = (keys // (size.largest // BUCKETS)).astype(np.uint16)
    counted = np.bincount(bucket, minlength=BUCKETS)
    sent = np.bincount(owners(comm, counted), counted, comm.size).astype(np.int64)
    outgoing = keys[np.argsort(bucket, kind="stable")]
    received = np.empty_like(sent)
    comm.Alltoall(sent, received)
    mine = np.empty(received.sum(), np.int32)
    comm.Alltoallv([outgoing, sent], [mine, received])
    return mine


def solve(comm: MPI.Intracomm, size: Size) -> tuple[float, float]:
    """Return the final number of keys that are lost or out of order."""
    random = np.random.default_rng([comm.rank, 271828])
    # Keys are means of four random numbers: the middle of the range is full, and its ends are empty.
    keys = (random.integers(0, size.largest, (4, size.keys), np.int32).sum(axis=0) // 4).astype(np.int32)
    mine = keys
    for iteration in range(size.iterations):
        keys[iteration], keys[-1 - iteration] = iteration, size.largest - 1 - iteration
        received = share(comm, size, keys)
        mine = received[np.argsort(received, kind="stable")]
    lost = abs(total(comm, len(mine)) - total(comm, len(keys))) + abs(total(comm, mine.sum()) - total(comm, keys.sum()))
    ends = np.empty((comm.size, 2), np.int32)
    comm.Allgather(mine[[0, -1]], ends)
    wrong = (np.diff(mine) < 0).sum() + (ends[1:, 0] < ends[:-1, 1]).sum()
    return lost + total(comm, wrong), 0.0


if __name__ == "__main__":
    main(__file__, SIZES, solve)
