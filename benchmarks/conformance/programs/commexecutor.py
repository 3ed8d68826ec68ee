"""Compute squares with mpi4py.futures' MPICommExecutor: rank 0 hands out tasks, the others work."""

from __future__ import annotations

from mpi4py import MPI
from mpi4py.futures import MPICommExecutor


def square(number: int) -> int:
    """Return the square."""
    return number * number


if __name__ == "__main__":
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
        if executor is not None:
            print(list(executor.map(square, range(20))))  # type: ignore[attr-defined] # mpi4py types it as itself
