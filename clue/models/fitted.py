"""Given terms fitted to measured times: coefficients with covariance, errors, and the domain where the fit holds.

:func:`clue.models.fit` looks for terms that explain the measured times; here the terms are known from the algorithm, as
in the N-T and P-T models of Kishimoto and Ichikawa. Both results have the methods ``predict`` and ``inside``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from clue.errors import ModelError
from clue.models.ensemble import TAIL
from clue.models.least_squares import nonnegative as nonnegative_fits
from clue.models.points import checked, nonnegative
from clue.models.terms import RANKS, SIZE, Features, Floats, Term, values_of
from clue.models.trials import DISCREPANCY, ROUNDING, Flags
from clue.units import format_exact

#: Columns of length 1 count as linearly dependent if their triangular factor has a diagonal entry below this.
_DEPENDENT = 1e-10
#: A point whose 1 − leverage is below this determines a coefficient alone.
_ALONE = 1e-7
#: Minimum distance of an outlier from the fit, standard deviations, however few points there are.
_CLOSE = 2.5
#: Outliers: maximum probability that chance puts any point so far from the fit of the others; minimum relative error.
CHANCE, NOTABLE = 0.01, 0.01


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of a fit, as shares of its scale: of measured times, or of the whole of which they are a part.

    Attributes:
        mean: Mean of the absolute values.
        largest: The largest absolute value.
        leave_one_out: Mean absolute leave-one-out error; infinite if there are too few other points. Coefficients that
            are 0 are held at 0.
    """

    mean: float
    largest: float
    leave_one_out: float


@dataclass(frozen=True, slots=True, eq=False)
class Estimated:
    """Prediction of a fitted time for samples, each of shape (samples,).

    Attributes:
        seconds: Predicted times.
        variance: Variance of a measurement around that, s²; infinite where the error of the fit is unknown.
        inside: Whether every feature lies within its measured range.
    """

    seconds: Floats
    variance: Floats
    inside: Flags


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """How far a fitted time can be trusted.

    Attributes:
        covariance: Covariance of the coefficients, s²; 0 for those held at 0; shape (terms, terms).
        deviation: Root mean square of the error at points left out, as a share of the fitted time; infinite if unknown.
        errors: Errors of the fit.
        points: Number of points it was fitted to.
        outliers: Features of the outliers among the points.
    """

    covariance: Floats
    deviation: float
    errors: Errors
    points: int
    outliers: tuple[Mapping[str, float], ...] = ()


