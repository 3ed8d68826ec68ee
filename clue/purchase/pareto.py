"""The Pareto front: who is beaten by nobody in every criterion at once."""

from __future__ import annotations

from collections.abc import Sequence


def front(figures: Sequence[Sequence[float]]) -> list[int]:
    """Return the indices of the rows on the Pareto front: less is better in every column.

    A row is on it unless another is as good in all columns and better in one; of equal rows all are.
    """
    # Whoever beats a row comes before it in this order, and is itself on the front or beaten by one that is.
    found: list[int] = []
    for i in sorted(range(len(figures)), key=lambda i: tuple(figures[i])):
        if not any(_beats(figures[other], figures[i]) for other in found):
            found.append(i)
    return sorted(found)


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
