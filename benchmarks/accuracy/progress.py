"""Which calls let an MPI library make progress: when a message is done whose receiver computes and calls in between.

``mpiexec -n 2 python -m benchmarks.accuracy.progress [SECONDS] [BYTES]``

Rank 0 sends a message that waits for its receive, and waits. Rank 1 has posted the receive. It computes twenty times,
in all for the given time, makes a call after each, and then waits, too. If the calls let the library make progress, the
sender is done early; otherwise, when the receiver waits. Prints the median time until then, ms, for each kind of call.

Then rank 0 begins to send, computes for the given time, and waits; rank 1 receives. If the receiver reads the data from
the memory of the sender, it is done early; otherwise, when the sender waits. Prints that median, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from mpi4py import MPI

BURSTS, REPEATS = 20, 11
MESSAGE, SMALL, UNUSED = 1, 2, 3


def compute(seconds: float) -> None:
    """Compute for some time."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def until_sent(call: Callable[[MPI.Request], object], seconds: float, nbytes: int) -> float:
    """Return the seconds until rank 0 is free of the message, on rank 0; rank 1 calls between its bursts."""
    comm = MPI.COMM_WORLD
    data = np.full(nbytes, comm.rank, np.uint8)
    comm.Barrier()
    comm.Barrier()
    begin = time.perf_counter()
    if comm.rank == 0:
        comm.Isend(data, 1, MESSAGE).Wait()
        return time.perf_counter() - begin
    receive = comm.Irecv(data, 0, MESSAGE)
    for _ in range(BURSTS):
        compute(seconds / BURSTS)
        call(receive)
    receive.Wait()
    return 0.0


def until_received(seconds: float, nbytes: int) -> float:
    """Return the seconds until rank 1 has the message, on rank 1; rank 0 computes after it has begun to send."""
    comm = MPI.COMM_WORLD
    data = np.full(nbytes, comm.rank, np.uint8)
    comm.Barrier()
    comm.Barrier()
    begin = time.perf_counter()
    if comm.rank == 1:
        comm.Recv(data, 0, MESSAGE)
        return time.perf_counter() - begin
    send = comm.Isend(data, 1, MESSAGE)
    compute(seconds)
    send.Wait()
    return 0.0


def main() -> None:
    """Measure and print."""
    comm = MPI.COMM_WORLD
    told = dict(zip(("seconds", "nbytes"), sys.argv[1:], strict=False))
    seconds, nbytes = float(told.get("seconds", "0.005")), int(told.get("nbytes", "1048576"))
    small, started = bytearray(1), list[MPI.Request]()
    calls: dict[str, Callable[[MPI.Request], object]] = {
        "none": lambda _: None,
        "Irecv": lambda _: started.append(comm.Irecv(bytearray(1), 0, SMALL)),
        "Isend": lambda _: started.append(comm.Isend(small, 0, SMALL)),
        "Send, eager": lambda _: comm.Send(small, 0, SMALL),
        "Test": lambda receive: receive.Test(),
        "Iprobe": lambda _: comm.Iprobe(0, UNUSED),
    }
    for name, call in calls.items():
        times = []
        for _ in range(REPEATS):
            times.append(until_sent(call, seconds, nbytes))
            # The partners of the small messages.
            if comm.rank == 0 and name == "Irecv":
                started += [comm.Isend(small, 1, SMALL) for _ in range(BURSTS)]
            elif comm.rank == 0 and "end" in name:
                started += [comm.Irecv(bytearray(1), 1, SMALL) for _ in range(BURSTS)]
            MPI.Request.Waitall(started)
            started.clear()
        if comm.rank == 0:
            print(f"| {name} | {median(times) * 1e3:.2f} ms |", flush=True)
    received = comm.bcast(median(until_received(seconds, nbytes) for _ in range(REPEATS)), root=1)
    if comm.rank == 0:
        print(f"| received while the sender computes | {received * 1e3:.2f} ms |", flush=True)


if __name__ == "__main__":
    main()
