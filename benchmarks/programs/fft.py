"""Fourier transform of a square and back, rows then columns: each turn of the matrix is one alltoall."""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from section import measure

ROUNDS = 4


def turn(comm: MPI.Intracomm, rows: np.ndarray) -> np.ndarray:
    """Return the own rows of the transposed matrix."""
    own, n = rows.shape
    sent = np.ascontiguousarray(rows.reshape(own, comm.size, own).transpose(1, 0, 2))
    received = np.empty_like(sent)
    comm.Alltoall(sent, received)
    return np.ascontiguousarray(received.transpose(2, 0, 1).reshape(own, n))


def there_and_back(comm: MPI.Intracomm, n: int) -> float:
    """Transform to and fro; returns the largest difference."""
    own = n // comm.size
    if own * comm.size != n:
        sys.exit(f"size must be a multiple of the ranks ({comm.size}), got {n}")
    begin = np.random.default_rng(comm.rank).random((own, n)).astype(np.complex128)
    rows = begin
    for _ in range(ROUNDS):
        rows = np.fft.fft(turn(comm, np.fft.fft(rows, axis=1)), axis=1)
        rows = np.fft.ifft(turn(comm, np.fft.ifft(rows, axis=1)), axis=1)
    return float(np.abs(rows - begin).max())


if __name__ == "__main__":
    size = int(sys.argv[1])
    measure(MPI.COMM_WORLD, __file__, size, lambda: there_and_back(MPI.COMM_WORLD, size))
