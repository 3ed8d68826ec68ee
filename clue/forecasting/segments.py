"""What a routine takes by its sizes: fitted times, one for each part of the range over which times were measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clue.forecasting.measuring import Point
from clue.models import Ensemble, Term, fit
from clue.models.terms import Floats

#: A segment has at least so many points, and twice as many as terms.
LEAST = 10
#: Two segments must be off by less than this share of what one is, and one by more than so much.
_GAIN, _OFF = 0.7, 0.02


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a range is cut in two.

    Attributes:
        along: The size, by its place among the parameters; ``-1``: the product of all.
        at: The largest value of the first part.
        below: How that is cut further.
        above: How the second part is.
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
    """What a routine needs of an unloaded processor.

    Attributes:
        seconds: The most likely time.
        low: The begin of an interval that is to hold 80 % of true times.
        high: Its end.
        inside: Whether the sizes lie within what was measured.
    """

    seconds: float
    low: float
    high: float
    inside: bool


@dataclass(frozen=True, slots=True)
class Segments:
    """Fitted times.

    Attributes:
        parameters: The names of the sizes.
        fits: One for each segment, in the order in which the cuts have them.
        cut: Where the range is cut, if it is.
    """

    parameters: tuple[str, ...]
    fits: tuple[Ensemble, ...]
    cut: Cut | None = None

    def need(self, sizes: Sequence[int]) -> Need:
        """Return what the routine takes at some sizes, in the order of the parameters."""
        given = {name: np.array([float(size)]) for name, size in zip(self.parameters, sizes, strict=True)}
        seconds, low, high = (float(each[0]) for each in self.at(sizes).predict(given))
        return Need(seconds, low, high, self.covers(sizes))

    def at(self, sizes: Sequence[int]) -> Ensemble:
        """Return the fit of the segment that sizes lie in."""
        return self.fits[_segment(self.cut, sizes)]

    def covers(self, sizes: Sequence[int]) -> bool:
        """Tell whether each size lies between the least and the largest measured."""
        domain = self.domain
        return all(
            domain[name][0] <= size <= domain[name][1] for name, size in zip(self.parameters, sizes, strict=True)
        )

    @property
    def domain(self) -> Mapping[str, tuple[float, float]]:
        """The least and the largest measured value of each size."""
        return {
            name: (min(fit.domain[name][0] for fit in self.fits), max(fit.domain[name][1] for fit in self.fits))
            for name in self.parameters
        }

    @property
    def error(self) -> float:
        """How far the fits are off at points left out, as a share: root mean square over segments by points."""
        squares = sum(fit.points * fit.error**2 for fit in self.fits)
        return math.sqrt(squares / sum(fit.points for fit in self.fits))


def fitted(parameters: tuple[str, ...], terms: Sequence[str], points: Sequence[Point], cut: Cut | None) -> Segments:
    """Return the fits to points of a range that is cut as said, or of all of it where a part has no points.

    Raises:
        ModelError: There are no points.
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
    """Return where a range is best cut, and its parts; nothing where one fit serves as well.

    Where is told by plain least squares, which are quick, whether by how far the fits are off at points left out.
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
    """Yield cuts that leave so many points on both sides, with what plain least squares leave unexplained of both."""
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
    """Return the squares that least squares leave of ones."""
    ones = np.ones(len(rows))
    return float(np.square(rows @ np.linalg.lstsq(rows, ones, rcond=None)[0] - ones).sum())


def _count(cut: Cut | None) -> int:
    """Return how many segments cuts make."""
    return 1 if cut is None else _count(cut.below) + _count(cut.above)


def _segment(cut: Cut | None, sizes: Sequence[int]) -> int:
    """Return which segment sizes lie in."""
    if cut is None:
        return 0
    return _count(cut.below) + _segment(cut.above, sizes) if cut.side(sizes) else _segment(cut.below, sizes)


def _fit(parameters: tuple[str, ...], terms: Sequence[str], points: Sequence[Point]) -> Ensemble:
    weights = [float(point.runs) for point in points]
    return fit(_features(parameters, points), [point.seconds for point in points], terms, weights)


def _features(parameters: tuple[str, ...], points: Sequence[Point]) -> dict[str, Floats]:
    sizes = np.array([point.sizes for point in points], np.float64)
    return {name: sizes[:, i] for i, name in enumerate(parameters)}


def _along(sizes: Sequence[int], along: int) -> float:
    return float(math.prod(sizes) if along < 0 else sizes[along])
