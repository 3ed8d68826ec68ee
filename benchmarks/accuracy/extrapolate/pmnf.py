"""Fits of makespans in performance model normal form, as in Extra-P: a constant plus terms n^i log^j n * P^k log^l P.

Terms are selected by leave-one-out cross-validation: terms are added one at a time, as long as each improves the
prediction of the held-out measurements. Errors are relative. See Calotoiu et al., Using Automated Performance Modeling
to Find Scalability Bugs in Complex Codes (SC 2013), and Fast Multi-Parameter Performance Modeling (CLUSTER 2016).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
#: Exponents of the size, of the number of ranks (which may also be negative), and of their logarithms.
SIZE_EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
RANK_EXPONENTS = (-1.0, -2 / 3, -0.5, -1 / 3, 0.0, 1 / 3, 0.5, 2 / 3, 1.0, 2.0)
LOGARITHMS = (0, 1)
#: Largest number of terms besides the constant, and factor by which each must reduce the cross-validation error.
MOST_TERMS, BETTER = 2, 0.9
#: Mean squared error below which only rounding errors are left.
EXACT = 1e-24


@dataclass(frozen=True, slots=True)
class Term:
    """A product n^size log^size_log n * P^ranks log^ranks_log P."""

    size: float
    size_log: int
    ranks: float
    ranks_log: int

    def of(self, sizes: Doubles, ranks: Doubles) -> Doubles:
        """Return the term's values at sizes and numbers of ranks."""
        of_size: Doubles = sizes**self.size * np.log2(sizes) ** self.size_log
        of_ranks: Doubles = ranks**self.ranks * np.log2(ranks) ** self.ranks_log
        return of_size * of_ranks


TERMS = tuple(
    Term(*exponents) for exponents in product(SIZE_EXPONENTS, LOGARITHMS, RANK_EXPONENTS, LOGARITHMS) if any(exponents)
)


@dataclass(frozen=True, slots=True)
class Fit:
    """A model of makespans: a constant and some terms; the coefficients are in the same order."""

    terms: tuple[Term, ...]
    coefficients: tuple[float, ...]

    def __call__(self, size: int, ranks: int) -> float:
        """Return the makespan at a size and a number of ranks, seconds."""
        at = np.array([float(size)]), np.array([float(ranks)])
        return float((_columns(self.terms, *at) @ np.array(self.coefficients)).item())


def fit(points: Sequence[tuple[int, int, float]]) -> Fit:
    """Fit makespans; each point is a size, a number of ranks and a makespan in seconds."""
    sizes, ranks, seconds = (np.array(column, np.float64) for column in zip(*points, strict=True))
    chosen: tuple[Term, ...] = ()
    best = _left_out(_columns(chosen, sizes, ranks), seconds)
    while len(chosen) < MOST_TERMS and best > EXACT:
        errors = [_left_out(_columns((*chosen, term), sizes, ranks), seconds) for term in TERMS]
        least = min(range(len(TERMS)), key=errors.__getitem__)
        if not errors[least] < BETTER * best:
            break
        chosen, best = (*chosen, TERMS[least]), errors[least]
    columns = _columns(chosen, sizes, ranks) / seconds[:, None]
    coefficients = np.linalg.lstsq(columns, np.ones(len(seconds)), rcond=None)[0]
    return Fit(chosen, tuple(coefficients.tolist()))


def _columns(terms: Sequence[Term], sizes: Doubles, ranks: Doubles) -> Doubles:
    return np.column_stack([np.ones_like(sizes), *(term.of(sizes, ranks) for term in terms)])


def _left_out(columns: Doubles, seconds: Doubles) -> float:
    """Return the mean squared relative error of each point by a fit to all others; infinite for too few points."""
    relative = columns / seconds[:, None]
    scale = np.abs(relative).max(axis=0)
    if len(seconds) <= columns.shape[1] or not scale.all():
        return math.inf
    orthogonal, triangle = np.linalg.qr(relative / scale)
    if np.abs(np.diag(triangle)).min() < 1e-9:
        return math.inf
    leverage = np.square(orthogonal).sum(axis=1)
    residual = 1.0 - orthogonal @ orthogonal.sum(axis=0)
    return float(np.square(residual / np.maximum(1.0 - leverage, 1e-9)).mean())
