"""PageRank on a random graph distributed by pages: ranks by Allgatherv, contributions by Reduce_scatter, in turn."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
pages, links, steps = (int(word) for word in sys.argv[1:4])
counts = np.array([(rank + 1) * pages // comm.size - rank * pages // comm.size for rank in range(comm.size)])
first, here = int(counts[: comm.rank].sum()), int(counts[comm.rank])
random = np.random.default_rng(comm.rank)
source = np.repeat(np.arange(here), links)
target = (pages * random.random(here * links) ** 2).astype(int)

rank_here = np.full(here, 1 / pages)
everywhere = np.empty(pages)
for _ in range(steps):
    pushed = np.bincount(target, weights=rank_here[source] / links, minlength=pages)
    comm.Reduce_scatter(pushed, rank_here, counts)
    rank_here *= 0.85
    rank_here += 0.15 / pages
    comm.Allgatherv(rank_here, [everywhere, counts])

assert abs(everywhere.sum() - 1) < 1e-9
assert np.array_equal(everywhere[first : first + here], rank_here)
