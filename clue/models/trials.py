"""Cross-validation: models are judged by their predictions of points left out of their fit."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.models.points import Points
from clue.models.terms import RANKS, SIZE, Floats, Term

Flags = npt.NDArray[np.bool_]

#: Maximum number of parts that the values of a feature are cut into.
PARTS = 16
#: Cap of the error of a prediction, as a factor.
WRONG = 100.0
#: Lower bound of the relative error of a model.
CLOSEST = 1e-6
#: Evidence of a point for a model where model error exceeds noise, relative to the evidence of an independent point.
EVIDENCE = 0.4
#: Prior odds of a term in local sizes over one in sizes of the run, where features have both.
PREFERENCE = 3.0
#: The error at points between others is uncertain if they are few: all points count as this many more of them.
FEW = 3.0
#: Relative error of a fitting model for each doubling of a size beyond the measured range, for instance because a cache
#: is full. PREFERENCE, EVIDENCE, FEW and DISCREPANCY were chosen on five kernels and judged on ten others.
DISCREPANCY = 0.07
#: Relative tolerance for values at the ends of a range, because of rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """Errors of models at points left out: root mean squares of logarithms of ratios, shape (models,).

    Attributes:
        within: Error at points between those that they were fitted to.
        overall: Error at all points.
        judged: Whether there were any points.
    """

    within: Floats
    overall: Floats
    judged: bool


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Fits from which points are left out.

    Each value of each feature is left out once (of many values, neighbours together), which tests interpolation. The
    largest values are left out together, which tests extrapolation.

    Attributes:
        points: All points.
        left_out: Points left out of each trial, never all; shape (trials, points).
        of_run: Features that are sizes of the run; others are local sizes.
    """

    points: Points
    left_out: Flags
    of_run: Collection[str] = (SIZE, RANKS)

    @classmethod
    def of(cls, points: Points, of_run: Collection[str] = (SIZE, RANKS)) -> Trials:
        """Return the trials of points."""
        out: dict[bytes, Flags] = {}
        for values in points.features.values():
            distinct, place = np.unique(values, return_inverse=True)
            parts = min(len(distinct), PARTS)
            part = place * parts // len(distinct)
            for left in [part == i for i in range(parts)] + [part >= i for i in range((parts + 1) // 2, parts)]:
                if not left.all():
                    out.setdefault(left.tobytes(), left)
        return cls(points, np.array(list(out.values()), bool).reshape(len(out), len(points)), of_run)

    @property
    def noise(self) -> float:
        """Relative error of a point due to noise alone."""
        return max(CLOSEST, self.points.noise / math.sqrt(float(np.median(self.points.counts))))

    def judge(self, trials: Iterable[tuple[Flags, Floats, Flags]], models: int) -> Judgement:
        """Return the errors of models.

        Args:
            trials: For each trial: the points left out, shape (points,); the models' predictions there as a share of
                the truth; and whether these lie between the fitted points. The last two have shape (points left out,
                models).
            models: Number of models.
        """
        between = overall = weight_between = np.zeros(models)
        weight = 0.0
        for out, share, inside in trials:
            counts = self.points.weights[out]
            squares = np.log(np.clip(share, 1 / WRONG, WRONG)) ** 2
            between, weight_between = between + counts @ (squares * inside), weight_between + counts @ inside
            overall, weight = overall + counts @ squares, weight + counts.sum()
        overall = overall / max(weight, 1e-300)
        within = np.minimum((between + FEW * overall) / (weight_between + FEW), overall)
        return Judgement(
            np.maximum(np.sqrt(within), self.noise), np.maximum(np.sqrt(overall), self.noise), bool(weight > 0)
        )

    def evidence(self, off: npt.ArrayLike, least: float) -> Floats:
        """Return the log likelihood of models with the given errors, relative to the best, whose error is ``least``.

        Points are independent as far as errors are noise. The rest is model error, which neighbours share.
        """
        noise = min(1.0, (self.noise / least) ** 2)
        independent = (EVIDENCE + (1 - EVIDENCE) * noise) * min(len(self.points), PARTS)
        return np.asarray(-independent * np.log(off))

    def prior(self, term: Term) -> float:
        """Return the logarithm of the prior of a term."""
        local = self.points.features.keys() - set(self.of_run)
        return -math.log(PREFERENCE) if local and term.features & set(self.of_run) else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Prediction of a model for samples, each of shape (samples,).

    Attributes:
        seconds: Predicted times.
        variance: Variance of the logarithm of the seconds.
        inside: Whether every size that the model depends on lies within its measured range.
    """

    seconds: Floats
    variance: Floats
    inside: Flags


def estimate(
    seconds: Floats, sizes: Floats, ranges: Sequence[tuple[float, float]], within: float, overall: float
) -> Estimate:
    """Return the prediction of a model.

    Args:
        seconds: Predicted times, shape (samples,).
        sizes: Sizes that the model depends on, shape (sizes, samples).
        ranges: Smallest and largest measured value of each size.
        within: Error of the model between points.
        overall: Error of the model at all points left out.
    """
    low, high = np.array(ranges).T[:, :, None]
    inside = ((sizes >= low * (1 - ROUNDING)) & (sizes <= high * (1 + ROUNDING))).all(axis=0)
    factor = np.maximum(sizes / np.maximum(high, 1e-300), low / np.maximum(sizes, 1e-300))
    doublings = np.log2(np.clip(factor, 1.0, None)).max(axis=0)
    return Estimate(seconds, np.where(inside, within, overall) ** 2 + (DISCREPANCY * doublings) ** 2, inside)
