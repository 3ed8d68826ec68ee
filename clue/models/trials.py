"""What models are judged by: how they predict points that were left out of their fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.models.points import Points
from clue.models.terms import RANKS, SIZE, Floats, Term

Flags = npt.NDArray[np.bool_]

#: Parts that the values of a feature are cut into where it has more of them.
PARTS = 16
#: Beyond a factor of this, a prediction is wrong, however far it is off.
WRONG = 100.0
#: No model is taken to be nearer than this share.
FLOOR = 1e-6
#: How much each point tells of which model is right, as a share of what it would if nothing were wrong but noise.
EVIDENCE = 0.4
#: How many times likelier a term in sizes that ranks have for themselves is than another, where such sizes are known.
PREFERENCE = 3.0
MULTIPLICITY = 0.5
COST = 1.5
FEW = 3.0
#: What a model is off by for each doubling of a size beyond what was measured, however well it fits there.
DISCREPANCY = 0.07
#: How far outside a range a value may be that rounding alone put there.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Which points are left out of one fit after the other.

    Of each feature every value once, or as many neighbours together as make few parts, so that models show how they pass
    what they do not know; and its largest values together, so that they show how they go on beyond what they know.

    Attributes:
        points: All points.
        left_out: Shape (trials, points); no trial leaves out all.
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
    def floor(self) -> float:
        """How far a point is off by noise alone, as a share."""
        return max(FLOOR, self.points.noise / math.sqrt(float(np.median(self.points.counts))))

    def judge(self, trials: Iterable[tuple[Flags, Floats, Flags]], models: int) -> Judgement:
        """Return how far models are off.

        Args:
            trials: What was left out, shape (points,); what models predict there as a share of the truth, and whether they
                have such values among those they were fitted to, each of shape (points left out, models).
            models: How many models there are.
        """
        within, all_of, within_weight, weight = np.zeros((4, models))
        for out, share, inside in trials:
            counts = self.points.weights[out]
            squares = np.log(np.clip(share, 1 / WRONG, WRONG)) ** 2
            within += counts @ (squares * inside)
            within_weight += counts @ inside
            all_of += counts @ squares
            weight += counts.sum()
        beyond = all_of / np.maximum(weight, 1e-300)
        # As if one point more had been off by as much as all are: so few points within say little.
        scatter = np.minimum((within + FEW * beyond) / (within_weight + FEW), beyond)
        return Judgement(np.maximum(np.sqrt(scatter), self.floor), np.maximum(np.sqrt(beyond), self.floor), weight > 0)

    def evidence(self, beyond: npt.ArrayLike, nearest: float) -> Floats:
        """Return the logarithm of how plausible models are that are off by so much, where the best is by ``nearest``.

        Each point is evidence of its own as far as noise is what models are off by. The rest is what they do not describe,
        which points share.
        """
        noise = min(1.0, (self.floor / nearest) ** 2)
        return -(EVIDENCE + (1 - EVIDENCE) * noise) * min(len(self.points), PARTS) * np.log(beyond)

    def odds(self, term: Term) -> float:
        """Return the logarithm of how much likelier a term is than others: sizes of ranks come before those of the run."""
        local = self.points.features.keys() - {SIZE, RANKS}
        return -math.log(PREFERENCE) if local and term.features & {SIZE, RANKS} else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """How far models are off at points left out, as shares: root mean squares of logarithms, shape (models,).

    Attributes:
        scatter: At points between those that they were fitted to.
        beyond: At all.
        judged: Whether there were any.
    """

    scatter: Floats
    beyond: Floats
    judged: Flags


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a model says of samples, each of shape (samples,).

    Attributes:
        seconds: How long they take.
        variance: Of the logarithm of the seconds.
        inside: Whether all sizes it goes by have values between those measured.
    """

    seconds: Floats
    variance: Floats
    inside: Flags


def estimate(
    seconds: Floats, sizes: Floats, ranges: Sequence[tuple[float, float]], off: tuple[float, float]
) -> Estimate:
    """Return what a model says.

    Args:
        seconds: How long samples take.
        sizes: What it goes by, shape (sizes, samples).
        ranges: Between what values each size was measured.
        off: How far the model is off there, and beyond.
    """
    low, high = np.array(ranges).T[:, :, None]
    inside = ((sizes >= low * (1 - _ROUNDING)) & (sizes <= high * (1 + _ROUNDING))).all(axis=0)
    with np.errstate(divide="ignore", over="ignore"):
        doublings = np.log2(np.maximum(np.maximum(sizes / high, low / sizes), 1.0)).max(axis=0)
    variance = np.where(inside, off[0], off[1]) ** 2 + (DISCREPANCY * np.minimum(doublings, 1e3)) ** 2
    return Estimate(seconds, variance, inside)
