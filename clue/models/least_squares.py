"""Non-negative least squares over every subset of a few columns at once.

Where the least squares of a subset have a negative coefficient, its non-negative ones have a zero: they are those of
the best of its subsets with one column less. So all subsets together, small ones first, need no search for active sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from clue.models.terms import Floats

Subset = tuple[int, ...]
#: Below this determinant, for columns of length 1, columns of a subset are taken for multiples of each other.
_DEPENDENT = 1e-11
#: A coefficient is 0 below this, for columns of length 1.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Solutions:
    """The fits of several problems over all subsets of one number of columns.

    Attributes:
        subsets: Which columns.
        coefficients: None below 0, shape (problems, subsets, columns).
        loss: Sums of squares, shape (problems, subsets).
        own: Where every column of the subset has a coefficient above 0, shape (problems, subsets).
    """

    subsets: tuple[Subset, ...]
    coefficients: Floats
    loss: Floats
    own: npt.NDArray[np.bool_]


def all_subsets(gram: Floats, moment: Floats, largest: int) -> Iterator[Solutions]:
    """Yield the fits over subsets of 1, 2, … columns.

    Args:
        gram: Of columns with each other, shape (problems, columns, columns).
        moment: Of columns with the target, whose own is left out: losses are less by it. Shape (problems, columns).
        largest: The most columns of a subset.
    """
    smaller: Solutions | None = None
    for size in range(1, min(largest, gram.shape[1]) + 1):
        smaller = _without_negative(_unbounded(gram, moment, size), smaller)
        yield smaller


def _unbounded(gram: Floats, moment: Floats, size: int) -> Solutions:
    """Return plain least squares of all subsets of one size; of dependent columns they are no own."""
    problems, columns = moment.shape
    subsets = tuple(combinations(range(columns), size))
    index = np.array(subsets)
    length = np.sqrt(np.maximum(gram[:, np.arange(columns), np.arange(columns)], 1e-300))[:, index]
    part = gram[:, index[:, :, None], index[:, None, :]] / (length[..., :, None] * length[..., None, :])
    dependent = np.linalg.det(part) < _DEPENDENT
    part[dependent] = np.eye(size)
    right = moment[:, index] / length
    scaled = np.linalg.solve(part, right[..., None])[..., 0]
    coefficients = np.zeros((problems, len(subsets), columns))
    np.put_along_axis(coefficients, np.broadcast_to(index, scaled.shape), scaled / length, axis=2)
    return Solutions(subsets, coefficients, -(scaled * right).sum(axis=2), (scaled > _NOTHING).all(axis=2) & ~dependent)


def _without_negative(plain: Solutions, smaller: Solutions | None) -> Solutions:
    """Replace those that are no own by the best of their subsets with a column less."""
    if smaller is None:
        return Solutions(plain.subsets, np.where(plain.own[..., None], plain.coefficients, 0.0),
                         np.where(plain.own, plain.loss, 0.0), plain.own)  # fmt: skip
    place = {subset: i for i, subset in enumerate(smaller.subsets)}
    parts = np.array([[place[part] for part in combinations(subset, len(subset) - 1)] for subset in plain.subsets])
    best = np.argmin(smaller.loss[:, parts], axis=2)
    part = np.take_along_axis(np.broadcast_to(parts, (len(best), *parts.shape)), best[..., None], axis=2)[..., 0]
    coefficients = np.take_along_axis(smaller.coefficients, part[..., None], axis=1)
    loss = np.take_along_axis(smaller.loss, part, axis=1)
    return Solutions(
        plain.subsets,
        np.where(plain.own[..., None], plain.coefficients, coefficients),
        np.where(plain.own, plain.loss, loss),
        plain.own,
    )
