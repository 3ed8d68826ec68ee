"""Estimates the time of many iterations from the slopes of a few.

In each stratum of iterations, a slope is measured: the time of an iteration, as the difference of a longer and a
shorter run. The computation of iterations, which is known for all of them, explains most differences between strata:
this is the difference estimator of a mean (W. G. Cochran, *Sampling Techniques*, 1977, ch. 7). Strata are spread evenly
along a loop, so that a slow trend is measured in the middle of each; the variance of the rest is estimated by second
differences, in which the trend cancels (K. M. Wolter, *Introduction to Variance Estimation*, 2007, 8.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.uncertainty import Scatter

Doubles = npt.NDArray[np.float64]
#: Least half width of an interval, as a share of the correction for computation; the share is 1 if ranks drift apart.
_REACH = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """Measurements in the strata of a stretch, each of shape (strata,).

    Attributes:
        seconds: Time of an iteration.
        computing: Mean computation of the measured iterations, seconds.
        known: Mean computation of all iterations that the stratum represents, seconds.
        iterations: Number of iterations that each stratum represents.
        measured: Number of iterations measured in each.
        coupled: Whether no rank can run ahead of another without limit.
    """

    seconds: Doubles
    computing: Doubles
    known: Doubles
    iterations: Doubles
    measured: Doubles
    coupled: bool

    @property
    def total(self) -> float:
        """Time of all iterations at these slopes, seconds."""
        return float(self.seconds @ self.iterations)

    @property
    def moved(self) -> float:
        """Correction, seconds, for iterations that compute more than the measured ones."""
        return float((self.known - self.computing) @ self.iterations)

    def variance(self, *, explained: bool) -> float:
        """Return the variance of the total, or of its part not explained by computation; needs three strata or more."""
        rest = self.seconds - self.computing if explained else self.seconds
        second = (rest[:-2] - 2 * rest[1:-1] + rest[2:]) / math.sqrt(6)
        left = 1.0 - float(self.measured.sum() / self.iterations.sum())
        return float((second**2).mean() * (self.iterations**2).sum()) * max(left, 0.0)

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the variance: m² / tr R² for m second differences with the correlation matrix R.

        Neighbours correlate by -2/3, those after them by 1/6.
        """
        m = len(self.seconds) - 2
        return m**2 / (m + 2 * (m - 1) * 4 / 9 + 2 * max(m - 2, 0) / 36)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The time of all iterations, in seconds, and half the width of its 80 % interval."""

    seconds: float
    half: float


def estimate(stretches: Sequence[Slopes]) -> Estimate:
    """Estimate the time of all iterations of some stretches."""
    total = sum(each.total for each in stretches)
    # Ranks drift apart for longer than a measured block; the computation of the slowest rank is known.
    drifting = not all(each.coupled for each in stretches)
    plain, rest = ([each.variance(explained=explained) for each in stretches] for explained in (False, True))
    explained = drifting or sum(rest) < sum(plain)
    moved = sum(each.moved for each in stretches) if explained else 0.0
    variances = zip(rest if explained else plain, stretches, strict=True)
    half = Scatter.of_sum(Scatter(math.sqrt(variance), each.degrees) for variance, each in variances).reach
    return Estimate(total + moved, max(half, abs(moved) * (1.0 if drifting else _REACH)))
