"""Inference of a program's demands on size and number of ranks from refused and accepted recordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isqrt

from clue.extrapolation.admissible import Demand, Other, Said
from clue.extrapolation.plan import Wanted


def demands(target: Wanted, refused: Sequence[Wanted], taken: Sequence[Wanted]) -> tuple[Demand, ...]:
    """Return few common demands: each refused recording violates one; the accepted ones and the target meet all.

    Args:
        target: The target, which the program should accept; it is not among the refused recordings.
        refused: Recordings that the program refused.
        taken: Recordings that it accepted.
    """
    possible: list[Demand] = [*map(Said.parse, _customs(target, refused)), *_exceptions(refused)]
    met = [each for each in possible if all(each.holds(known.size, known.ranks) for known in (target, *taken))]
    found: list[Demand] = []
    left = list(refused)
    while left:
        best = max(met, key=lambda demand: sum(not demand.holds(each.size, each.ranks) for each in left))
        kept = [each for each in left if best.holds(each.size, each.ranks)]
        assert len(kept) < len(left), "nothing was both refused and taken"
        found.append(best)
        left = kept
    return tuple(found)


def _customs(target: Wanted, refused: Sequence[Wanted]) -> Iterator[str]:
    """Yield texts of common demands: the most usual first, and the weakest first within a kind."""
    size, ranks = target.size, target.ranks
    yield from ("ranks=2^k", "size=ranks*k", "ranks=2*k", "ranks=k^2")
    yield from _multiples(size)
    yield from (f"size={1 << each}*ranks+k" for each in range((size // ranks).bit_length()))
    yield from ("size=2^k", "size=2^k+1", "size=2^k-1", "size=k^2", "ranks=k^3")
    yield from (f"ranks={each}*k" for each in _divisors(ranks))
    yield from (f"size={each}*ranks*k" for each in _divisors(size // ranks))
    yield from (f"size={each.size + 1}+k" for each in refused)
    yield from (f"ranks={each.ranks + 1}+k" for each in refused)


def _multiples(size: int) -> Iterator[str]:
    """Yield forms of multiples of divisors of a size or of its neighbours, the smallest divisor first."""
    beside = [(each, "") for each in _divisors(size)]
    beside += [(2 * each, "+1") for each in _divisors(size - 1)] + [(2 * each, "-1") for each in _divisors(size + 1)]
    for weight, offset in sorted(beside):
        yield f"size={weight // 2 if offset else weight}*k{offset}"


def _exceptions(refused: Sequence[Wanted]) -> Iterator[Other]:
    """Yield demands that exclude a single size, number of ranks, or recording."""
    yield from (Other(size=each.size) for each in refused)
    yield from (Other(ranks=each.ranks) for each in refused)
    yield from (Other(each.size, each.ranks) for each in refused)


def _divisors(number: int) -> list[int]:
    """Return the divisors above 1 of a number, ascending; none for 0."""
    small = [each for each in range(1, isqrt(max(number, 0)) + 1) if number % each == 0]
    return sorted({*small, *(number // each for each in small)} - {1})
