"""Count the words of generated texts: map, exchange by key with a pickled alltoall, reduce, gather the commonest."""

import random
import sys
import zlib
from collections import Counter

from mpi4py import MPI

comm = MPI.COMM_WORLD
lines, rounds = int(sys.argv[1]), int(sys.argv[2])
choose = random.Random(comm.rank)
syllables = ["ka", "lo", "mi", "ne", "ru", "sa", "ti", "vo"]

totals = Counter()
words_here = 0
for _ in range(rounds):
    counted = Counter()
    for _ in range(lines):
        line = " ".join("".join(choose.choices(syllables, k=choose.randint(1, 4))) for _ in range(8))
        counted.update(line.split())
    words_here += sum(counted.values())
    parts = [{} for _ in range(comm.size)]
    for word, count in counted.items():
        parts[zlib.crc32(word.encode()) % comm.size][word] = count
    for part in comm.alltoall(parts):
        totals.update(part)

assert comm.allreduce(sum(totals.values())) == comm.allreduce(words_here)
commonest = comm.gather(totals.most_common(20))
if comm.rank == 0:
    top = sorted((pair for part in commonest for pair in part), key=lambda pair: -pair[1])[:20]
    assert len(top) == 20
