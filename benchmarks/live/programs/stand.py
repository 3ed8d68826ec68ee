"""All ranks meet; rank 0 prints the time (seconds since the epoch), then all ranks wait until they are released."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI


def main() -> None:
    """Meet, create the file STARTED, wait until it is removed, and meet again."""
    MPI.COMM_WORLD.Allreduce(np.ones(1), np.empty(1))
    MPI.COMM_WORLD.Barrier()
    if MPI.COMM_WORLD.rank == 0:
        started = Path(os.environ["STARTED"])
        started.with_suffix(".part").write_text(str(time.time()))
        started.with_suffix(".part").replace(started)
        while started.exists():
            time.sleep(0.05)
    MPI.COMM_WORLD.Barrier()


if __name__ == "__main__":
    main()
