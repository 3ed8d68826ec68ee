"""Given terms fitted to measured times: coefficients with covariance, errors, and the domain where the fit holds.

:func:`clue.models.fit` looks for terms that explain the measured times; here the terms are known from the algorithm, as
in the N-T and P-T models of Kishimoto and Ichikawa. Both results have the methods ``predict`` and ``inside``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clue.errors import ModelError
from clue.models.ensemble import TAIL
from clue.models.least_squares import all_subsets
from clue.models.points import checked, nonnegative
from clue.models.terms import RANKS, SIZE, Features, Floats, Term
from clue.models.trials import DISCREPANCY, ROUNDING, Flags

#: Columns of length 1 count as linearly dependent if their triangular factor has a diagonal entry below this.
_DEPENDENT = 1e-10
#: A point whose 1 − leverage is below this determines a coefficient alone.
_ALONE = 1e-7
#: Minimum distance of an outlier from the fit, standard deviations, however few points there are.
_CLOSE = 2.5
#: Outliers: maximum probability that chance puts any point so far from the others' fit, and minimum relative error.
CHANCE, NOTABLE = 0.01, 0.01


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of a fit, as shares of measured times.

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
class FittedTime:
    """A time as a sum of terms.

    Attributes:
        terms: Its terms.
        coefficients: Coefficient of each term, seconds; shape (terms,).
        covariance: Covariance of the coefficients, s²; 0 for those held at 0; shape (terms, terms).
        domain: Smallest and largest measured value of each feature.
        deviation: Root mean square of the relative error at points left out; infinite if unknown.
        errors: Errors of the fit.
        points: Number of points it was fitted to.
        outliers: Features of the outliers among the points.
    """

    terms: tuple[Term, ...]
    coefficients: Floats
    covariance: Floats
    domain: Mapping[str, tuple[float, float]]
    deviation: float
    errors: Errors
    points: int
    outliers: tuple[Mapping[str, float], ...] = ()

    def seconds(self, features: Features) -> Floats:
        """Return the sum of the terms, shape (samples,).

        Raises:
            ModelError: A feature is missing, lengths differ, or values are negative or not finite.
        """
        return np.asarray(self.coefficients @ self._values(features))

    def estimate(self, features: Features) -> Estimated:
        """Return the prediction; its variance is that of the coefficients plus its own, and grows beyond the domain.

        Raises:
            ModelError: As :meth:`seconds`.
        """
        values, doublings = self._values(features), self._doublings(features)
        seconds = self.coefficients @ values
        share = self.deviation**2 + (DISCREPANCY * doublings) ** 2
        uncertain = np.einsum("is,is->s", values, self.covariance @ values)
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

    def scaled(self, factor: float) -> FittedTime:
        """Return the time multiplied by a factor: a model derived from another processor's.

        Raises:
            ModelError: The factor is not above 0 and finite.
        """
        if not 0 < factor < math.inf:
            raise ModelError(f"factor must be a number above 0, got {factor:g}")
        return replace(self, coefficients=self.coefficients * factor, covariance=self.covariance * factor**2)

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
        needed = {name for term in self.terms for name in term.features} | self.domain.keys()
        missing = sorted(needed - features.keys())
        if missing:
            got = ", ".join(sorted(features)) or "none"
            raise ModelError(f"features: {', '.join(missing)} must be given, got {got}")
        given = checked({name: features[name] for name in sorted(needed)} or dict(list(features.items())[:1]))
        samples = len(next(iter(given.values()), np.zeros(1)))
        return np.stack([term.of(given, samples) for term in self.terms])

    def _doublings(self, features: Features) -> Floats:
        """Return the doublings or halvings of features beyond their measured ranges, the maximum over features."""
        found = [np.zeros(1)]
        for name, (low, high) in self.domain.items():
            values = np.maximum(np.asarray(features[name], np.float64), 1e-300)
            found.append(np.log2(np.maximum(values / max(high, 1e-300), max(low, 1e-300) / values)))
        return np.asarray(np.maximum.reduce([np.atleast_1d(each) for each in np.broadcast_arrays(*found)]))


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
        ModelError: There are fewer points than terms, the points cannot distinguish terms, lengths differ, or values
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
    """Return the fits of several times that were measured at the same points, each as by :func:`fit_terms`."""
    found = fit_many([Problem(features, each, tuple(terms)) for each in times], relative=relative, signed=signed)
    for each in found:
        if isinstance(each, ModelError):
            raise each
    return [each for each in found if isinstance(each, FittedTime)]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is to be fitted.

    Attributes:
        features: By name, shape (points,).
        seconds: Measured times, shape (points,).
        terms: Terms of the sum.
    """

    features: Features
    seconds: npt.ArrayLike
    terms: tuple[Term | str, ...]


