"""A time fitted over one feature, and its coefficients over another: in n, then in p, as in PEMPIs-Het.

For every number of ranks, plain least squares fits the measured times over the size. The result is a table of
coefficients by ranks, each column of which is then fitted over the ranks. Both fits together give one model over size
and ranks, the paper's meta-model (J. M. Laine, E. T. Midorikawa, equations 13 and 14, Tables 2 and 3).

As in the paper, coefficients may be negative, and long times dominate. Beyond the measured range such fits can go
anywhere, even below 0; :func:`clue.models.fit` keeps coefficients above 0 and makes residuals relative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clue.errors import ModelError
from clue.models.points import Points, checked
from clue.models.terms import RANKS, SIZE, Features, Floats, Term, values_of
from clue.models.trials import Flags
from clue.units import format_exact

#: Relative tolerance for values at the ends of a range, because of rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """A sum of products of an inner term and an outer term.

    Attributes:
        inner: Terms over the feature that was fitted first.
        outer: Terms over the other feature.
        coefficients: Coefficients of the products, shape (inner terms, outer terms): a row is one inner coefficient.
        domain: Smallest and largest measured value of each feature.
        deviation: Root mean square of the relative leave-one-out error over values of both features; infinite if either
            has several values, but too few to leave one out.
        table: Result of the first stage: coefficients of the inner terms by value of the outer feature.
    """

    inner: tuple[Term, ...]
    outer: tuple[Term, ...]
    coefficients: Floats
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    deviation: float = 0.0
    table: Mapping[float, Floats] = field(default_factory=dict)

    def seconds(self, features: Features) -> Floats:
        """Return the sum, shape (samples,).

        Raises:
            ModelError: If a feature is missing, lengths differ, or values are negative or not finite.
        """
        given = self._given(features)
        samples = len(next(iter(given.values()), np.zeros(1)))
        inner, outer = (values_of(terms, given, samples) for terms in (self.inner, self.outer))
        return np.asarray(np.einsum("is,ij,js->s", inner, self.coefficients, outer))

    def predict(self, features: Features) -> tuple[Floats, Floats, Floats]:
        """Return the seconds and an interval of the leave-one-out error on either side; each of shape (samples,).

        The low end is not below 0, unless the seconds are.

        Raises:
            ModelError: As :meth:`seconds`.
        """
        middle = self.seconds(features)
        reach = np.multiply(np.abs(middle), self.deviation, out=np.zeros_like(middle), where=middle != 0)
        return middle, np.maximum(middle - reach, np.minimum(middle, 0.0)), middle + reach

    def inside(self, features: Features) -> Flags:
        """Return where features lie within their measured ranges, shape (samples,)."""
        given = self._given(features)
        flags = [
            (given[name] >= low * (1 - _ROUNDING)) & (given[name] <= high * (1 + _ROUNDING))
            for name, (low, high) in self.domain.items()
        ]
        samples = len(next(iter(given.values()), np.zeros(1)))
        return np.asarray(np.all([np.ones(samples, bool), *flags], axis=0))

    def __call__(self, n: float, p: float = 1) -> float:
        """Return the seconds of a problem of size n on p ranks."""
        return float(self.seconds({SIZE: [n], RANKS: [p]})[0])

    def __str__(self) -> str:
        written = [
            f"({_written(self.outer, row)}) {term}" if term != Term() else _written(self.outer, row)
            for term, row in zip(self.inner, self.coefficients, strict=True)
            if row.any()
        ]
        return " + ".join(written).replace("+ -", "- ") or "0"

    def _given(self, features: Features) -> dict[str, Floats]:
        needed = {name for term in (*self.inner, *self.outer) for name in term.features} | self.domain.keys()
        missing = sorted(needed - features.keys())
        if missing:
            got = ", ".join(sorted(features)) or "none"
            raise ModelError(f"features: {', '.join(missing)} must be given, got {got}")
        return checked({name: features[name] for name in sorted(needed)} or dict(list(features.items())[:1]))


def fit_in_turn(
    features: Features,
    seconds: npt.ArrayLike,
    inner: Sequence[Term | str] = ("1", "n", "n^2"),
    outer: Sequence[Term | str] = ("1", "1/P"),
) -> Staged:
    """Return the fit of measured times over one feature, and of its coefficients over the other.

    Where all values of the outer feature were measured at the same values of the inner one, that is the plain
    least-squares fit of all products at once. Repeats at one point count by their median.

    Args:
        features: By name, shape (samples,): those that the terms need.
        seconds: Measured times, shape (samples,).
        inner: Terms of the first fit, over one feature.
        outer: Terms of the fits of its coefficients, over another feature.

    Raises:
        ModelError: If a feature has fewer values than terms, terms need other features than allowed, lengths differ, or
            values are negative or not finite.
    """
    terms = tuple(map(_term, inner)), tuple(map(_term, outer))
    names = _feature(terms[0], SIZE), _feature(terms[1], RANKS)
    if names[0] == names[1]:
        raise ModelError(f"terms: those fitted in turn must be over two features, got {names[0]} for both")
    missing = sorted(set(names) - features.keys())
    if missing:
        raise ModelError(f"features: {', '.join(missing)} must be given, got {', '.join(sorted(features)) or 'none'}")
    points = Points.of({name: features[name] for name in names}, seconds)
    values = points.features[names[0]], points.features[names[1]]
    table = _table(names[0], terms[0], values, points.seconds)
    coefficients = over(names[1], list(table), np.array(list(table.values())), terms[1])
    return Staged(*terms, coefficients, points.domain, _deviation(names, terms, values, points), table)


def over(
    name: str, values: npt.ArrayLike, coefficients: npt.ArrayLike, terms: Sequence[Term | str] = ("1", "1/P")
) -> Floats:
    """Return the plain least-squares fit of each column over a feature: the second stage, Table 3 from Table 2.

    Args:
        name: The feature.
        values: Its values, shape (values,).
        coefficients: Columns to fit, shape (values, columns).
        terms: Terms of the fit.

    Returns:
        Shape (columns, terms).

    Raises:
        ModelError: If there are fewer different values than terms.
    """
    solved = _solved(name, tuple(map(_term, terms)), np.asarray(values, np.float64), np.asarray(coefficients))
    return np.asarray(solved.T)


def _term(term: Term | str) -> Term:
    return Term.parse(term) if isinstance(term, str) else term


def _feature(terms: Sequence[Term], usual: str) -> str:
    """Return the single feature that terms need; the usual one, if they need none."""
    needed = sorted({name for term in terms for name in term.features})
    if not terms or len(needed) > 1:
        got = ", ".join(map(str, terms)) or "none"
        raise ModelError(f"terms: those of a stage must be over one feature, got {got}")
    return needed[0] if needed else usual


def _table(name: str, terms: tuple[Term, ...], values: tuple[Floats, Floats], seconds: Floats) -> dict[float, Floats]:
    """Return the first stage: coefficients of the inner terms by value of the outer feature."""
    found: dict[float, Floats] = {}
    for value in np.unique(values[1]).tolist():
        at = values[1] == value
        found[value] = _solved(name, terms, values[0][at], seconds[at, None])[:, 0]
    return found


def _solved(name: str, terms: tuple[Term, ...], values: Floats, targets: Floats) -> Floats:
    """Return plain least-squares coefficients, shape (terms, targets)."""
    distinct = np.unique(values)
    if len(distinct) < len(terms):
        got = ", ".join(map(format_exact, distinct[:4].tolist()))
        raise ModelError(
            f"{name}: values must be at least {len(terms)} different ones for the terms "
            f"{', '.join(map(str, terms))}, got {len(distinct)} ({got})"
        )
    columns = values_of(terms, {name: values}, len(values)).T
    length = np.linalg.norm(columns, axis=0)
    solution, *_ = np.linalg.lstsq(columns / length, targets, rcond=None)
    return np.asarray(solution / length[:, None])


def _deviation(
    names: tuple[str, str],
    terms: tuple[tuple[Term, ...], tuple[Term, ...]],
    values: tuple[Floats, Floats],
    points: Points,
) -> float:
    """Return the relative leave-one-out error over the values of both features.

    It is infinite if no value of a feature that has several can be left out: the fit goes through all of them, however
    wrong it is between and beyond them.
    """
    off: list[Floats] = []
    for feature in values:
        distinct = np.unique(feature).tolist()
        found = [each for value in distinct if len(each := _left_out(names, terms, values, points, feature == value))]
        if len(distinct) > 1 and not found:
            return math.inf
        off += found
    return float(np.sqrt(np.mean(np.concatenate(off) ** 2))) if off else math.inf


def _left_out(
    names: tuple[str, str],
    terms: tuple[tuple[Term, ...], tuple[Term, ...]],
    values: tuple[Floats, Floats],
    points: Points,
    out: Flags,
) -> Floats:
    """Return the relative errors at points that are left out of the fit; none if too few values remain for it."""
    kept = values[0][~out], values[1][~out]
    try:
        table = _table(names[0], terms[0], kept, points.seconds[~out])
        coefficients = over(names[1], list(table), np.array(list(table.values())), terms[1])
    except ModelError:
        return np.empty(0)
    fitted = Staged(*terms, coefficients).seconds(dict(zip(names, (each[out] for each in values), strict=True)))
    return np.asarray((fitted - points.seconds[out]) / points.scale[out])


def _written(terms: Sequence[Term], coefficients: Floats) -> str:
    return " + ".join(
        f"{coefficient:.4g}"
        if term == Term()
        else f"{coefficient:.4g} {str(term).removeprefix('1/')}".replace(" ", "/")
        if str(term).startswith("1/")
        else f"{coefficient:.4g} {term}"
        for term, coefficient in zip(terms, coefficients, strict=True)
        if coefficient
    ).replace("+ -", "- ")
