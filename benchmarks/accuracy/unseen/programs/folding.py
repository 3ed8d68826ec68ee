"""Fold a strand of RNA so that most bases are paired (Nussinov): ranks share each diagonal, which is then gathered."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n = int(sys.argv[1])
PAIRS = np.zeros((4, 4), dtype=np.int32)  # A C G U
for first, second in ((0, 3), (1, 2), (2, 3)):
    PAIRS[first, second] = PAIRS[second, first] = 1
LOOP = 3

strand = np.random.default_rng(21).integers(0, 4, n) if comm.rank == 0 else None
strand = comm.bcast(strand, root=0)

# largest number of pairs among the bases from i to j; and the same with columns as rows
most = np.zeros((n + 1, n + 1), dtype=np.int32)
turned = np.zeros((n + 1, n + 1), dtype=np.int32)
for length in range(LOOP + 1, n):
    count = n - length
    bounds = np.arange(comm.size + 1) * count // comm.size
    begin, end = bounds[comm.rank], bounds[comm.rank + 1]
    own = np.empty(end - begin, dtype=np.int32)
    for i in range(begin, end):
        j = i + length
        split = (most[i, i:j] + turned[j, i + 1 : j + 1]).max()
        own[i - begin] = max(split, most[i + 1, j - 1] + PAIRS[strand[i], strand[j]])
    diagonal = np.empty(count, dtype=np.int32)
    comm.Allgatherv(own, [diagonal, np.diff(bounds)])
    starts = np.arange(count)
    most[starts, starts + length] = diagonal
    turned[starts + length, starts] = diagonal


def pairs():
    """The pairs of one optimal folding, traced back through the table."""
    found, todo = [], [(0, n - 1)]
    while todo:
        i, j = todo.pop()
        if j - i <= LOOP or most[i, j] == 0:
            continue
        if PAIRS[strand[i], strand[j]] and most[i, j] == most[i + 1, j - 1] + 1:
            found.append((i, j))
            todo.append((i + 1, j - 1))
            continue
        k = i + int(np.flatnonzero(most[i, i:j] + turned[j, i + 1 : j + 1] == most[i, j])[0])
        todo += [(i, k), (k + 1, j)]
    return found


folding = comm.bcast(pairs() if comm.rank == 0 else None, root=0)
assert len(folding) == most[0, n - 1]
assert len({base for pair in folding for base in pair}) == 2 * len(folding)
assert all(PAIRS[strand[i], strand[j]] and j - i > LOOP for i, j in folding)
part = folding[comm.rank :: comm.size]
assert not any(i < k < j < m for i, j in part for k, m in folding)
