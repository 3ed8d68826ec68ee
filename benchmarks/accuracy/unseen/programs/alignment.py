"""Local alignment of two sequences (Smith-Waterman): ranks have columns, and blocks of rows go down a pipeline."""

import sys

import numpy as np
from mpi4py import MPI

MATCH, MISMATCH, GAP = 2, -1, 1

comm = MPI.COMM_WORLD
length, block = int(sys.argv[1]), int(sys.argv[2])

# the same on all ranks: two random sequences that have a piece in common
rng = np.random.default_rng(2024)
a = rng.integers(0, 4, length)
b = rng.integers(0, 4, length)
common = length // 8
b[length // 3 : length // 3 + common] = a[length // 2 : length // 2 + common]

begin, end = comm.rank * length // comm.size, (comm.rank + 1) * length // comm.size
mine = b[begin:end]
width = end - begin
steps = GAP * np.arange(width + 1)

above = np.zeros(width + 1, dtype=np.int64)  # scores of the row above, including one column of the left rank
best = 0
for first in range(0, length, block):
    rows = a[first : first + block]
    edge = np.zeros(len(rows), dtype=np.int64)
    if comm.rank > 0:
        comm.Recv(edge, source=comm.rank - 1, tag=first)
    border = np.empty(len(rows), dtype=np.int64)
    for i, letter in enumerate(rows):
        score = np.empty(width + 1, dtype=np.int64)
        score[0] = edge[i]
        diagonal = above[:-1] + np.where(mine == letter, MATCH, MISMATCH)
        score[1:] = np.maximum(np.maximum(diagonal, above[1:] - GAP), 0)
        # gaps along the row: a running maximum of the scores, reduced by the gaps on the way to the right
        score = np.maximum.accumulate(score + steps) - steps
        best = max(best, int(score.max()))
        border[i] = score[-1]
        above = score
    if comm.rank < comm.size - 1:
        comm.Send(border, dest=comm.rank + 1, tag=first)

total = comm.allreduce(best, op=MPI.MAX)
assert MATCH * common <= total < MATCH * length

# the scores of the last row, seen by rank 0, cannot drop by more than a gap from one column to the next
last = comm.gather(above[1:], root=0)
if comm.rank == 0:
    last = np.concatenate(last)
    assert len(last) == length
    assert last.min() >= 0 and (last[1:] >= last[:-1] - GAP).all()