@dataclass(frozen=True, eq=False)
class FittedTime:
    """A time as a sum of terms.

    Attributes:
        terms: Its terms.
        coefficients: Coefficient of each term, seconds; shape (terms,).
        domain: Smallest and largest measured value of each feature.
        evaluate: Returns its statistics, which are computed when they are first read.
    """

    terms: tuple[Term, ...]
    coefficients: Floats
    domain: Mapping[str, tuple[float, float]]
    evaluate: Callable[[], Statistics]

    @cached_property
    def statistics(self) -> Statistics:
        """How far it can be trusted."""
        return self.evaluate()

    def seconds(self, features: Features) -> Floats:
        """Return the sum of the terms, shape (samples,).

        Raises:
            ModelError: If a feature is missing, lengths differ, or values are negative or not finite.
        """
        return np.asarray(self.coefficients @ self._values(features))

    def estimate(self, features: Features) -> Estimated:
        """Return the prediction; its variance is that of the coefficients plus its own, and grows beyond the domain.

        Raises:
            ModelError: As :meth:`seconds`.
        """
        values, doublings = self._values(features), self._doublings(features)
        seconds = self.coefficients @ values
        share = self.statistics.deviation**2 + (DISCREPANCY * doublings) ** 2
        uncertain = np.einsum("is,is->s", values, self.statistics.covariance @ values)
        variance = np.where(seconds != 0, seconds**2 * share, 0.0) + uncertain
        return Estimated(seconds, variance, np.asarray(doublings <= ROUNDING))

    def predict(self, features: Features) -> tuple[Floats, Floats, Floats]:
        """Return seconds, and the ends of an interval meant to contain 80 % of measurements; each of shape (samples,).

        Raises:
            ModelError: As :meth:`seconds`.
        """
        said = self.estimate(features)
        return interval(said.seconds, said.variance)

    def inside(self, features: Features) -> Flags:
        """Return where all features lie within their measured ranges, shape (samples,)."""
        return self.estimate(features).inside

    def doubt(self, features: Features) -> Floats:
        """Return the standard deviation of the fit itself, of which coefficients are uncertain, as a share of it.

        It is 0 where the time is 0, and where as many terms as points leave it unknown.
        """
        values = self._values(features)
        seconds = np.abs(self.coefficients @ values)
        uncertain = np.sqrt(np.einsum("is,is->s", values, self.statistics.covariance @ values))
        return np.asarray(np.divide(uncertain, seconds, out=np.zeros_like(seconds), where=seconds > 0))

    def scaled(self, factor: float, doubt: Callable[[], float] = float) -> FittedTime:
        """Return the time multiplied by a factor: a model derived from another processor's.

        Args:
            factor: The factor.
            doubt: Returns the standard deviation of the factor, as a share of it; by default 0.

        Raises:
            ModelError: If the factor is not above 0 and finite.
        """
        if not 0 < factor < math.inf:
            raise ModelError(f"factor must be a number above 0, got {factor:g}")
        scaled = partial(self._scaled, factor, doubt)
        return FittedTime(self.terms, self.coefficients * factor, self.domain, scaled)

    def _scaled(self, factor: float, doubt: Callable[[], float]) -> Statistics:
        of = self.statistics
        return replace(of, covariance=of.covariance * factor**2, deviation=math.hypot(of.deviation, doubt()))

    def rewritten(self, terms: tuple[Term, ...], of: Sequence[int], factors: Floats, derived: str) -> FittedTime:
        """Return the time in other terms, whose coefficients are multiples of its own.

        Args:
            terms: The other terms.
            of: For each of these, the index of its own coefficient that is multiplied.
            factors: For each of these, the factor.
            derived: Feature that the other terms no longer depend on.
        """
        domain = {name: ends for name, ends in self.domain.items() if name != derived}
        evaluate = partial(self._rewritten, of, factors, derived)
        return FittedTime(terms, factors * self.coefficients[of], domain, evaluate)

    def _rewritten(self, of: Sequence[int], factors: Floats, derived: str) -> Statistics:
        found = self.statistics
        covariance = found.covariance[np.ix_(of, of)] * np.outer(factors, factors)
        outliers = tuple({name: at for name, at in each.items() if name != derived} for each in found.outliers)
        return replace(found, covariance=covariance, outliers=outliers)

    def __call__(self, n: float, p: float = 1) -> float:
        """Return the seconds of a problem of size n on p ranks."""
        return float(self.seconds({SIZE: [n], RANKS: [p]})[0])

    def __str__(self) -> str:
        return (
            " + ".join(
                f"{coefficient:.4g}" if term == Term() else f"{coefficient:.4g} {term}"
                for coefficient, term in zip(self.coefficients, self.terms, strict=True)
                if coefficient
            ).replace("+ -", "- ")
            or "0"
        )

    def _values(self, features: Features) -> Floats:
        if missing := sorted(self.domain.keys() - features.keys()):
            got = ", ".join(sorted(features)) or "none"
            raise ModelError(f"features: {', '.join(missing)} must be given, got {got}")
        given = checked({name: features[name] for name in self.domain} or features)
        samples = len(next(iter(given.values()), np.zeros(1)))
        return values_of(self.terms, given, samples)

    def _doublings(self, features: Features) -> Floats:
        """Return the doublings or halvings of features beyond their measured ranges, the maximum over features."""
        found = [np.zeros(1)]
        for name, (low, high) in self.domain.items():
            values = np.maximum(np.asarray(features[name], np.float64), 1e-300)
            found.append(np.log2(np.maximum(values / max(high, 1e-300), max(low, 1e-300) / values)))
        return np.asarray(np.maximum.reduce([np.atleast_1d(each) for each in np.broadcast_arrays(*found)]))


