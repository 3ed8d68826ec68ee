"""Chunk sizes of dynamic loop scheduling: work is handed out to idle processors in the order of their requests.

Each is an iterator over whole units that add up to the total; invalid numbers are a ``UsageError`` when the
first chunk is taken. Which processor takes a chunk depends on timing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from clue.balance.checking import positive, whole


def self_scheduled(total: int, unit: int = 1) -> Iterator[int]:
    """Yield chunks of one size and a last one with the remainder: self-scheduling (SS)."""
    total, unit = whole("total", total, 0), whole("unit", unit, 1)
    for begin in range(0, total, unit):
        yield min(unit, total - begin)


def guided(total: int, workers: int, least: int = 1) -> Iterator[int]:
    """Yield chunks that are each a worker's even share of the remainder: guided self-scheduling (GSS).

    C. D. Polychronopoulos, D. J. Kuck, Guided self-scheduling, IEEE Transactions on Computers C-36 (1987).

    Args:
        total: Total number of units.
        workers: Number of workers among which they are divided.
        least: Minimum size of all chunks but the last.
    """
    total, workers, least = whole("total", total, 0), whole("workers", workers, 1), whole("least", least, 1)
    while total > 0:
        chunk = min(total, max(least, -(-total // workers)))
        yield chunk
        total -= chunk


def trapezoidal(total: int, workers: int, first: int | None = None, last: int = 1) -> Iterator[int]:
    """Yield chunks that shrink evenly from the first to the last: trapezoidal self-scheduling (TSS).

    N = ⌈2 τ / (first + last)⌉ chunks shrink by (first − last) / (N − 1) each. Every size is rounded, and the last chunk
    takes the remainder. T. H. Tzen, L. M. Ni, Trapezoid self-scheduling, IEEE Transactions on Parallel and Distributed
    Systems 4 (1993).

    Args:
        total: Total number of units.
        workers: Number of workers among which they are divided.
        first: Size of the first chunk; ``None``: half of an even share, ⌈τ / (2 workers)⌉, as its authors advise.
        last: Size of the last.
    """
    total, workers, last = whole("total", total, 0), whole("workers", workers, 1), whole("last", last, 1)
    begin = max(last, -(-total // (2 * workers)) if first is None else whole("first", first, 1))
    steps = math.ceil(Fraction(2 * total, begin + last))
    shrink = Fraction(begin - last, max(1, steps - 1))
    size = Fraction(begin)
    while total > 0:
        chunk = min(total, max(last, round(size)))
        yield chunk
        total -= chunk
        size -= shrink


def factoring(total: int, workers: int) -> Iterator[int]:
    """Yield rounds of one chunk per worker, half of the remainder in each round: factoring.

    S. Flynn Hummel, E. Schonberg, L. E. Flynn, Factoring, Communications of the ACM 35 (1992).
    """
    total, workers = whole("total", total, 0), whole("workers", workers, 1)
    while total > 0:
        size = -(-total // (2 * workers))
        for _ in range(workers):
            chunk = min(total, size)
            if not chunk:
                return
            yield chunk
            total -= chunk


def portion(left: int, unit: float, performance: float) -> int:
    """Return the next chunk of a processor, limited by the remainder: ⌈unit φ⌉, as in VRP-SS of PEMPIs-Het.

    Args:
        left: Remaining units.
        unit: Units for a processor whose relative performance is 1.
        performance: Its relative performance φ.

    Raises:
        UsageError: If units remain and the unit or φ is not positive and finite, so that they would never be handed
            out; or if ``left`` is not a whole number of at least 0.
    """
    left = whole("left", left, 0)
    if not left:  # of nothing, a program may ask for any share
        return 0
    positive("unit", unit)
    positive("relative performance", performance)
    return min(left, math.ceil(unit * performance))
