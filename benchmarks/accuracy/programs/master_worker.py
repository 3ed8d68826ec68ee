"""A tall matrix times a power of a square one; the master hands out blocks to idle workers.

Control flow depends on the ranks' speed.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from section import measure

ROWS, TALL, POWER, STOP = 20, 12, 16, 0


def serve(comm: MPI.Intracomm, left: np.ndarray, product: np.ndarray) -> None:
    """Hand out blocks of rows; block i travels with tag i + 1."""
    blocks = len(left) // ROWS
    part, status, next_block = np.empty((ROWS, left.shape[1])), MPI.Status(), 0

    def hand_out(worker: int) -> None:
        nonlocal next_block
        if next_block < blocks:
            comm.Send(left[next_block * ROWS : (next_block + 1) * ROWS], dest=worker, tag=next_block + 1)
        else:
            comm.Send(left[:0], dest=worker, tag=STOP)
        next_block += 1

    for worker in range(1, comm.size):
        hand_out(worker)
    for _ in range(blocks):
        comm.Recv(part, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        product[(status.tag - 1) * ROWS : status.tag * ROWS] = part
        hand_out(status.source)


def work(comm: MPI.Intracomm, right: np.ndarray) -> None:
    """Multiply blocks until told to stop."""
    part, status = np.empty((ROWS, len(right))), MPI.Status()
    while True:
        comm.Recv(part, source=0, tag=MPI.ANY_TAG, status=status)
        if status.tag == STOP:
            return
        comm.Send(times(part, right), dest=0, tag=status.tag)


def times(rows: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Return the rows multiplied by the power of a square matrix."""
    for _ in range(POWER):
        rows = rows @ square
    return rows


def multiply(comm: MPI.Intracomm, n: int) -> float:
    """Multiply; return the error of one row."""
    if n % ROWS:
        sys.exit(f"size must be a multiple of {ROWS}, got {n}")
    random = np.random.default_rng(0)
    left, right = random.random((TALL * n, n)), random.random((n, n)) * 2 / n
    comm.Bcast(right)
    if comm.rank > 0:
        work(comm, right)
        return 0.0
    product = np.empty_like(left)
    serve(comm, left, product)
    return float(np.abs(product[-1] - times(left[-1], right)).max())


if __name__ == "__main__":
    size = int(sys.argv[1])
    measure(MPI.COMM_WORLD, __file__, size, lambda: multiply(MPI.COMM_WORLD, size))
