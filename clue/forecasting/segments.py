"""Times of a routine by its sizes: one fit for each segment of the measured range."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clue.forecasting.measuring import Point
from clue.models import Ensemble, Term, fit
from clue.models.terms import Floats

#: Minimum number of points of a segment, which also needs two points for each term.
LEAST = 10
#: Conditions for a cut: maximum error of two segments relative to that of one, and minimum relative error of one.
_GAIN, _OFF = 0.7, 0.02


@dataclass(frozen=True, slots=True)
class Cut:
    """Cut of a range in two.

    Attributes:
        along: Size that is cut, as an index into the parameters; ``-1``: the product of all.
        at: Largest value of the first part.
        below: Further cut of the first part.
        above: Further cut of the second part.
    """

    along: int
    at: float
    below: Cut | None = None
    above: Cut | None = None

    def side(self, sizes: Sequence[int]) -> bool:
        """Tell whether sizes lie in the second part."""
        return _along(sizes, self.along) > self.at


@dataclass(frozen=True, slots=True)
class Need:
    """Time of a routine on an unloaded processor.

    Attributes:
        seconds: Most likely time.
        low: Low end of an interval meant to contain 80 % of true times.
        high: High end of that interval.
        inside: Whether the sizes lie within the measured range.
    """

    seconds: float
    low: float
    high: float
    inside: bool


@dataclass(frozen=True, slots=True)
class Segments:
    """Fitted times by segment.

    Attributes:
        parameters: The names of the sizes.
        fits: One fit for each segment, in the order of the cuts.
        cut: Cut of the range, if any.
    """

    parameters: tuple[str, ...]
    fits: tuple[Ensemble, ...]
    cut: Cut | None = None

    def need(self, sizes: Sequence[int]) -> Need:
        """Return the time of the routine at some sizes, in the order of the parameters."""
        given = {name: np.array([float(size)]) for name, size in zip(self.parameters, sizes, strict=True)}
        seconds, low, high = (float(each[0]) for each in self.at(sizes).predict(given))
        return Need(seconds, low, high, self.covers(sizes))

    def at(self, sizes: Sequence[int]) -> Ensemble:
        """Return the fit of the segment that sizes lie in."""
        return self.fits[_segment(self.cut, sizes)]

    def covers(self, sizes: Sequence[int]) -> bool:
        """Tell whether each size lies within its measured range."""
        domain = self.domain
        return all(
            domain[name][0] <= size <= domain[name][1] for name, size in zip(self.parameters, sizes, strict=True)
        )

    @property
    def domain(self) -> Mapping[str, tuple[float, float]]:
        """Smallest and largest measured value of each size."""
        return {
            name: (min(fit.domain[name][0] for fit in self.fits), max(fit.domain[name][1] for fit in self.fits))
            for name in self.parameters
        }

    @property
    def error(self) -> float:
        """Root mean square of the relative error at points left out, over segments weighted by their points."""
        squares = sum(fit.points * fit.error**2 for fit in self.fits)
        return math.sqrt(squares / sum(fit.points for fit in self.fits))


def fitted(parameters: tuple[str, ...], terms: Sequence[str], points: Sequence[Point], cut: Cut | None) -> Segments:
    """Return the fits of the segments of a cut range, or of the whole range if a segment has no points.

    Raises:
        ModelError: If there are no points.
    """
    parts: list[list[Point]] = [[] for _ in range(_count(cut))]
    for point in points:
        parts[_segment(cut, point.sizes)].append(point)
    if not all(parts):
        return (
            fitted(parameters, terms, points, None) if cut else Segments(parameters, (_fit(parameters, terms, points),))
        )
    return Segments(parameters, tuple(_fit(parameters, terms, part) for part in parts), cut)


def find_cut(parameters: tuple[str, ...], terms: Sequence[str], points: Sequence[Point]) -> Cut | None:
    """Return the best cut of a range and of its parts; ``None`` if one fit serves as well.

    The place of the cut comes from plain least squares, which is fast; the decision to cut from cross-validation.
    """
    least = max(LEAST, 2 * len(terms))
    if len(points) < 2 * least or (whole := _fit(parameters, terms, points).error) < _OFF:
        return None
    tried = [(loss, i, cut) for i, (loss, cut) in enumerate(_candidates(parameters, terms, points, least))]
    best = min(tried, default=(0.0, 0, None))[2]
    if best is None or fitted(parameters, terms, points, best).error > _GAIN * whole:
        return None
    below, above = ([p for p in points if best.side(p.sizes) is side] for side in (False, True))
    return replace(best, below=find_cut(parameters, terms, below), above=find_cut(parameters, terms, above))


def _candidates(
    parameters: tuple[str, ...], terms: Sequence[str], points: Sequence[Point], least: int
) -> Iterator[tuple[float, Cut]]:
    """Yield cuts with enough points on both sides, with the sum of squared residuals of plain least squares."""
    seconds = np.array([point.seconds for point in points])
    features = _features(parameters, points)
    rows = np.stack([Term.parse(term).of(features, len(points)) for term in terms], axis=1)
    rows /= np.maximum(seconds, 1e-12)[:, None]
    rows /= np.maximum(np.abs(rows).max(axis=0), 1e-300)
    for along in range(-1, len(parameters)) if len(parameters) > 1 else (0,):
        values = np.array([_along(point.sizes, along) for point in points])
        for at in np.unique(values)[:-1]:
            below = values <= at
            if least <= below.sum() <= len(points) - least:
                yield _loss(rows[below]) + _loss(rows[~below]), Cut(along, float(at))


def _loss(rows: Floats) -> float:
    """Return the sum of squared residuals of a least-squares fit to ones."""
    ones = np.ones(len(rows))
    return float(np.square(rows @ np.linalg.lstsq(rows, ones, rcond=None)[0] - ones).sum())


def _count(cut: Cut | None) -> int:
    """Return the number of segments of a cut."""
    return 1 if cut is None else _count(cut.below) + _count(cut.above)


def _segment(cut: Cut | None, sizes: Sequence[int]) -> int:
    """Return which segment sizes lie in."""
    if cut is None:
        return 0
    return _count(cut.below) + _segment(cut.above, sizes) if cut.side(sizes) else _segment(cut.below, sizes)


def _fit(parameters: tuple[str, ...], terms: Sequence[str], points: Sequence[Point]) -> Ensemble:
    weights = [float(point.runs) for point in points]
    # All sizes are those of one call, also where a parameter is called n.
    return fit(_features(parameters, points), [point.seconds for point in points], terms, weights, of_run=())


def _features(parameters: tuple[str, ...], points: Sequence[Point]) -> dict[str, Floats]:
    sizes = np.array([point.sizes for point in points], np.float64)
    return {name: sizes[:, i] for i, name in enumerate(parameters)}


def _along(sizes: Sequence[int], along: int) -> float:
    return float(math.prod(sizes) if along < 0 else sizes[along])
