"""Count the ways to place n queens on a board: ranks share the first placements, some of which take longer."""

import sys

import numpy as np
from mpi4py import MPI

SOLUTIONS = {4: 2, 5: 10, 6: 4, 7: 40, 8: 92, 9: 352, 10: 724, 11: 2680, 12: 14200, 13: 73712}
comm = MPI.COMM_WORLD
largest = int(sys.argv[1])


def with_another(n, begun):
    """All boards with one more queen, each with the column of its first queen."""
    for first, columns, left, right in begun:
        free = ~(columns | left | right) & ((1 << n) - 1)
        while free:
            queen = free & -free
            free ^= queen
            column = queen.bit_length() - 1 if first is None else first
            yield column, columns | queen, (left | queen) << 1, (right | queen) >> 1


def count(full, columns, left, right):
    if columns == full:
        return 1
    free, found = ~(columns | left | right) & full, 0
    while free:
        queen = free & -free
        free ^= queen
        found += count(full, columns | queen, (left | queen) << 1, (right | queen) >> 1)
    return found


for n in range(4, largest + 1):
    shares = None
    if comm.rank == 0:
        begun = list(with_another(n, with_another(n, [(None, 0, 0, 0)])))
        cuts = [len(begun) * rank // comm.size for rank in range(comm.size + 1)]
        shares = [begun[a:b] for a, b in zip(cuts, cuts[1:])]
    mine = comm.scatter(shares)
    here, total = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    for first, *board in mine:
        here[first] += count((1 << n) - 1, *board)
    comm.Reduce(here, total, op=MPI.SUM, root=0)
    if comm.rank == 0:
        assert total.sum() == SOLUTIONS[n]
        assert (total == total[::-1]).all()
