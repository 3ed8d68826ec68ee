"""A genome from short reads of it: reads go half way round a ring of ranks, and each learns which one continues it."""

import random
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
length, width, spacing = map(int, sys.argv[1:4])
SEED = 20  # the shortest overlap


def make_reads():
    """Return a genome and reads of it in random order; together they cover it."""
    rng = random.Random(611)
    genome = "".join(rng.choices("ACGT", k=length))
    starts, at = [0], 0
    while at < length - width:
        at = min(at + rng.randint(1, 2 * spacing - 1), length - width)
        starts.append(at)
    rng.shuffle(starts)
    return genome, [(number, genome[start : start + width]) for number, start in enumerate(starts)]


def improve(best, read, overlap, other):
    if read not in best or overlap > best[read][0]:
        best[read] = (overlap, other)


# rank 0 reads the file
if rank == 0:
    genome, reads = make_reads()
    reads = [reads[each::size] for each in range(size)]
else:
    genome, reads = None, None
own = comm.scatter(reads, root=0)

# all passages of own reads, and their beginnings alone
passages, beginnings = {}, {}
for number, text in own:
    beginnings.setdefault(text[:SEED], []).append((number, text))
    for place in range(1, width - SEED + 1):
        passages.setdefault(text[place : place + SEED], []).append((number, place, text))


def continue_own(best, visitors):
    """Look whether visitors continue own reads."""
    for number, text in visitors:
        for other, place, before in passages.get(text[:SEED], ()):
            if other != number and text.startswith(before[place:]):
                improve(best, other, width - place, number)


def continue_visitors(best, visitors):
    """Look whether own reads continue visitors."""
    for number, text in visitors:
        for place in range(1, width - SEED + 1):
            for other, after in beginnings.get(text[place : place + SEED], ()):
                if after.startswith(text[place:]):
                    improve(best, number, width - place, other)


best = {}
continue_own(best, own)

# what is known about visitors travels with them; each pair of ranks meets once, and tells each other's halves of it
right, left = (rank + 1) % size, (rank - 1) % size
visitors, known, steps = own, {}, size // 2
for step in range(1, steps + 1):
    going = comm.isend((visitors, known), dest=right, tag=step)
    visitors, known = comm.recv(source=left, tag=step)
    going.wait()
    continue_own(best, visitors)
    # on an even ring, the last visitors are those whom the own reads visit at the same time
    if 2 * step != size:
        continue_visitors(known, visitors)

# visitors' news go home
going = comm.isend(known, dest=(rank - steps) % size, tag=0)
for read, (overlap, other) in comm.recv(source=(rank + steps) % size, tag=0).items():
    improve(best, read, overlap, other)
going.wait()

# rank 0 starts with the read that continues none
chains = comm.gather(best, root=0)
if rank == 0:
    following = {read: link for chain in chains for read, link in chain.items()}
    texts = dict(read for part in reads for read in part)
    (read,) = set(texts) - {other for _, other in following.values()}
    pieces = [texts[read]]
    while read in following:
        overlap, read = following[read]
        pieces.append(texts[read][overlap:])
    assert len(pieces) == len(texts)
    assert "".join(pieces) == genome
