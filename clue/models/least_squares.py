"""Non-negative least squares of a few columns: over all of them, and over every subset at once.

If the plain least-squares fit of a subset has a coefficient that is not above 0, the non-negative fit has a zero: it is
the best fit over the subset's own subsets with one column less. In order of size, no subset needs a search for its
active set, and all subsets together take a few array operations. Where only the fit over all columns is wanted, a
search takes fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from clue.models.terms import Floats

#: Columns of length 1 count as linearly dependent if the determinant of their Gram matrix is below this.
_DEPENDENT = 1e-11
#: A coefficient of columns of length 1 below this counts as 0.
_ZERO = 1e-9
#: Number of steps of a search that change all columns that violate a condition; maximum number of all steps.
_TOGETHER, _STEPS = 10, 100


def nonnegative(gram: Floats, moment: Floats, plain: Floats) -> Floats:
    """Return the coefficients of non-negative least squares over all columns, shape (problems, columns).

    Coefficients are the best if those above 0 are a plain fit and the loss would not fall if another one rose. The
    first steps change all columns that violate this; later steps change only the last of them, which is sure to end:
    K. G. Murty, Note on a Bard-type scheme for solving the complementarity problem, Opsearch 11 (1974).

    Args:
        gram: Inner products of independent columns of length 1, shape (problems, columns, columns).
        moment: Inner products of these columns and a target of length 1, shape (problems, columns).
        plain: Coefficients of plain least squares, shape (problems, columns).
    """
    coefficients, columns = np.array(plain), moment.shape[1]
    free = plain > _ZERO
    left = np.flatnonzero(~free.all(axis=1))
    gram, moment, free = gram[left], moment[left], free[left]
    alone = np.eye(columns)
    for step in range(_STEPS):
        if not len(left):
            return coefficients
        part = np.where(free[:, :, None] & free[:, None, :], gram, alone)
        found = np.linalg.solve(part, np.where(free, moment, 0.0)[..., None])
        slope = moment - (gram @ found)[..., 0]
        coefficients[left] = found[..., 0]
        wrong = np.where(free, found[..., 0] <= _ZERO, slope > _ZERO)
        free ^= wrong if step < _TOGETHER else wrong & (np.cumsum(wrong[:, ::-1], axis=1)[:, ::-1] == 1)
        again = wrong.any(axis=1)
        left, gram, moment, free = left[again], gram[again], moment[again], free[again]
    # With almost dependent columns, rounding can make the search cycle.
    *_, every = all_subsets(gram, moment, columns)
    coefficients[left] = every.coefficients[:, 0]
    return coefficients


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """The fits of several problems over all subsets of one size.

    Attributes:
        subsets: The columns of each subset, shape (subsets, size).
        coefficients: Coefficients, none negative, shape (problems, subsets, columns).
        loss: Sum of squared residuals less that of the target, shape (problems, subsets).
        proper: Whether all columns of the subset have a coefficient above 0, shape (problems, subsets).
    """

    subsets: npt.NDArray[np.int64]
    coefficients: Floats
    loss: Floats
    proper: npt.NDArray[np.bool_]


def all_subsets(gram: Floats, moment: Floats, largest: int) -> Iterator[Fits]:
    """Yield the fits over all subsets of 1 column, of 2, and so on.

    Args:
        gram: Inner products of the columns, shape (problems, columns, columns).
        moment: Inner products of columns and target, shape (problems, columns).
        largest: Maximum number of columns of a subset.
    """
    columns = moment.shape[1]
    smaller = Fits(
        np.empty((1, 0), np.int64), np.zeros((len(moment), 1, columns)), np.zeros((len(moment), 1)), np.array(0)
    )
    for size in range(1, min(largest, columns) + 1):
        subsets, parts = _subsets(columns, size)
        smaller = _non_negative(_plain(gram, moment, subsets), smaller, parts)
        yield smaller


@cache
def _subsets(columns: int, size: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the subsets of a size, and for each the indices of its subsets with one column less."""
    subsets = list(combinations(range(columns), size))
    place = {subset: i for i, subset in enumerate(combinations(range(columns), size - 1))}
    parts = [[place[part] for part in combinations(subset, size - 1)] for subset in subsets]
    return np.array(subsets), np.array(parts)


def covariance(gram: Floats) -> Floats:
    """Return the inverse of a Gram matrix of independent columns, whatever their lengths."""
    length = np.sqrt(np.diagonal(gram))
    return np.asarray(np.linalg.inv(gram / np.outer(length, length)) / np.outer(length, length))


def _plain(gram: Floats, moment: Floats, subsets: npt.NDArray[np.int64]) -> Fits:
    """Return plain least-squares fits; those of dependent columns are not proper."""
    length = np.sqrt(np.maximum(np.diagonal(gram, axis1=1, axis2=2), 1e-300))[:, subsets]
    part = gram[:, subsets[:, :, None], subsets[:, None, :]] / (length[..., :, None] * length[..., None, :])
    dependent = np.linalg.det(part) < _DEPENDENT
    part[dependent] = np.eye(subsets.shape[1])
    right = moment[:, subsets] / length
    solution = np.linalg.solve(part, right[..., None])[..., 0]
    coefficients = np.zeros((*solution.shape[:2], moment.shape[1]))
    np.put_along_axis(coefficients, np.broadcast_to(subsets, solution.shape), solution / length, axis=2)
    proper = (solution > _ZERO).all(axis=2) & ~dependent
    return Fits(subsets, coefficients, -(solution * right).sum(axis=2), proper)


def _non_negative(plain: Fits, smaller: Fits, parts: npt.NDArray[np.int64]) -> Fits:
    """Replace fits that are not proper by the best fit over one column less."""
    best = np.argmin(smaller.loss[:, parts], axis=2)
    part = np.take_along_axis(parts[None], best[..., None], axis=2)[..., 0]
    return Fits(
        plain.subsets,
        np.where(
            plain.proper[..., None],
            plain.coefficients,
            np.take_along_axis(smaller.coefficients, part[..., None], axis=1),
        ),
        np.where(plain.proper, plain.loss, np.take_along_axis(smaller.loss, part, axis=1)),
        plain.proper,
    )