def seconds_of(times: Sequence[FittedTime], features: Features) -> Floats:
    """Return the seconds of several fitted times, each for a sample of its own; shape (times,).

    Raises:
        ModelError: As :meth:`FittedTime.seconds`.
    """
    given = checked(features, len(times))
    found = np.zeros(len(times))
    # Fits that were made together share their terms.
    alike: dict[int, list[int]] = {}
    for i, each in enumerate(times):
        alike.setdefault(id(each.terms), []).append(i)
    for which in alike.values():
        values = values_of(times[which[0]].terms, {name: of[which] for name, of in given.items()}, len(which))
        found[which] = (np.array([times[i].coefficients for i in which]).T * values).sum(axis=0)
    return found


def interval(seconds: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    """Return seconds and the ends of an interval that holds 80 % of a lognormal variable of that variance, s²."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reach = np.where(variance > 0, TAIL * np.sqrt(variance) / np.maximum(seconds, 0.0), 0.0)
        return (
            seconds,
            np.maximum(seconds, 0) * np.exp(-reach),
            np.where(seconds > 0, seconds * np.exp(reach), math.inf),
        )


def fit_terms(
    features: Features,
    seconds: npt.ArrayLike,
    terms: Sequence[Term | str],
    *,
    relative: bool = True,
    signed: bool = False,
) -> FittedTime:
    """Return the least-squares fit of given terms to measured times.

    Args:
        features: By name, shape (points,). For repeats at one point, give the median.
        seconds: Measured times, shape (points,).
        terms: Terms of the sum.
        relative: Whether residuals are relative to measured times; otherwise in seconds, so that long times dominate.
        signed: Whether coefficients may be negative, as in plain least squares.

    Raises:
        ModelError: If there are fewer points than terms, the points cannot distinguish terms, lengths differ, or values
            are negative or not finite.
    """
    return fit_each(features, [seconds], terms, relative=relative, signed=signed)[0]


def fit_each(
    features: Features,
    times: Sequence[npt.ArrayLike],
    terms: Sequence[Term | str],
    *,
    relative: bool = True,
    signed: bool = False,
) -> list[FittedTime]:
    """Return the fits of several times measured at the same points, each as :func:`fit_terms` does."""
    found = fit_many([Problem(features, each, tuple(terms)) for each in times], relative=relative, signed=signed)
    for each in found:
        if isinstance(each, ModelError):
            raise each
    return [each for each in found if isinstance(each, FittedTime)]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Measured times, and the terms to fit to them.

    Attributes:
        features: By name, shape (points,).
        seconds: Measured times, shape (points,).
        terms: Terms of the sum.
        scale: What residuals and errors are relative to, shape (points,); ``None``: measured times. For a part of a
            time, the whole: an error of the sum then counts alike, whichever part it is in.
        noise: Standard deviation of the runs that a point represents, as a share of the scale; parts share its square
            by their times.
    """

    features: Features
    seconds: npt.ArrayLike
    terms: tuple[Term | str, ...]
    scale: npt.ArrayLike | None = None
    noise: float = 0.0


def fit_many(
    problems: Sequence[Problem], *, relative: bool = True, signed: bool = False
) -> list[FittedTime | ModelError]:
    """Return the fit of each problem, as :func:`fit_terms` does, or the reason why there is none.

    Problems are fitted together, which takes little longer than one of them.
    """
    found: list[FittedTime | ModelError | None] = [None] * len(problems)
    alike: dict[tuple[object, ...], list[int]] = {}
    for i, problem in enumerate(problems):
        alike.setdefault((np.shape(problem.seconds), *problem.features), []).append(i)
    reduced: list[tuple[list[int], _Reduced]] = []
    for which in alike.values():
        try:
            reduced.append((which, _Reduced.of([problems[i] for i in which], relative)))
        except ModelError:
            # One of several may be at fault alone.
            for i in which:
                try:
                    reduced.append(([i], _Reduced.of([problems[i]], relative)))
                except ModelError as error:
                    found[i] = error
    for (which, each), shares in zip(reduced, _shares([each for _, each in reduced], signed), strict=True):
        for i, fit in zip(which, each.fits(shares), strict=True):
            found[i] = fit
    return [each for each in found if each is not None]


@dataclass(frozen=True, slots=True, eq=False)
class _Reduced:
    """Problems with equal numbers of points and the same features, reduced to what their coefficients depend on.

    Attributes:
        terms: The terms of each problem.
        features: By name, shape (problems, points).
        columns: Values of the terms, 0 where a problem has fewer; and the measured times as the last column, shape
            (problems, points, columns + 1).
        used: Which problems have the term of a column, shape (problems, columns).
        scale: What errors are relative to, shape (problems, points).
        noise: Standard deviation of runs, as a share of that, shape (problems,).
        weight: Weight of residuals, shape (problems, points).
        length: Lengths of the weighted columns, shape (problems, columns + 1).
        factor: Triangular factor of the weighted columns after division by their lengths, shape
            (problems, columns, columns + 1). A column that is not used gets a coefficient of 1 on its own.
        faults: Why a problem has no fit.
    """

    terms: Sequence[tuple[Term, ...]]
    features: Mapping[str, Floats]
    columns: Floats
    used: Flags
    scale: Floats
    noise: Floats
    weight: Floats
    length: Floats
    factor: Floats
    faults: Mapping[int, ModelError]

    @classmethod
    def of(cls, problems: Sequence[Problem], relative: bool) -> _Reduced:
        """Reduce problems.

        Raises:
            ModelError: If a problem has fewer points than terms, other features than its terms, or bad values.
        """
        measured, scale, features = _stacked(problems)
        noise = np.array([each.noise for each in problems])
        terms, columns, used = _columns(problems, features, measured)
        weight = 1 / scale if relative else np.ones_like(scale)
        factor = np.asarray(np.linalg.qr(columns * weight[:, :, None], mode="r"))
        length = np.maximum(np.sqrt((factor**2).sum(axis=1)), 1e-300)
        factor = factor[:, : used.shape[1]] / length[:, None]
        np.einsum("ijj->ij", factor[:, :, :-1])[~used] = 1.0
        factor[~used, -1] = 1.0
        faults = _dependent(terms, features, np.diagonal(factor, axis1=1, axis2=2))
        if faults:
            factor[list(faults)] = np.eye(*factor.shape[1:])
        return cls(terms, features, columns, used, scale, noise, weight, length, factor, faults)

    def fits(self, shares: Floats) -> Iterator[FittedTime | ModelError]:
        """Yield the fits, or why there is none, by the coefficients of columns of length 1."""
        coefficients = np.where(self.used, shares * self.length[:, -1:] / self.length[:, :-1], 0.0)
        evaluate = _Evaluated(self, coefficients)
        names, values = list(self.features), np.array(list(self.features.values()))
        lows, highs = values.min(axis=2).T.tolist(), values.max(axis=2).T.tolist()
        for i, terms in enumerate(self.terms):
            domain = dict(zip(names, zip(lows[i], highs[i], strict=True), strict=True))
            fitted = FittedTime(terms, coefficients[i, : len(terms)], domain, partial(evaluate.of, i))
            yield self.faults.get(i, fitted)


def _shares(reduced: Sequence[_Reduced], signed: bool) -> list[Floats]:
    """Return the coefficients of columns of length 1, each of shape (problems, columns); all at once."""
    total, spans = 0, []
    for each in reduced:
        problems, columns, _ = each.factor.shape
        spans.append((slice(total, total := total + problems), slice(columns)))
    width = max((columns.stop for _, columns in spans), default=0)
    triangle, projected = np.broadcast_to(np.eye(width), (total, width, width)).copy(), np.ones((total, width))
    for (rows, columns), each in zip(spans, reduced, strict=True):
        triangle[rows, columns, columns], projected[rows, columns] = each.factor[:, :, :-1], each.factor[:, :, -1]
    shares = np.asarray(np.linalg.solve(triangle, projected[..., None])[..., 0])
    if not signed:
        across = triangle.transpose(0, 2, 1)
        shares = nonnegative_fits(across @ triangle, (across @ projected[..., None])[..., 0], shares)
    return [shares[span] for span in spans]


def _columns(
    problems: Sequence[Problem], features: Mapping[str, Floats], measured: Floats
) -> tuple[list[tuple[Term, ...]], Floats, Flags]:
    """Return the terms of each problem; their values beside the times; and which problems use which columns.

    Raises:
        ModelError: If there are fewer points than terms, or terms do not match the features.
    """
    alike: dict[tuple[Term | str, ...], list[int]] = {}
    for i, problem in enumerate(problems):
        alike.setdefault(problem.terms, []).append(i)
    found: list[tuple[Term, ...]] = [()] * len(problems)
    points = measured.shape[1]
    used = np.zeros((len(problems), max(map(len, alike))), bool)
    columns = np.zeros((*measured.shape, used.shape[1] + 1))
    columns[:, :, -1] = measured
    for given, which in alike.items():
        terms = tuple(Term.parse(each) if isinstance(each, str) else each for each in given)
        if not terms:
            raise ModelError("terms: at least one must be given, got none")
        if points < len(terms):
            names = ", ".join(map(str, terms))
            raise ModelError(f"points: at least {len(terms)} must be measured for the terms {names}, got {points}")
        at = {name: each[which] for name, each in features.items()}
        columns[which, :, : len(terms)] = values_of(terms, at, len(which), points).transpose(1, 2, 0)
        used[which, : len(terms)] = True
        for i in which:
            found[i] = terms
    return found, columns, used


def _stacked(problems: Sequence[Problem]) -> tuple[Floats, Floats, dict[str, Floats]]:
    """Return times of problems with equal numbers of points, their scales and features; each (problems, points).

    Where a scale is 0, it is the smallest of its problem above 0.

    Raises:
        ModelError: If lengths differ, or values are negative or not finite.
    """
    own = [each.seconds if each.scale is None else each.scale for each in problems]
    try:
        rows = [[each.seconds, of, *each.features.values()] for each, of in zip(problems, own, strict=True)]
        values = np.array(rows, np.float64)
        fine = values.ndim == 3 and bool((np.isfinite(values) & (values >= 0)).all())
    except ValueError:
        fine = False
    if not fine:
        times = [nonnegative("seconds", each.seconds) for each in problems]
        scales = [nonnegative("scale", each, len(of)) for each, of in zip(own, times, strict=True)]
        given = [checked(each.features, len(of)).values() for each, of in zip(problems, times, strict=True)]
        values = np.array([[of, scale, *each] for of, scale, each in zip(times, scales, given, strict=True)])
    scale = values[:, 1]
    if not scale.all():
        least = np.min(np.where(scale > 0, scale, np.inf), axis=1, keepdims=True)
        scale = np.where(scale > 0, scale, np.where(np.isfinite(least), least, 1.0))
    return values[:, 0], scale, {name: values[:, i] for i, name in enumerate(problems[0].features, 2)}


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """Statistics of fits of problems with equal numbers of points.

    Attributes:
        problems: The problems.
        coefficients: Shape (fits, columns); 0 where a fit has fewer terms.
    """

    problems: _Reduced
    coefficients: Floats

    def of(self, fit: int) -> Statistics:
        """Return the statistics of a fit."""
        return self.statistics[fit]

    @cached_property
    def statistics(self) -> list[Statistics]:
        """Statistics of all fits; computing all of them takes about as long as those of one."""
        columns, measured = self.problems.columns[:, :, :-1], self.problems.columns[:, :, -1]
        scale, weight = self.problems.scale, self.problems.weight
        design, target = columns * weight[:, :, None], measured * weight
        covariance, left, outliers = _told(design, target, self.coefficients, weight * scale)
        off = np.abs((columns @ self.coefficients[:, :, None])[:, :, 0] - measured) / scale
        errors = list(map(Errors, off.mean(axis=1).tolist(), off.max(axis=1).tolist(), left.mean(axis=1).tolist()))
        # A run also deviates from the time of its point, which is the median of several runs. A small part deviates by
        # a small share of the scale, which is a larger share of its own time.
        part = measured / scale
        squares = left**2 + self.problems.noise[:, None] ** 2 * part, part**2
        left, part = (np.sqrt(np.mean(each, axis=1)) for each in squares)
        deviations = np.divide(left, part, out=left, where=part > 0).tolist()
        return [
            Statistics(covariance[i, :k, :k], deviation, each, measured.shape[1], self._at(i, outliers[i]))
            for i, (k, deviation, each) in enumerate(
                zip(map(len, self.problems.terms), deviations, errors, strict=True)
            )
        ]

    def _at(self, fit: int, points: Flags) -> tuple[Mapping[str, float], ...]:
        """Return the features of some points of a fit."""
        at = np.flatnonzero(points).tolist()
        return tuple({name: float(of[fit, point]) for name, of in self.problems.features.items()} for point in at)


def _dependent(
    terms: Sequence[tuple[Term, ...]], features: Mapping[str, Floats], diagonal: Floats
) -> dict[int, ModelError]:
    """Return errors for the fits whose points do not distinguish the terms, by the diagonal of triangular factors."""
    near = ~(np.abs(diagonal) > _DEPENDENT)
    found = {}
    for i in np.flatnonzero(near.any(axis=1)).tolist():
        values = {name: [format_exact(of) for of in sorted(set(each[i].tolist()))] for name, each in features.items()}
        got = "; ".join(f"{name} of {', '.join(each[:4])}{' …' * (len(each) > 4)}" for name, each in values.items())
        term = terms[i][int(np.argmax(near[i]))]
        found[i] = ModelError(f"points: values must differ enough to tell {term} from other terms, got {got}")
    return found


def _told(design: Floats, target: Floats, coefficients: Floats, scale: Floats) -> tuple[Floats, Floats, Flags]:
    """Return the covariance of coefficients, and for each point its leave-one-out error and whether it is an outlier.

    Coefficients that are 0 count as held there. Outliers are found by their externally studentised residuals, at a
    level shared by all points: R. D. Cook, S. Weisberg, Residuals and Influence in Regression (1982), 2.2.
    """
    points, active = design.shape[1], coefficients != 0
    length = np.maximum(np.linalg.norm(design, axis=1), 1e-300)
    columns = design / length[:, None, :] * active[:, None, :]
    gram = columns.transpose(0, 2, 1) @ columns + np.eye(active.shape[1]) * ~active[:, None, :]
    inverse = np.linalg.inv(gram) * (active[:, :, None] & active[:, None, :])
    free = 1 - ((columns @ inverse) * columns).sum(axis=2)
    known, free = free > _ALONE, np.maximum(free, _ALONE)
    residuals = np.abs(target - (design @ coefficients[:, :, None])[:, :, 0])
    degrees = points - active.sum(axis=1, keepdims=True)
    total = np.sum(residuals**2, axis=1, keepdims=True)
    covariance = inverse * (total / np.maximum(degrees, 1))[:, :, None] / length[:, :, None] / length[:, None, :]
    left = np.where(known, residuals / free / scale, np.inf)
    others = np.maximum(total - residuals**2 / free, 0.0) / np.maximum(degrees - 1, 1)
    t = residuals / np.sqrt(np.maximum(others * free, 1e-300))
    outliers = known & (degrees > 1) & (left > NOTABLE) & (t > _CLOSE)
    for fit, point in np.argwhere(outliers).tolist():
        outliers[fit, point] = beyond(float(t[fit, point]), int(degrees[fit, 0]) - 1) * points < CHANCE
    return covariance, left, outliers


def beyond(t: float, degrees: int) -> float:
    """Return the two-sided tail probability of Student's t distribution.

    M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4.
    """
    if math.isinf(t):
        return 0.0
    angle = math.atan(t / math.sqrt(degrees))
    first = degrees % 2
    term = math.sin(angle) * (math.cos(angle) if first else 1.0)
    total = 0.0
    for k in range(first, degrees - 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (k + 1) / (k + 2)
    within = (angle + total) * 2 / math.pi if first else total
    return max(0.0, 1 - within)
