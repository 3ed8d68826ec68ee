"""Cutting data into blocks and adding blocks up. Sizes in bytes; independent of ranks and messages.

Data are cut between units: the elements of a vector, or single bytes. Their size divides that of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate

#: Segment of a pipelined algorithm: the size in Open MPI's earlier decision rules for long messages.
SEGMENT = 128 * 1024
#: Largest number of segments, which are made longer if necessary: a message of 1 GB stays simulable.
MOST_SEGMENTS = 1024


def full_blocks(nbytes: int, count: int, unit: int = 1) -> list[int]:
    """Cut n units into blocks of ``ceil(n / count)``; the last ones are shorter or empty."""
    block = -(-nbytes // unit // count) * unit
    return [max(0, min(block, nbytes - i * block)) for i in range(count)]


def even_blocks(nbytes: int, count: int, unit: int = 1) -> list[int]:
    """Cut into blocks that differ by at most a unit, the longer ones first."""
    block, longer = divmod(nbytes // unit, count)
    return [(block + (i < longer)) * unit for i in range(count)]


def rest_last(nbytes: int, count: int, unit: int = 1) -> list[int]:
    """Cut n units into blocks of ``floor(n / count)``; the last one also takes what remains."""
    block = nbytes // unit // count * unit
    return [block] * (count - 1) + [nbytes - block * (count - 1)]


def halved_blocks(nbytes: int, count: int, unit: int = 1) -> list[int]:
    """Halve until there are ``count`` blocks, a power of two; of an odd number of units, the first half is shorter."""
    blocks = [nbytes // unit]
    while len(blocks) < count:
        blocks = [half for block in blocks for half in (block // 2, block - block // 2)]
    return [block * unit for block in blocks]


def segments(nbytes: int, segment: int = SEGMENT) -> list[int]:
    """Cut a message into the segments of a pipeline, at least one."""
    return full_blocks(nbytes, min(MOST_SEGMENTS, max(1, -(-nbytes // segment))))


class Circle:
    """Blocks in a circle, one per rank, with fast sums of consecutive blocks.

    Args:
        blocks: Bytes of each block.
    """

    def __init__(self, blocks: Sequence[int]) -> None:
        self._count = len(blocks)
        self._sums = (0, *accumulate((*blocks, *blocks)))

    def span(self, start: int, count: int = 1) -> int:
        """Return the bytes of ``count`` blocks, at most all, from the one at ``start`` (any integer)."""
        start %= self._count
        return self._sums[start + count] - self._sums[start]

    def between(self, limits: tuple[int, int]) -> int:
        """Return the bytes of the blocks from the first limit up to, not including, the second."""
        return self._sums[limits[1]] - self._sums[limits[0]]


#: Cuts a number of bytes into a number of blocks, between units of so many bytes.
Cut = Callable[[int, int, int], list[int]]


@lru_cache(maxsize=64)
def cut_circle(cut: Cut, nbytes: int, count: int, unit: int) -> Circle:
    """Return the blocks of a number of bytes in a circle; all ranks of a collective need the same ones."""
    return Circle(cut(nbytes, count, unit))