def fit_many(
    problems: Sequence[Problem], *, relative: bool = True, signed: bool = False
) -> list[FittedTime | ModelError]:
    """Return the fit of each problem as by :func:`fit_terms`, or the reason why there is none.

    Problems with the same terms and numbers of points are fitted together, which takes about as long as one of them.
    """
    found: list[FittedTime | ModelError | None] = [None] * len(problems)
    alike: dict[tuple[object, ...], list[tuple[int, Floats, dict[str, Floats]]]] = {}
    for i, problem in enumerate(problems):
        try:
            if not problem.terms:
                raise ModelError("terms: at least one must be given, got none")
            measured = nonnegative("seconds", problem.seconds)
            given = checked(problem.features, len(measured))
        except ModelError as error:
            found[i] = error
        else:
            alike.setdefault((problem.terms, len(measured), *given), []).append((i, measured, given))
    for group in alike.values():
        terms = tuple(Term.parse(each) if isinstance(each, str) else each for each in problems[group[0][0]].terms)
        together = {name: np.array([given[name] for _, _, given in group]) for name in group[0][2]}
        try:
            fits = _fits(terms, together, np.array([measured for _, measured, _ in group]), relative, signed)
        except ModelError as error:
            # One of several may be at fault alone.
            each_alone = (fit_many([problems[i]], relative=relative, signed=signed) for i, _, _ in group)
            fits = [error] if len(group) == 1 else [fit for (fit,) in each_alone]
        for (i, _, _), each in zip(group, fits, strict=True):
            found[i] = each
    return [each for each in found if each is not None]


def _fits(
    terms: tuple[Term, ...], features: Mapping[str, Floats], measured: Floats, relative: bool, signed: bool
) -> list[FittedTime | ModelError]:
    """Return fits, or why there is none; features and times have the shape (fits, points).

    Raises:
        ModelError: There are fewer points than terms, or terms do not go with the features.
    """
    points = measured.shape[1]
    if points < len(terms):
        names = ", ".join(map(str, terms))
        raise ModelError(f"points: at least {len(terms)} must be measured for the terms {names}, got {points}")
    columns = np.stack([np.broadcast_to(term.of(features, points), measured.shape) for term in terms], axis=2)
    faults = _dependent(terms, features, columns)
    if faults:
        # The others are fitted without them: a matrix that cannot be inverted would spoil all.
        fine = np.array([i not in faults for i in range(len(measured))])
        rest = {name: each[fine] for name, each in features.items()}
        fits = iter(_fits(terms, rest, measured[fine], relative, signed) if fine.any() else ())
        return [faults[i] if i in faults else next(fits) for i in range(len(measured))]
    scale = _scale(measured)
    weight = 1 / scale if relative else np.ones_like(scale)
    design, target = columns * weight[:, :, None], measured * weight
    coefficients = (_plain if signed else _nonnegative)(design, target)
    covariance, left, outliers = _told(design, target, coefficients, weight * scale)
    off = np.abs((columns @ coefficients[:, :, None])[:, :, 0] - measured) / scale
    means, largest, lefts = off.mean(axis=1).tolist(), off.max(axis=1).tolist(), left.mean(axis=1).tolist()
    deviations = np.sqrt(np.mean(left**2, axis=1)).tolist()
    ends = {name: (each.min(axis=1).tolist(), each.max(axis=1).tolist()) for name, each in features.items()}
    return [
        FittedTime(
            terms,
            coefficients[i],
            covariance[i],
            {name: (low[i], high[i]) for name, (low, high) in ends.items()},
            deviations[i],
            Errors(means[i], largest[i], lefts[i]),
            points,
            tuple({name: float(of[i, k]) for name, of in features.items()} for k in np.flatnonzero(outliers[i]))
            if outliers[i].any()
            else (),
        )
        for i in range(len(measured))
    ]


def _dependent(terms: Sequence[Term], features: Mapping[str, Floats], columns: Floats) -> dict[int, ModelError]:
    """Return errors for the fits whose points do not distinguish the terms."""
    length = np.linalg.norm(columns, axis=1, keepdims=True)
    triangle = np.linalg.qr(columns / np.maximum(length, 1e-300), mode="r")
    diagonal = np.abs(np.diagonal(triangle, axis1=1, axis2=2))
    found = {}
    for i in np.flatnonzero(~(diagonal > _DEPENDENT).all(axis=1)).tolist():
        values = {name: sorted({f"{value:g}" for value in each[i].tolist()}) for name, each in features.items()}
        got = "; ".join(f"{name} of {', '.join(each[:4])}{' …' * (len(each) > 4)}" for name, each in values.items())
        term = terms[int(np.argmax(diagonal[i] <= _DEPENDENT))]
        found[i] = ModelError(f"points: values must differ enough to tell {term} from other terms, got {got}")
    return found


def _scale(measured: Floats) -> Floats:
    """Return the scale of residuals: the times themselves; for times of 0 the smallest time above 0."""
    least = np.min(np.where(measured > 0, measured, np.inf), axis=1, keepdims=True)
    return np.where(measured > 0, measured, np.where(np.isfinite(least), least, 1.0))


def _plain(design: Floats, target: Floats) -> Floats:
    """Return the coefficients of plain least squares, shape (fits, terms)."""
    length = np.linalg.norm(design, axis=1)[:, None, :]
    q, r = np.linalg.qr(design / length)
    projected = q.transpose(0, 2, 1) @ target[:, :, None]
    return np.asarray(np.linalg.solve(r, projected)[..., 0] / length[:, 0])


def _nonnegative(design: Floats, target: Floats) -> Floats:
    """Return the coefficients of non-negative least squares, shape (fits, terms)."""
    across = design.transpose(0, 2, 1)
    *_, last = all_subsets(across @ design, (across @ target[:, :, None])[:, :, 0], design.shape[2])
    return last.coefficients[:, 0]


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
    covariance = inverse * (total / np.maximum(degrees, 1))[:, :, None] / (length[:, :, None] * length[:, None, :])
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
