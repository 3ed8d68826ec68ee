"""HPL on a grid of 1 by P, as a trace: panels are factored in turn and passed around the ring, and all ranks update.

The algorithm is a plain right-looking LU with a block-cyclic distribution of columns, without look-ahead. Block times
are those of fast libraries: narrow blocks are computed less efficiently.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clue.trace import Trace, TraceBuilder

#: Columns of a block; HPL's authors advise 32 to 256.
BLOCK = 80
#: Speed of the Athlon on wide blocks, and on panels, flop/s; chosen so that N = 3200 takes 20.4 s as in Kishimoto and
#: Ichikawa.
WIDE, PANEL = 1.19e9, 0.3e9
#: Number of columns at which multiplication reaches half its speed.
HALF = 24.0
#: Time of each process at the start, and in each step, seconds.
START, STEP = 0.15, 0.4e-3


def linpack(size: int, slower: Sequence[float], seed: int) -> Trace:
    """Return the trace of a run on the Athlon; bursts vary by 1 % between runs, and by 0.5 % among themselves.

    Args:
        size: Size N.
        slower: Factor of each rank's bursts.
        seed: Seed of their variation.
    """
    ranks = len(slower)
    built = TraceBuilder(ranks, f"hpl-{size}-{ranks}")
    draws = np.random.default_rng([seed, size, ranks])
    run = float(np.exp(0.01 * draws.standard_normal()))
    blocks = -(-size // BLOCK)
    noise = run * np.exp(0.005 * draws.standard_normal((blocks + 1, ranks, 2))) * np.array(slower)[:, None]
    for rank in range(ranks):
        built[rank].compute(START * noise[blocks, rank, 0])
    for k in range(blocks):
        owner, rows = k % ranks, size - k * BLOCK
        width = min(BLOCK, rows)
        nbytes = 8 * rows * width
        for place in range(ranks):
            rank = (owner + place) % ranks
            if place == 0:
                built[rank].compute((rows * width**2 / PANEL + STEP) * noise[k, rank, 0])
            else:
                built[rank].recv((rank - 1) % ranks, tag=k)
            if place < ranks - 1:
                built[rank].send((rank + 1) % ranks, nbytes, tag=k)
            columns = _columns(size, k + 1, rank, ranks)
            flops = columns * width * (width + 2.0 * (rows - width))
            rate = WIDE * columns / (columns + HALF) if columns else WIDE
            built[rank].compute((flops / rate + STEP) * noise[k, rank, 1])
    return built.build()


def _columns(size: int, first: int, rank: int, ranks: int) -> int:
    """Return the number of columns that a rank has from a given block on."""
    blocks = -(-size // BLOCK)
    mine = range(first + (rank - first) % ranks, blocks, ranks)
    short = BLOCK * blocks - size
    return len(mine) * BLOCK - (short if mine and mine[-1] == blocks - 1 else 0)
