"""Batches of MPI calls by all ranks: prints calls, real seconds and processor seconds of each batch as JSON.

Processor seconds are those of all processes of the run; they are meaningful even if others keep the computer busy.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
OUT, IN = np.zeros(1), np.zeros(1)


def pingpong(partner: int) -> int:
    """Send one number to the partner and back; return the number of calls."""
    if COMM.rank < partner:
        COMM.Send(OUT, partner)
        COMM.Recv(IN, partner)
    else:
        COMM.Recv(IN, partner)
        COMM.Send(OUT, partner)
    return 2


def nonblocking(partner: int) -> int:
    """Exchange one number with the partner; return the number of calls."""
    MPI.Request.Waitall([COMM.Irecv(IN, partner), COMM.Isend(OUT, partner)])
    return 3


def allreduce(_partner: int) -> int:
    """Sum one number over all ranks; return the number of calls."""
    COMM.Allreduce(OUT, IN)
    return 1


def family(pid: int) -> Iterator[int]:
    """Yield a process and all its descendants."""
    yield pid
    for task in tasks(pid):
        for child in (task / "children").read_text().split():
            yield from family(int(child))


def tasks(pid: int) -> Iterator[Path]:
    """Yield the threads of a process."""
    return Path(f"/proc/{pid}/task").iterdir()


def starter() -> int:
    """Return the process that started the parent of the ranks."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])


def seconds_of(pid: int) -> float:
    """Return the processor time of all threads of a process that are alive."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks(pid)) * 1e-9


def processor_seconds() -> float:
    """Return, on rank 0, the processor time of all processes of the run so far."""
    if COMM.rank:
        return 0.0
    return sum(map(seconds_of, family(starter())))


def batch(what: Callable[[int], int], rounds: int) -> tuple[int, float, float]:
    """Return the number of calls of all ranks in one batch with its barrier, and its real and processor seconds."""
    used, begin = processor_seconds(), perf_counter()
    calls = sum(what(COMM.rank ^ 1) for _ in range(rounds))
    COMM.Barrier()
    seconds = perf_counter() - begin
    return (calls + 1) * COMM.size, seconds, processor_seconds() - used


def main() -> None:
    """Measure, after one batch as a warm-up."""
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
