"""Pieces of fixed work that imitate computation; skeletons in Python contain this text unchanged.

- *core*: products of integers of some 2000 bits, which use only a core's arithmetic;
- *memory*: copies of 32 KiB, each time from another place in an area too large for caches;
- *cache*: bytes read at random from 1 MiB, which fits into second-level caches.
"""

import mmap
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle, repeat
from operator import itemgetter
from time import perf_counter

Kernel = Callable[[int], None]

ONE, OTHER = 3**1200, 7**640
COPIED, MEMORY = 1 << 15, 1 << 25
PICKED, CACHE = 256, 1 << 20


def core(pieces: int) -> None:
    """Multiply two large integers."""
    for _ in repeat(None, pieces):
        ONE * OTHER


def memory(pieces: int) -> None:
    """Copy from changing places."""
    for _ in repeat(None, pieces):
        COPY[:] = next(PLACES)


def cache(pieces: int) -> None:
    """Read bytes at random."""
    for _ in repeat(None, pieces):
        next(PICKS)(BYTES)


def places(size: int) -> Iterator[memoryview]:
    """Return places in memory of this size cyclically, in strides that no prefetcher predicts."""
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(AttributeError, OSError):  # if there are no large pages
        pages.madvise(mmap.MADV_HUGEPAGE)
    for at in range(0, size, 4096):
        pages[at] = 1
    view, count = memoryview(pages), size // COPIED
    count -= count % 17 == 0
    return cycle([view[at : at + COPIED] for at in (17 * i % count * COPIED for i in range(count))])


def picks() -> Iterator[Callable[[bytes], tuple[int, ...]]]:
    """Return random choices of bytes cyclically."""
    draw = random.Random(1)
    return cycle([itemgetter(*(draw.randrange(CACHE) for _ in range(PICKED))) for _ in range(256)])


COPY = bytearray(COPIED)
PLACES = places(MEMORY)
BYTES, PICKS = bytes(CACHE), picks()


# --- bursts ---

#: Work that is due and not yet done, in pieces, less than one of each kind; negative if too much was done.
OWED: dict[Kernel, float] = {core: 0.0, memory: 0.0, cache: 0.0}
#: Total time of all bursts so far, s.
COMPUTED = [0.0]


def compute(bursts: Iterator[tuple[tuple[Kernel, float], ...]]) -> None:
    """Do the next of these bursts: whole pieces of each kind of work; the remainder is done with a later burst."""
    begin = perf_counter()
    for kernel, pieces in next(bursts):
        owed = OWED[kernel] + pieces
        whole = int(owed) if owed > 0 else 0
        OWED[kernel] = owed - whole
        kernel(whole)
    COMPUTED[0] += perf_counter() - begin
