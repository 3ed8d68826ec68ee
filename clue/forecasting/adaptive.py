"""Adaptive choice of sizes to measure a routine at: the corners of its ranges, then where the fit is least certain."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from clue.errors import UsageError
from clue.forecasting.measuring import Bench, Point
from clue.forecasting.routines import Routine, check_size
from clue.forecasting.segments import Cut, Segments, find_cut, fitted
from clue.progress import Reporter, silent

#: Default range of a size.
DEFAULT = (64, 1024)
#: Number of candidates from which the next sizes are chosen.
_CANDIDATES = 128
#: Number of last points by which the fit is judged, and number of points after which the cut is chosen again.
_JUDGED, _REVIEW = 8, 12
#: Number of repeats of each point, at other times: disturbances come and go, and only add to a time.
_PASSES = 2
#: Maximum number of sizes for which all corners are measured; with more, only the first and the last corner.
_CORNERS = 4
#: Minimum number of runs of a point, one of which is a warm-up.
_RUNS = 3
#: Time for which a point is measured (at least three runs), s.
_EACH = 0.05
#: Bases of the Halton sequence of candidates, one for each parameter.
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


@dataclass(frozen=True, slots=True)
class Goal:
    """Stopping criteria of a measurement.

    Attributes:
        error: Mean relative error of the fit's predictions for the last measured points.
        points: Maximum number of points.
        seconds: Maximum time.
    """

    error: float = 0.03
    points: int = 60
    seconds: float = 60.0


@dataclass(slots=True)
class Survey:
    """State of the measurement of a routine.

    Attributes:
        routine: The measured routine.
        points: Points in the order of their measurement.
        cut: Cut of the range into segments.
        foretold: Relative errors of the fit's predictions for points measured after the first fit, in order.
        left_out: Sizes that would have exceeded the available time.
    """

    routine: Routine
    points: list[Point] = field(default_factory=list)
    cut: Cut | None = None
    foretold: list[float] = field(default_factory=list)
    left_out: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def error(self) -> float:
        """Mean relative prediction error of the last points; infinite if there are none."""
        last = self.foretold[-_JUDGED:]
        return sum(map(abs, last)) / len(last) if last else math.inf

    @property
    def fit(self) -> Segments:
        """Fit of all points."""
        return fitted(self.routine.parameters, self.routine.terms, self.points, self.cut)

    def reached(self, goal: Goal, known: int = 0) -> bool:
        """Tell whether enough points were measured in addition to those known before."""
        return len(self.points) - known >= goal.points or (len(self.foretold) >= _JUDGED and self.error <= goal.error)

    def next(self) -> tuple[int, ...] | None:
        """Return the sizes at which the fit is least certain: far from measured points, where its errors are large."""
        fit, worst, chosen = self.fit, 0.0, None
        for sizes in self._candidates():
            distance, nearest = min((_distance(sizes, point.sizes), i) for i, point in enumerate(self.points))
            doubt = fit.at(sizes).error + abs(self._off(nearest))
            if distance * doubt > worst:
                worst, chosen = distance * doubt, sizes
        return chosen

    def add(self, point: Point, said: float | None) -> None:
        """Add a point, with the fit's prediction for it."""
        self.points.append(point)
        if said is not None:
            self.foretold.append(said / point.seconds - 1 if point.seconds else 0.0)
            if len(self.foretold) % _REVIEW == 0:
                self.review()

    def review(self) -> None:
        """Choose the cut of the range again."""
        self.cut = find_cut(self.routine.parameters, self.routine.terms, self.points)

    def _off(self, i: int) -> float:
        """Return the relative prediction error of the i-th point, if there was a prediction."""
        at = i - (len(self.points) - len(self.foretold))
        return self.foretold[at] if at >= 0 else 0.0

    def _candidates(self) -> Iterator[tuple[int, ...]]:
        """Yield sizes that fill the ranges evenly on logarithmic scales, different ones each time (Halton sequence)."""
        columns = list(zip(*(point.sizes for point in self.points), strict=True))
        for i in range(_CANDIDATES):
            at = len(self.points) * _CANDIDATES + i + 1
            yield tuple(
                round(min(column) * (max(column) / min(column)) ** _radical(at, _PRIMES[k]))
                for k, column in enumerate(columns)
            )


