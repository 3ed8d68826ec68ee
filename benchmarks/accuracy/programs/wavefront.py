"""A pipelined wavefront: each block of a table needs the blocks above and to its left (as in sequence alignment).

Ranks hold stripes of columns and pass the right edge of every block on to the next rank.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from section import measure

BLOCKS, SWEEPS = 16, 2


def fill(comm: MPI.Intracomm, n: int) -> float:
    """Fill the table of path sums with a cost of 1 per step; element (i, j) must be i + j + 2."""
    columns = (comm.rank + 1) * n // comm.size - comm.rank * n // comm.size
    first = comm.rank * n // comm.size
    left = np.zeros(n // BLOCKS)
    last = np.zeros(columns)
    for _ in range(SWEEPS):
        above = np.arange(first, first + columns, dtype=float) + 1.0
        for block in range(BLOCKS):
            rows = n // BLOCKS
            if comm.rank > 0:
                comm.Recv(left, source=comm.rank - 1)
            else:
                left[:] = np.arange(block * rows, (block + 1) * rows) + 1.0
            edge = _block(left, above)
            if comm.rank + 1 < comm.size:
                comm.Send(edge, dest=comm.rank + 1)
        last = above
    rows = n // BLOCKS * BLOCKS
    return float(np.abs(last - (rows - 1 + np.arange(first, first + columns) + 2.0)).max())


def _block(left: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Fill a block row by row, leaving its last row in ``above``; return its right edge."""
    edge, steps = np.empty_like(left), np.arange(len(above), dtype=float)
    for i, beside in enumerate(left.tolist()):
        # The cheapest path to each place comes from above, or along the row from any earlier place.
        np.minimum.accumulate(np.minimum(above + 1.0, beside + 1.0 + steps) - steps, out=above)
        above += steps
        edge[i] = above[-1]
    return edge


if __name__ == "__main__":
    size = int(sys.argv[1])
    measure(MPI.COMM_WORLD, __file__, size, lambda: fill(MPI.COMM_WORLD, size))
