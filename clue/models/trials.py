"""How models are judged: by what they predict of points that were left out of their fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.models.points import Points
from clue.models.terms import RANKS, SIZE, Floats, Term

Flags = npt.NDArray[np.bool_]

#: How many parts the values of a feature are cut into at most.
PARTS = 16
#: A prediction that is off by this factor is as wrong as any that is further off.
WRONG = 100.0
#: No model is taken to be closer than this share.
CLOSEST = 1e-6
#: How much a point says about which model is right where what models leave out is larger than noise, as a share of what
#: independent points say.
EVIDENCE = 0.4
#: How many times likelier a term in local sizes is than one in those of the run, where features have both.
PREFERENCE = 3.0
#: Few points between others say little of how far a model is off there: all points count as this many more.
FEW = 3.0
#: By how much a model that fits is off for each doubling of a size beyond what was measured: for instance because a
#: cache is full. PREFERENCE, EVIDENCE, FEW and this were chosen on five kernels and judged on ten others.
DISCREPANCY = 0.07
#: How far outside a range rounding may put a value.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """How far models are off at points left out: root mean squares of logarithms of ratios, shape (models,).

    Attributes:
        within: At points between those that they were fitted to.
        overall: At all points.
        judged: Whether there were any.
    """

    within: Floats
    overall: Floats
    judged: bool


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Fits from which points are left out.

    Each value of each feature is left out once (where it has many, neighbours together): so models show how they bridge
    what they have not seen. The largest values are left out together: so models show how they go on beyond it.

    Attributes:
        points: All points.
        left_out: Which are left out of which trial, never all; shape (trials, points).
    """

    points: Points
    left_out: Flags

    @classmethod
    def of(cls, points: Points) -> Trials:
        """Return the trials of points."""
        out: dict[bytes, Flags] = {}
        for values in points.features.values():
            distinct, place = np.unique(values, return_inverse=True)
            parts = min(len(distinct), PARTS)
            part = place * parts // len(distinct)
            for left in [part == i for i in range(parts)] + [part >= i for i in range((parts + 1) // 2, parts)]:
                if not left.all():
                    out.setdefault(left.tobytes(), left)
        return cls(points, np.array(list(out.values()), bool).reshape(len(out), len(points)))

    @property
    def noise(self) -> float:
        """How far a point is off by noise alone, as a share."""
        return max(CLOSEST, self.points.noise / math.sqrt(float(np.median(self.points.counts))))

    def judge(self, trials: Iterable[tuple[Flags, Floats, Flags]], models: int) -> Judgement:
        """Return how far models are off.

        Args:
            trials: What is left out, shape (points,); what models predict there as a share of the truth; and whether
                that is between the points they were fitted to. The last two have shape (points left out, models).
            models: How many there are.
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
        """Return the logarithm of how plausible models are that are off by so much, where the best is by ``least``.

        Points are independent as far as noise is what models are off by. The rest is what models leave out, which
        neighbours share.
        """
        noise = min(1.0, (self.noise / least) ** 2)
        independent = (EVIDENCE + (1 - EVIDENCE) * noise) * min(len(self.points), PARTS)
        return np.asarray(-independent * np.log(off))

    def prior(self, term: Term) -> float:
        """Return the logarithm of how plausible a term is before anything is measured."""
        local = self.points.features.keys() - {SIZE, RANKS}
        return -math.log(PREFERENCE) if local and term.features & {SIZE, RANKS} else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What a model says of samples, each of shape (samples,).

    Attributes:
        seconds: How long they take.
        variance: Of the logarithm of the seconds.
        inside: Whether every size that the model depends on has a value between those measured.
    """

    seconds: Floats
    variance: Floats
    inside: Flags


def estimate(
    seconds: Floats, sizes: Floats, ranges: Sequence[tuple[float, float]], within: float, overall: float
) -> Estimate:
    """Return what a model says.

    Args:
        seconds: How long samples take, shape (samples,).
        sizes: What the model depends on, shape (sizes, samples).
        ranges: The least and the largest measured value of each size.
        within: How far the model is off between points.
        overall: How far it is off where others lie beyond.
    """
    low, high = np.array(ranges).T[:, :, None]
    inside = ((sizes >= low * (1 - ROUNDING)) & (sizes <= high * (1 + ROUNDING))).all(axis=0)
    factor = np.maximum(sizes / np.maximum(high, 1e-300), low / np.maximum(sizes, 1e-300))
    doublings = np.log2(np.clip(factor, 1.0, None)).max(axis=0)
    return Estimate(seconds, np.where(inside, within, overall) ** 2 + (DISCREPANCY * doublings) ** 2, inside)