def measure(
    bench: Bench, ranges: Sequence[tuple[int, int]], goal: Goal, report: Reporter = silent, known: Sequence[Point] = ()
) -> Iterator[Survey]:
    """Measure a routine; yields the state after every point, so that no measurement is lost.

    Half of the time is for new points, the rest for repeats of all points; the minimum of each counts.

    Args:
        bench: The routine.
        ranges: Ranges of its sizes, in the order of its parameters.
        goal: Stopping criteria.
        report: Callback for progress.
        known: Points from earlier measurements, which are reused.

    Raises:
        ForecastError: If the routine fails.
    """
    begin, survey = time.monotonic(), Survey(bench.routine, list(known))
    survey.review()  # otherwise the cut of known points would be lost if the measurement ends early

    def add(sizes: tuple[int, ...], said: float | None) -> None:
        done = len(survey.points) - len(known)
        report(f"measuring {bench.routine.name} at {', '.join(map(str, sizes))}", done, goal.points)
        survey.add(bench.point(sizes, _EACH), said)

    def fits(sizes: tuple[int, ...]) -> bool:
        return not survey.points or time.monotonic() - begin + _takes(survey.points, sizes) <= goal.seconds

    for sizes in first(ranges):
        if any(point.sizes == sizes for point in known):
            continue
        if fits(sizes):
            add(sizes, None)
            yield survey
        else:
            survey.left_out.append(sizes)
    while (
        not survey.reached(goal, len(known))
        and time.monotonic() - begin <= goal.seconds / 2
        and (further := survey.next())
        and fits(further)
    ):
        add(further, survey.fit.need(further).seconds)
        yield survey
    for i in range(_PASSES * len(survey.points)):
        point = survey.points[i % len(survey.points)]
        if fits(point.sizes):
            report(f"measuring {bench.routine.name} again", i, _PASSES * len(survey.points))
            survey.points[i % len(survey.points)] = min(point, bench.point(point.sizes, _EACH), key=lambda p: p.seconds)
    survey.review()
    yield survey


def ranges_of(routine: Routine, given: Mapping[str, tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the range of each size, in the order of the parameters.

    Raises:
        UsageError: If there are more than eight sizes, a name is unknown, or the end of a range is not above its start.
    """
    if len(routine.parameters) > len(_PRIMES):
        raise UsageError(f"{routine.name}: sizes must be at most {len(_PRIMES)}, got {len(routine.parameters)}")
    for name, (low, high) in given.items():
        if name not in routine.parameters:
            raise UsageError(f"{routine.name}: sizes must be {', '.join(routine.parameters)}, got {name}")
        check_size(f"{routine.name}: {name}", low)
        check_size(f"{routine.name}: {name}", high)
        if low >= high:
            raise UsageError(f"{routine.name}: {name} must go from a size to a larger one, got {low} to {high}")
    return tuple(given.get(name, DEFAULT) for name in routine.parameters)


def first(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return the corners of ranges and their geometric middle, by ascending product."""
    middle = tuple(round(math.sqrt(low * high)) for low, high in ranges)
    few = len(ranges) <= _CORNERS
    corners = itertools.product(*ranges) if few else zip(*ranges, strict=True)
    return sorted({*corners, middle}, key=lambda sizes: (math.prod(sizes), sizes))


def _takes(points: Sequence[Point], sizes: tuple[int, ...]) -> float:
    """Estimate the time to measure sizes, in proportion to the product of sizes.

    It is that of the nearest smaller point; if all points are larger, that of the smallest.
    """
    products = [math.prod(point.sizes) for point in points]
    product = math.prod(sizes)
    near = max((each for each in products if each <= product), default=min(products))
    seconds = points[products.index(near)].seconds
    return max(_EACH, (_RUNS + 1) * seconds * product / near)


def _distance(one: Sequence[int], other: Sequence[int]) -> float:
    return math.sqrt(sum(math.log(a / b) ** 2 for a, b in zip(one, other, strict=True)))


def _radical(number: int, base: int) -> float:
    """Return the radical inverse of a number: its digits mirrored at the point."""
    value, digit = 0.0, 1.0
    while number:
        digit /= base
        number, rest = divmod(number, base)
        value += digit * rest
    return value
