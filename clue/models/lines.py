"""Lines through measured points, on logarithmic scales, that never fall as a size grows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clue.models.points import Points
from clue.models.terms import Floats, Term
from clue.models.trials import Estimate, Flags, Trials, estimate

#: Extrapolation: lines keep the slope of the outermost interval of at least this factor of the size, and the maximum
#: slope is this power of the size.
FAR, STEEPEST = 3.9, 4.0
#: Maximum number of points of a line; with more sizes, neighbours are merged.
MOST = 64


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines through measured points, on logarithmic scales.

    Attributes:
        along: Size that they depend on.
        sizes: Its measured values, ascending.
        seconds: Measured times, never falling.
        within: Root mean square of the relative error at points left out that lie between others.
        overall: The same at all points left out.
    """

    along: Term
    sizes: tuple[float, ...]
    seconds: tuple[float, ...]
    within: float = 0.0
    overall: float = 0.0

    @classmethod
    def through(cls, points: Points, along: Term, at: Flags) -> Lines:
        """Return the lines through the mean at each size; neighbours that fall are replaced by their mean."""
        logs = np.log(along.of(points.features, len(points))[at])
        distinct, place = np.unique(logs, return_inverse=True)
        place = place * min(len(distinct), MOST) // len(distinct)
        counts = points.weights[at]
        weight = np.bincount(place, counts).astype(np.float64)
        sizes = np.bincount(place, counts * logs) / weight
        times = rising(np.bincount(place, counts * np.log(points.seconds[at])) / weight, weight)
        return cls(along, tuple(np.exp(sizes).tolist()), tuple(np.exp(times).tolist()))

    def at(self, size: Floats) -> Floats:
        """Return the seconds at sizes."""
        at, sizes, seconds = np.log(np.maximum(size, 1e-300)), np.log(self.sizes), np.log(self.seconds)
        first, last = _slope(sizes, seconds), _slope(-sizes[::-1], -seconds[::-1])
        further = first * np.minimum(at - sizes[0], 0.0) + last * np.maximum(at - sizes[-1], 0.0)
        return np.asarray(np.exp(np.interp(at, sizes, seconds) + further))

    def estimate(self, features: Mapping[str, Floats], samples: int) -> Estimate:
        """Return the prediction for samples."""
        size = self.along.of(features, samples)
        return estimate(self.at(size), size[None], [(self.sizes[0], self.sizes[-1])], self.within, self.overall)

    def __str__(self) -> str:
        return f"lines through {len(self.sizes)} points along {self.along}"


def rising(values: Floats, weights: Floats) -> Floats:
    """Return the weighted isotonic regression of values (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, total, count = value, weight, 1
        while pools and pools[-1][0] >= mean:
            before, held, number = pools.pop()
            mean, total, count = (mean * total + before * held) / (total + held), total + held, count + number
        pools.append((mean, total, count))
    return np.repeat([mean for mean, _, _ in pools], [count for _, _, count in pools])


def lines(trials: Trials, terms: Sequence[Term], least: float) -> list[tuple[Lines, float]]:
    """Return lines along every size, the most plausible first, with the logarithm of their weight.

    Args:
        trials: Trials by which they are judged.
        terms: Terms that lines may go along.
        least: Error of the best formula. Lines through two sizes cannot be judged, and get the same error.
    """
    found = []
    for along, size in _alongs(trials.points, terms):
        judgement = trials.judge(_tried(trials, along, size), 1)
        off = (judgement.within, judgement.overall)
        within, overall = (float(each[0]) if judgement.judged else least for each in off)
        whole = Lines.through(trials.points, along, np.ones(len(size), bool))
        weight = float(trials.evidence(overall, least)) + trials.prior(along)
        found.append((replace(whole, within=within, overall=overall), weight))
    return sorted(found, key=lambda each: -each[1])


def _alongs(points: Points, terms: Sequence[Term]) -> Iterator[tuple[Term, Floats]]:
    """Yield the terms that lines may go along: those without logarithms that are not powers of earlier ones."""
    seen = set()
    for term in terms:
        size = term.of(points.features, len(points))
        if not term.logs and points.seconds.all() and size.all() and np.ptp(size):
            shape = tuple((name, power / term.powers[0][1]) for name, power in term.powers)
            if shape not in seen:
                yield term, size
            seen.add(shape)


def _tried(trials: Trials, along: Term, size: Floats) -> Iterator[tuple[Flags, Floats, Flags]]:
    """Yield for each trial the points left out, the predictions of lines there, and whether they interpolate."""
    for out in trials.left_out:
        if np.ptp(size[~out]):
            kept = Lines.through(trials.points, along, ~out)
            inside = (size[out] >= size[~out].min()) & (size[out] <= size[~out].max())
            yield out, (kept.at(size[out]) / trials.points.seconds[out])[:, None], inside[:, None]


def _slope(sizes: Floats, seconds: Floats) -> float:
    """Return the slope before the first point: that from it to the nearest point far enough away."""
    far = min(int(np.searchsorted(sizes, sizes[0] + math.log(FAR))), len(sizes) - 1)
    return float(min((seconds[far] - seconds[0]) / (sizes[far] - sizes[0]), STEEPEST))
