"""A block of bytes sent there and back between two ranks in real time: prints the seconds of each way as JSON."""

from __future__ import annotations

import argparse
import json
from time import perf_counter

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD


def main() -> None:
    """Measure, after two round trips as a warm-up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=1 << 20)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    block, seconds = np.ones(args.bytes, np.uint8), []
    for _ in range(args.rounds + 2):
        begin = perf_counter()
        if COMM.rank == 0:
            COMM.Send(block, 1)
            COMM.Recv(block, 1)
        else:
            COMM.Recv(block, 0)
            COMM.Send(block, 0)
        seconds.append((perf_counter() - begin) / 2)
    if COMM.rank == 0:
        print(json.dumps(seconds[2:]), flush=True)


if __name__ == "__main__":
    main()
