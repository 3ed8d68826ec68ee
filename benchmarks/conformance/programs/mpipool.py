"""Compute squares with schwimmbad's MPIPool: rank 0 hands out tasks, the others work."""

from __future__ import annotations

import sys

from schwimmbad import MPIPool


def square(number: int) -> int:
    """Return the square."""
    return number * number


if __name__ == "__main__":
    with MPIPool() as pool:
        if not pool.is_master():
            pool.wait()
            sys.exit(0)
        print(list(pool.map(square, range(20))))
