"""Shift a picture by parts of a point and back by Fourier transforms, rows then columns; each turn is one alltoall."""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from section import measure

ROUNDS, MOVES = 12, 8


def turn(comm: MPI.Intracomm, rows: np.ndarray) -> np.ndarray:
    """Return the own rows of the transposed matrix."""
    own, n = rows.shape
    sent = np.ascontiguousarray(rows.reshape(own, comm.size, own).transpose(1, 0, 2))
    received = np.empty_like(sent)
    comm.Alltoall(sent, received)
    return np.ascontiguousarray(received.transpose(2, 0, 1).reshape(own, n))


def shift(rows: np.ndarray, phases: np.ndarray) -> np.ndarray:
    """Return the rows after a number of shifts by the given phases of their frequencies."""
    for _ in range(MOVES):
        rows = np.fft.ifft(np.fft.fft(rows, axis=1) * phases, axis=1)
    return rows


def there_and_back(comm: MPI.Intracomm, n: int) -> float:
    """Shift the picture to and fro; return the largest difference from the original."""
    own = n // comm.size
    if own * comm.size != n:
        sys.exit(f"size must be a multiple of the ranks ({comm.size}), got {n}")
    begin = np.random.default_rng(comm.rank).random((own, n)).astype(np.complex128)
    rows = begin
    there = np.exp(-2j * np.pi * np.fft.fftfreq(n) * 0.25)
    back = there.conj()
    for _ in range(ROUNDS):
        rows = shift(turn(comm, shift(rows, there)), there)
        rows = shift(turn(comm, shift(rows, back)), back)
    return float(np.abs(rows - begin).max())


if __name__ == "__main__":
    size = int(sys.argv[1])
    measure(MPI.COMM_WORLD, __file__, size, lambda: there_and_back(MPI.COMM_WORLD, size))
