"""What many iterations take, by the slopes of a few.

In each stratum of iterations a slope is measured: what an iteration takes beyond a shorter run of the same. How slopes
differ from stratum to stratum is mostly explained by the computation of the iterations measured, which is known of all
others, too: the difference estimator of a mean (W. G. Cochran, *Sampling Techniques*, 1977, ch. 7). Strata lie evenly
along the progress of a loop, so that what rises or falls slowly is measured in the middle of each, and the variance of
the rest is estimated by second differences, in which it cancels (K. M. Wolter, *Introduction to Variance Estimation*,
2007, 8.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.uncertainty import TAIL, student

Doubles = npt.NDArray[np.float64]
#: Where computation moves an estimate, its interval reaches at least so far of that, or all of it where ranks drift.
_REACH = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """What was measured in the strata of a stretch, each shape (strata,).

    Attributes:
        seconds: What an iteration takes.
        computing: Seconds of computation of an iteration: of those measured.
        known: The same of all that the strata stand for.
        iterations: How many each stratum stands for.
        measured: How many were measured in each.
        coupled: Whether no rank can run ahead of another for ever.
    """

    seconds: Doubles
    computing: Doubles
    known: Doubles
    iterations: Doubles
    measured: Doubles
    coupled: bool

    @property
    def total(self) -> float:
        """What all iterations take by these slopes, seconds."""
        return float(self.seconds @ self.iterations)

    @property
    def moved(self) -> float:
        """What all iterations take longer because they compute more than those measured, seconds."""
        return float((self.known - self.computing) @ self.iterations)

    def variance(self, *, explained: bool) -> float:
        """Return the variance of the total, or of what computation does not explain; of at least three strata."""
        rest = self.seconds - self.computing if explained else self.seconds
        second = (rest[:-2] - 2 * rest[1:-1] + rest[2:]) / math.sqrt(6)
        left = 1.0 - float(self.measured.sum() / self.iterations.sum())
        return float((second**2).mean() * (self.iterations**2).sum()) * max(left, 0.0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What all iterations take, in seconds, and half the width of its 80 % interval."""

    seconds: float
    half: float


def estimate(stretches: Sequence[Slopes]) -> Estimate:
    """Estimate what all iterations of some stretches take."""
    total = sum(each.total for each in stretches)
    degrees = sum(len(each.seconds) - 2 for each in stretches)
    # Ranks that drift apart do so for longer than a block: what the slowest computes is known.
    drifting = not all(each.coupled for each in stretches)
    plain, rest = (sum(each.variance(explained=explained) for each in stretches) for explained in (False, True))
    explained = drifting or rest < plain
    moved = sum(each.moved for each in stretches) if explained else 0.0
    half = student(TAIL, degrees) * math.sqrt(rest if explained else plain)
    return Estimate(total + moved, max(half, abs(moved) * (1.0 if drifting else _REACH)))
