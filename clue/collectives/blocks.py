"""Cutting data into blocks and adding blocks up. Sizes in bytes; independent of ranks and messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

#: Segment of a pipelined algorithm: the size in Open MPI's earlier decision rules for long messages.
SEGMENT = 128 * 1024
#: Largest number of segments, which are made longer if necessary: a message of 1 GB stays simulable.
MOST_SEGMENTS = 1024


def full_blocks(nbytes: int, count: int) -> list[int]:
    """Cut into blocks of ``ceil(nbytes / count)`` bytes; the last ones are shorter or empty."""
    block = -(-nbytes // count)
    return [max(0, min(block, nbytes - i * block)) for i in range(count)]


def even_blocks(nbytes: int, count: int) -> list[int]:
    """Cut into blocks that differ by at most a byte, the longer ones first."""
    block, longer = divmod(nbytes, count)
    return [block + (i < longer) for i in range(count)]


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


@lru_cache(maxsize=64)
def even_circle(nbytes: int, count: int) -> Circle:
    """Return the even blocks of a number of bytes in a circle; all ranks of a collective need the same ones."""
    return Circle(even_blocks(nbytes, count))
