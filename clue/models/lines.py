"""Lines between measured points, on logarithmic scales, that never fall as a size grows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clue.models.points import Points
from clue.models.terms import Floats, Term
from clue.models.trials import Estimate, Flags, Trials, estimate

#: Beyond their ends lines go on as they do over this factor, and not more steeply than this power.
FAR, STEEPEST = math.log(3.9), 4.0


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines between measured points, on logarithmic scales.

    Attributes:
        along: The size that they go along.
        sizes: Where it was measured, rising.
        seconds: What was, never falling.
        scatter: How far they are off between points, as a share: root mean square at points left out.
        beyond: The same with those beyond them.
    """

    along: Term
    sizes: tuple[float, ...]
    seconds: tuple[float, ...]
    scatter: float
    beyond: float

    @classmethod
    def through(cls, points: Points, along: Term, at: Flags) -> Lines:
        """Return the lines through some points: through the mean of those of one size, and of those that would fall."""
        sizes, place = np.unique(along.of(points.features, len(points))[at], return_inverse=True)
        weight = np.bincount(place, points.weights[at]).astype(np.float64)
        logs = np.bincount(place, points.weights[at] * np.log(points.seconds[at])) / weight
        return cls(along, tuple(sizes.tolist()), tuple(np.exp(rising(logs, weight)).tolist()), 0.0, 0.0)

    def at(self, size: Floats) -> Floats:
        """Return the seconds at sizes; beyond their ends the lines go on."""
        at, sizes, seconds = np.log(np.maximum(size, 1e-300)), np.log(self.sizes), np.log(self.seconds)
        first, last = _slope(sizes, seconds), _slope(-sizes[::-1], -seconds[::-1])
        further = first * np.minimum(at - sizes[0], 0.0) + last * np.maximum(at - sizes[-1], 0.0)
        return np.asarray(np.exp(np.interp(at, sizes, seconds) + further))

    def estimate(self, features: Mapping[str, Floats], samples: int) -> Estimate:
        """Return what they say of samples."""
        size = self.along.of(features, samples)
        return estimate(self.at(size), size[None], [(self.sizes[0], self.sizes[-1])], (self.scatter, self.beyond))

    def __str__(self) -> str:
        return f"lines through {len(self.sizes)} points along {self.along}"


def _slope(sizes: Floats, seconds: Floats) -> float:
    """Return how lines go on before their first point: as they do between it and the first that is far enough."""
    far = min(int(np.searchsorted(sizes, sizes[0] + FAR)), len(sizes) - 1)
    return float(min((seconds[far] - seconds[0]) / (sizes[far] - sizes[0]), STEEPEST))


def rising(values: Floats, weights: Floats) -> Floats:
    """Return the values that never fall and are nearest, by weighted least squares: adjacent violators are pooled."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, total, count = value, weight, 1
        while pools and pools[-1][0] >= mean:
            before, held, number = pools.pop()
            mean, total, count = (mean * total + before * held) / (total + held), total + held, count + number
        pools.append((mean, total, count))
    return np.repeat([mean for mean, _, _ in pools], [count for _, _, count in pools])


def lines(trials: Trials, terms: Sequence[Term], nearest: float) -> list[tuple[Lines, float]]:
    """Return lines along every size, with the logarithm of their weight."""
    points, found = trials.points, []
    for along, size in _alongs(points, terms):
        judgement = trials.judge(_tried(trials, along, size), 1)
        if judgement.judged[0]:
            whole = Lines.through(points, along, np.ones(len(points), bool))
            judged = replace(whole, scatter=float(judgement.scatter[0]), beyond=float(judgement.beyond[0]))
            found.append((judged, float(trials.evidence(judged.beyond, nearest)) + trials.odds(along)))
    return found


def _tried(trials: Trials, along: Term, size: Floats) -> Iterator[tuple[Flags, Floats, Flags]]:
    """Yield what was left out, what lines without it say of it, and whether they have such sizes."""
    for out in trials.left_out:
        if np.ptp(size[~out]):
            kept = Lines.through(trials.points, along, ~out)
            inside = (size[out] >= kept.sizes[0]) & (size[out] <= kept.sizes[-1])
            yield out, (kept.at(size[out]) / trials.points.seconds[out])[:, None], inside[:, None]


def _alongs(points: Points, terms: Sequence[Term]) -> list[tuple[Term, Floats]]:
    """Return what lines may go along: terms without logarithms, but for powers of earlier ones."""
    found: dict[bytes, tuple[Term, Floats]] = {}
    for term in terms:
        size = term.of(points.features, len(points))
        if not term.logs and points.seconds.all() and size.all() and np.ptp(size):
            logs = np.log(size / size.min())
            found.setdefault(np.round(logs / logs.max(), 9).tobytes(), (term, size))
    return list(found.values())
