"""Ping-pong: rank 0 sends a message to rank 1, which sends it back, again and again.

    mpiexec -n 2 python pingpong.py --bytes 1024         run it
    clue record -n 2 pingpong.py --bytes 1024            record it as pingpong.clue

The smallest program with something to say about a network. Further ranks only watch.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from mpi4py import MPI


def play(comm: MPI.Intracomm, message: np.ndarray, repetitions: int) -> None:
    """Send the message to and fro so many times."""
    for _ in range(repetitions):
        if comm.rank == 0:
            comm.Send(message, dest=1)
            comm.Recv(message, source=1)
        elif comm.rank == 1:
            comm.Recv(message, source=0)
            comm.Send(message, dest=0)


def main() -> None:
    """Play and report the time of one way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000, help="round trips (default: %(default)s)")
    parser.add_argument("--bytes", type=int, default=8, help="size of the message (default: %(default)s)")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    if comm.size < 2:
        sys.exit("pingpong.py needs at least 2 ranks, for instance: mpiexec -n 2 python pingpong.py")
    if args.repetitions < 1 or args.bytes < 0:
        sys.exit("--repetitions must be at least 1 and --bytes at least 0")
    message = np.zeros(args.bytes, dtype=np.uint8)
    comm.Barrier()
    begin = MPI.Wtime()
    play(comm, message, args.repetitions)
    seconds = (MPI.Wtime() - begin) / (2 * args.repetitions)
    if comm.rank == 0:
        print(f"pingpong bytes={args.bytes} repetitions={args.repetitions} one way={seconds * 1e6:.2f} us")


if __name__ == "__main__":
    main()
