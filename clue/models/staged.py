"""A time fitted over one feature, and each coefficient of that over another: in n, then in p, as PEMPIs-Het does it.

For every number of ranks the measured times are fitted over the size, by plain least squares. What comes out is a table
of coefficients by ranks, each column of which is fitted over the ranks. Put into the first formula these give one model
over both, the paper's meta-model (J. M. Laine, E. T. Midorikawa, equations 13 and 14, Tables 2 and 3).

Coefficients may be below 0, and long times count most: so the paper has it. Beyond what was measured such fits can go
anywhere, even below 0; :func:`clue.models.fit` holds coefficients above 0 and makes residuals relative.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clue.errors import ModelError
from clue.models.points import Points, checked
from clue.models.terms import RANKS, SIZE, Features, Floats, Term
from clue.models.trials import Flags

#: How far outside a range rounding may put a value.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """A sum of products of an inner term and an outer term.

    Attributes:
        inner: Terms over the feature that was fitted first.
        outer: Terms over the other.
        coefficients: Of each product, shape (inner terms, outer terms): a row is an inner coefficient over the outer.
        domain: The least and the largest measured value of each feature.
        deviation: Root mean square of what it is off by, as a share, where a value of a feature is left out of the fit;
            infinite if there are too few values to leave one out.
        table: What the first stage found: by value of the outer feature the coefficients of the inner terms.
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
            ModelError: A feature is missing, lengths differ, or values are negative or not finite.
        """
        given = self._given(features)
        samples = len(next(iter(given.values()), np.zeros(1)))
        inner, outer = (np.stack([term.of(given, samples) for term in terms]) for terms in (self.inner, self.outer))
        return np.asarray(np.einsum("is,ij,js->s", inner, self.coefficients, outer))

    def predict(self, features: Features) -> tuple[Floats, Floats, Floats]:
        """Return the seconds and, on either side, what values left out of the fit were off by; each (samples,).

        Raises:
            ModelError: As :meth:`seconds`.
        """
        middle = self.seconds(features)
        reach = np.where(middle == 0, 0.0, np.abs(middle) * (self.deviation if middle.any() else 0.0))
        return middle, middle - reach, middle + reach

    def inside(self, features: Features) -> Flags:
        """Return where features have values between those measured, shape (samples,)."""
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
        inner: Terms that are fitted first, over one feature.
        outer: Terms over which each of their coefficients is fitted, over another feature.

    Raises:
        ModelError: Values of a feature are fewer than its terms, terms need other features than they may, lengths
            differ, or values are negative or not finite.
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
        coefficients: What is fitted, shape (values, columns).
        terms: Over which terms.

    Returns:
        Shape (columns, terms).

    Raises:
        ModelError: Different values are fewer than terms.
    """
    solved = _solved(name, tuple(map(_term, terms)), np.asarray(values, np.float64), np.asarray(coefficients))
    return np.asarray(solved.T)


def _term(term: Term | str) -> Term:
    return Term.parse(term) if isinstance(term, str) else term


def _feature(terms: Sequence[Term], usual: str) -> str:
    """Return the one feature that terms need: the usual one, if they need none."""
    needed = sorted({name for term in terms for name in term.features})
    if not terms or len(needed) > 1:
        got = ", ".join(map(str, terms)) or "none"
        raise ModelError(f"terms: those of a stage must be over one feature, got {got}")
    return needed[0] if needed else usual


def _table(name: str, terms: tuple[Term, ...], values: tuple[Floats, Floats], seconds: Floats) -> dict[float, Floats]:
    """Return the first stage: by value of the outer feature the coefficients of the inner terms."""
    found: dict[float, Floats] = {}
    for value in np.unique(values[1]).tolist():
        at = values[1] == value
        found[value] = _solved(name, terms, values[0][at], seconds[at, None])[:, 0]
    return found


def _solved(name: str, terms: tuple[Term, ...], values: Floats, targets: Floats) -> Floats:
    """Return plain least squares, shape (terms, targets)."""
    distinct = np.unique(values)
    if len(distinct) < len(terms):
        got = ", ".join(f"{value:g}" for value in distinct[:4])
        raise ModelError(
            f"{name}: values must be at least {len(terms)} different ones for the terms "
            f"{', '.join(map(str, terms))}, got {len(distinct)} ({got})"
        )
    columns = np.stack([term.of({name: values}, len(values)) for term in terms], axis=1)
    length = np.linalg.norm(columns, axis=0)
    solution, *_ = np.linalg.lstsq(columns / length, targets, rcond=None)
    return np.asarray(solution / length[:, None])


def _deviation(
    names: tuple[str, str],
    terms: tuple[tuple[Term, ...], tuple[Term, ...]],
    values: tuple[Floats, Floats],
    points: Points,
) -> float:
    """Return what fits are off by, as a share, where each value of either feature is left out in turn."""
    off: list[Floats] = []
    for out in _left_out(values):
        kept = values[0][~out], values[1][~out]
        try:
            table = _table(names[0], terms[0], kept, points.seconds[~out])
            coefficients = over(names[1], list(table), np.array(list(table.values())), terms[1])
        except ModelError:
            continue  # too few are left to tell
        fitted = Staged(*terms, coefficients).seconds(dict(zip(names, (each[out] for each in values), strict=True)))
        off.append((fitted - points.seconds[out]) / points.scale[out])
    return float(np.sqrt(np.mean(np.concatenate(off) ** 2))) if off else math.inf


def _left_out(values: tuple[Floats, Floats]) -> Iterator[Flags]:
    for each in values:
        for value in np.unique(each).tolist():
            yield each == value


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
