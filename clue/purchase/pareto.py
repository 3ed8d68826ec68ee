"""The Pareto front: rows that no other row dominates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]


def front(figures: Sequence[Sequence[float]] | Doubles) -> list[int]:
    """Return the indices of the rows on the Pareto front: less is better in every column.

    A row is on it unless another one dominates it: is as good in all columns and better in one. Equal rows are all on
    it.
    """
    if not len(figures):
        return []
    rows = np.asarray(figures, np.float64)
    # In this order a row comes after all rows that dominate it, so the first remaining row is on the front.
    left = np.lexsort(rows.T[::-1])
    found: list[int] = []
    while left.size:
        first, others = rows[left[0]], rows[left]
        found += left[(others == first).all(axis=1)].tolist()
        left = left[(others < first).any(axis=1)]
    return sorted(found)


def beaten(rows: Doubles, by: Doubles) -> Truths:
    """Tell which rows are dominated by a row of another table: shape (rows,)."""
    found = np.zeros(len(rows), np.bool_)
    for each in by:
        left = ~found
        found[left] = (each <= rows[left]).all(axis=1) & (each < rows[left]).any(axis=1)
    return found
