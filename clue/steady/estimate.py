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
#: Difference of a late slope from the others beyond which chance does not explain it, standard deviations.
_CHANCE = 1.5


@dataclass(frozen=True, slots=True)
class Late:
    """A measurement after a much longer warm-up than those in the strata of a stretch.

    Attributes:
        seconds: Time of an iteration.
        computing: Mean computation of the measured iterations, seconds.
        at: Where they are: 0 in the first stratum, 1 in the second, and so on.
        measured: Number of measured iterations.
    """

    seconds: float
    computing: float
    at: float
    measured: int


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
        late: A later measurement, if there is one.
    """

    seconds: Doubles
    computing: Doubles
    known: Doubles
    iterations: Doubles
    measured: Doubles
    coupled: bool
    late: Late | None = None

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
        left = 1.0 - float(self.measured.sum() / self.iterations.sum())
        return self._of_one(self._rest(explained)) * float((self.iterations**2).sum()) * max(left, 0.0)

    def out_of_step(self, *, explained: bool) -> float:
        """Return by how much the total would differ at the late slope, seconds; 0 if chance explains that.

        Where ranks take long to fall into step, every stratum has the same slope, and a later one differs.
        """
        if self.late is None:
            return 0.0
        rest = self._rest(explained)
        there = self.late.seconds - self.late.computing if explained else self.late.seconds
        apart = abs(there - float(np.interp(self.late.at, np.arange(len(rest)), rest)))
        chance = self._of_one(rest) * (1.0 + float(self.measured.mean()) / self.late.measured)
        return apart * float(self.iterations.sum()) if apart > _CHANCE * math.sqrt(chance) else 0.0

    def _rest(self, explained: bool) -> Doubles:
        return self.seconds - self.computing if explained else self.seconds

    @staticmethod
    def _of_one(rest: Doubles) -> float:
        """Return the variance of the slope of one stratum."""
        second = (rest[:-2] - 2 * rest[1:-1] + rest[2:]) / math.sqrt(6)
        return float((second**2).mean())

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the variance: m² / tr R² for m second differences with the correlation matrix R.

        Neighbours correlate by -2/3, those after them by 1/6.
        """
        m = len(self.seconds) - 2
        return m**2 / (m + 2 * (m - 1) * 4 / 9 + 2 * max(m - 2, 0) / 36)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The time of all iterations, seconds.

    Attributes:
        seconds: That time.
        half: Half the width of its 80 % interval.
        out_of_step: By how much it would differ at later slopes.
    """

    seconds: float
    half: float
    out_of_step: float


def estimate(stretches: Sequence[Slopes], hidden: float = 0.0) -> Estimate:
    """Estimate the time of all iterations of some stretches.

    Args:
        stretches: Their slopes.
        hidden: Computation outside of them, seconds, beside which the slowest rank may go on; 0 if ranks are coupled.
    """
    total = sum(each.total for each in stretches)
    # Ranks drift apart for longer than a measured block; the computation of the slowest rank is known.
    drifting = not all(each.coupled for each in stretches)
    plain, rest = ([each.variance(explained=explained) for each in stretches] for explained in (False, True))
    explained = drifting or sum(rest) < sum(plain)
    moved = sum(each.moved for each in stretches) if explained else 0.0
    variances = zip(rest if explained else plain, stretches, strict=True)
    half = Scatter.of_sum(Scatter(math.sqrt(variance), each.degrees) for variance, each in variances).reach
    later = sum(each.out_of_step(explained=explained) for each in stretches)
    half = max(half, abs(moved) * (1.0 if drifting else _REACH), later, hidden)
    return Estimate(total + moved, half, later)
