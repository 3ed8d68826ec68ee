"""Random walks in pure Python: parameters are broadcast, and the ends of all walks are reduced, batch by batch."""

import random
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
walkers, length, batches = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

dice = random.Random(comm.rank)
drift = 0.5
for _ in range(batches):
    drift = comm.bcast(drift)
    squares = 0
    for _ in range(walkers):
        place = 0
        for _ in range(length):
            place += 1 if dice.random() < drift else -1
        squares += place * place
    total = comm.reduce(squares)
    if comm.rank == 0:
        spread = total / (walkers * comm.size)
        assert 0.3 * length < spread < 3 * length
        drift = 0.5 + 0.001 / spread
