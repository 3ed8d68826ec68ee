"""Up to which size a message's data travel before its receive is posted: as seen by a receiver that is late.

A sender that waits for its receive does not tell: some libraries send at once, and wait for the receive nonetheless.
Rank 0 prints the largest size, in bytes, whose receive took less than half the time of a message that was waited for.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import numpy as np
from mpi4py import MPI

REPETITIONS = 5
#: Messages that take less than this, in seconds, do not tell: waking up takes as long.
SHORT = 1e-3


def receive(comm: MPI.Intracomm, message: np.ndarray, late: float) -> float:
    """Return the time of a receive that is posted so much later than its send; 0 on the sender."""
    comm.Barrier()
    comm.Barrier()
    if comm.rank == 0:
        comm.Send(message, dest=1)
        return 0.0
    time.sleep(late)
    begin = MPI.Wtime()
    comm.Recv(message, source=0)
    return MPI.Wtime() - begin


def main() -> None:
    """Go through the sizes given, rising, until one is not there when it is received late."""
    comm, limit = MPI.COMM_WORLD, 0
    for size in map(int, sys.argv[1:]):
        message = np.zeros(size, np.uint8)
        prompt = statistics.median(receive(comm, message, 0.0) for _ in range(REPETITIONS))
        late = statistics.median(receive(comm, message, 3 * prompt + 0.01) for _ in range(REPETITIONS))
        there = comm.bcast(late < prompt / 2 or prompt < SHORT, root=1)
        if not there:
            break
        limit = size
    if comm.rank == 0:
        print(json.dumps(limit), flush=True)


if __name__ == "__main__":
    main()
