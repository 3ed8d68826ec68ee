"""Ants on a ring of islands: whole objects travel, pickled, by send, recv, bcast and gather."""

import random
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
ants, seasons = int(sys.argv[1]), int(sys.argv[2])
choose = random.Random(comm.rank)
next_island, last_island = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
here = [{"name": f"{comm.rank}-{i}", "food": choose.random(), "path": [comm.rank]} for i in range(ants)]

for season in range(seasons):
    rules = comm.bcast(
        {"season": season, "hunger": 0.3 + 0.01 * season, "words": ["go"] * 50} if comm.rank == 0 else None
    )
    for ant in here:
        for _ in range(12):
            ant["food"] = (ant["food"] * 3.7 * (1 - ant["food"])) % 1.0
    leaving = [ant for ant in here if ant["food"] < rules["hunger"]]
    here = [ant for ant in here if ant["food"] >= rules["hunger"]]
    if comm.rank % 2:
        arriving = comm.recv(source=last_island)
        comm.send(leaving, dest=next_island)
    else:
        comm.send(leaving, dest=next_island)
        arriving = comm.recv(source=last_island)
    for ant in arriving:
        ant["path"] = [*ant["path"][-5:], comm.rank]
    here += arriving
    counts = comm.gather(len(here))
    if comm.rank == 0:
        assert sum(counts) == ants * comm.size

names = comm.gather([ant["name"] for ant in here])
if comm.rank == 0:
    assert len({name for each in names for name in each}) == ants * comm.size
