"""``python on_few_ranks.py RANKS PROGRAM …``: run a program on the first ranks as if there were no others.

So programs for several numbers of ranks need only one start of MPI (``tests/in_turn.py``). The other ranks sleep until
these have ended.
"""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path

from mpi4py import MPI

world = MPI.COMM_WORLD
ranks = int(sys.argv[1])
few = world.Split(world.rank < ranks, world.rank)
if world.rank < ranks:
    sys.argv[:] = sys.argv[2:]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    vars(MPI)["COMM_WORLD"] = few
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as error:
        if error.code not in {None, 0}:
            raise
    finally:
        vars(MPI)["COMM_WORLD"] = world
ended = world.Ibarrier()
while not ended.Test():
    time.sleep(0.002)
