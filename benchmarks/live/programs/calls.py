"""Batches of MPI calls by all ranks, timed by rank 0 in real time: prints calls and seconds of each batch as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from time import perf_counter

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
OUT, IN = np.zeros(1), np.zeros(1)


def pingpong(partner: int) -> int:
    """Send one number to the partner and back; return the calls made."""
    if COMM.rank < partner:
        COMM.Send(OUT, partner)
        COMM.Recv(IN, partner)
    else:
        COMM.Recv(IN, partner)
        COMM.Send(OUT, partner)
    return 2


def nonblocking(partner: int) -> int:
    """Exchange one number with the partner; return the calls made."""
    MPI.Request.Waitall([COMM.Irecv(IN, partner), COMM.Isend(OUT, partner)])
    return 3


def allreduce(_partner: int) -> int:
    """Sum one number of all ranks; return the calls made."""
    COMM.Allreduce(OUT, IN)
    return 1


def batch(what: Callable[[int], int], rounds: int) -> tuple[int, float]:
    """Return the calls of all ranks in one batch, its barrier included, and its seconds."""
    begin = perf_counter()
    calls = sum(what(COMM.rank ^ 1) for _ in range(rounds))
    COMM.Barrier()
    return (calls + 1) * COMM.size, perf_counter() - begin


def main() -> None:
    """Measure after one batch to warm up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("pingpong", "nonblocking", "allreduce"))
    parser.add_argument("--rounds", type=int, default=100, help="of each batch")
    parser.add_argument("--batches", type=int, default=15)
    args = parser.parse_args()
    COMM.Barrier()
    measured = [batch(globals()[args.what], args.rounds) for _ in range(args.batches + 1)][1:]
    if COMM.rank == 0:
        print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
