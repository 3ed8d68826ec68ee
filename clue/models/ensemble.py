"""All formulas and lines that are plausible for what was measured, weighed by how they predict what was left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from clue.models.formula import Estimate, Formula, Interpolation, rising
from clue.models.least_squares import all_subsets
from clue.models.points import Points, checked
from clue.models.terms import Features, Floats, Term, terms_for

#: Share of the cases that an interval is to hold.
LEVEL = 0.8
_TAIL = NormalDist().inv_cdf((1 + LEVEL) / 2)
#: The most terms of a formula.
LARGEST = 3
#: Parts that the points are cut into where there are more of them, each of which is left out once.
FOLDS = 16
#: Members of less weight than this share of the best's are dropped, and all beyond this number.
PLAUSIBLE, MOST = 1e-3, 48
#: How many times likelier lines are than a formula of equal error, where they apply.
ODDS = 10.0
#: No formula is taken to be nearer than this share.
FLOOR = 1e-6


@dataclass(frozen=True, slots=True)
class Member:
    """A plausible model.

    Attributes:
        model: A formula, or lines between points.
        weight: How much it counts, in relation to others that apply.
    """

    model: Formula | Interpolation
    weight: float


@dataclass(frozen=True, slots=True)
class Ensemble:
    """A fitted time.

    Attributes:
        members: By falling weight.
        domain: From where to where each feature was measured.
        points: How many distinct points it was fitted to.
        error: How far its formulas are off at points left out, as a share: root mean square, weighted.
    """

    members: tuple[Member, ...]
    domain: Mapping[str, tuple[float, float]]
    points: int
    error: float

    def predict(self, features: Features) -> tuple[Floats, Floats, Floats]:
        """Return the mean and the low and high end of an interval that is to hold 80 of 100 true times.

        The mean is that of the members' logarithms, by their weights. The interval is that of a normal variable whose
        variance is that between the members and the mean one of their own.

        Returns:
            Seconds, each of shape (samples,).

        Raises:
            ModelError: A feature is missing, or no number.
        """
        estimates, weights = self._asked(features)
        logs = np.log(np.maximum([each.seconds for each in estimates], 1e-300))
        mean = (weights * logs).sum(axis=0)
        between = (weights * (logs - mean) ** 2).sum(axis=0)
        own = (weights * [each.variance for each in estimates]).sum(axis=0)
        reach = _TAIL * np.sqrt(between + own)
        return np.exp(mean), np.exp(mean - reach), np.exp(mean + reach)

    def inside(self, features: Features) -> npt.NDArray[np.bool_]:
        """Return where members of at least half the weight have all their terms within what was measured."""
        estimates, weights = self._asked(features)
        within = weights * [each.inside for each in estimates]
        return np.asarray(within.sum(axis=0) >= 0.5)

    def _asked(self, features: Features) -> tuple[list[Estimate], Floats]:
        """Return what members say, and how much each counts for each sample: 1 in all, shape (members, samples)."""
        given = checked(features)
        samples = len(next(iter(given.values()))) if given else 1
        estimates = [member.model.estimate(given, samples) for member in self.members]
        weights = np.array([[member.weight] for member in self.members]) * [each.applies for each in estimates]
        return estimates, weights / weights.sum(axis=0)

    def describe(self) -> Iterator[str]:
        """Yield a line for each member, those of most weight first."""
        for member in self.members:
            yield f"{member.weight:6.1%}  {member.model.scatter:6.1%} off  {member.model}"

    def __str__(self) -> str:
        return "\n".join(self.describe())


def fit(
    features: Features,
    seconds: npt.ArrayLike,
    terms: Sequence[Term | str] | None = None,
    weights: npt.ArrayLike | None = None,
) -> Ensemble:
    """Return the models that are plausible for measured times."""
    points = Points.of(features, seconds, weights)
    chosen = terms_for(features) if terms is None else [Term.parse(t) if isinstance(t, str) else t for t in terms]
    formulas = _formulas(points, _distinct(points, chosen))
    best = max(weight for _, weight in formulas)
    scored: list[tuple[Formula | Interpolation, float]] = [*formulas, *_interpolations(points, chosen)]
    members = [(model, math.exp(weight - best)) for model, weight in scored]
    members.sort(key=lambda each: -each[1])
    return Ensemble(
        tuple(Member(model, weight) for model, weight in members if weight > PLAUSIBLE),
        points.domain,
        len(points),
        math.sqrt(sum(w * m.scatter**2 for m, w in members) / sum(w for _, w in members)),
    )


def _distinct(points: Points, terms: Sequence[Term]) -> list[Term]:
    """Leave out terms that have the values of an earlier one at every point."""
    seen: dict[bytes, Term] = {}
    for term in terms:
        seen.setdefault(term.of(points.features, len(points)).tobytes(), term)
    return list(seen.values())


def _folds(points: Points) -> npt.NDArray[np.int64]:
    """Return in which part each point is."""
    count = min(len(points), FOLDS)
    return np.arange(len(points)) * count // len(points)


def _formulas(points: Points, terms: Sequence[Term]) -> list[tuple[Formula, float]]:
    """Return the formulas that are plausible beside the best, with the logarithm of their weight."""
    columns = np.stack([term.of(points.features, len(points)) for term in terms], axis=1)
    relative, target = columns / points.scale[:, None], points.seconds / points.scale
    folds, weight = _folds(points), points.weights
    kept = folds != np.arange(-1, folds.max() + 1)[:, None]  # problem 0 has all points, problem i leaves out part i - 1
    gram = np.einsum("pn,ni,nj->pij", kept * weight, relative, relative, optimize=True)
    moment = np.einsum("pn,ni,n->pi", kept * weight, relative, target)
    floor = max(FLOOR, points.noise / math.sqrt(float(np.median(points.counts))))
    found = []
    for fits in all_subsets(gram, moment, max(1, min(LARGEST, len(points) - 1))):
        off = sum(
            weight[folds == i] @ _log_ratio(relative[folds == i] @ fits.coefficients[i + 1].T, target[folds == i]) ** 2
            for i in range(folds.max() + 1)
        )
        scatter = np.sqrt(off / weight.sum() + floor**2)
        score = -(folds.max() + 1) * np.log(scatter) - math.log(len(fits.subsets))
        found += [
            (float(score[i]), float(scatter[i]), list(fits.subsets[i]), fits.coefficients[0, i])
            for i in np.flatnonzero(fits.own[0]).tolist()
        ]
    found.sort(key=lambda each: -each[0])
    plausible = [each for each in found[:MOST] if each[0] > found[0][0] + math.log(PLAUSIBLE)]
    return [
        (
            Formula(
                tuple(terms[j] for j in subset),
                tuple(coefficients[subset].tolist()),
                tuple(map(tuple, np.linalg.inv(gram[0][np.ix_(subset, subset)] / weight.mean()).tolist())),
                scatter,
                tuple(
                    zip(columns[:, subset].min(axis=0).tolist(), columns[:, subset].max(axis=0).tolist(), strict=True)
                ),
            ),
            score,
        )
        for score, scatter, subset, coefficients in plausible
    ]


def _log_ratio(predicted: Floats, target: Floats) -> Floats:
    """Return how far predictions are off, shape (points, subsets); less than a hundredth counts as one."""
    return np.log(np.maximum(predicted, 0.01) / np.maximum(target, 0.01)[:, None])


def _interpolations(points: Points, terms: Sequence[Term]) -> Iterator[tuple[Interpolation, float]]:
    """Yield lines along every size, with the logarithm of their weight."""
    for term, size in _alongs(points, terms):
        whole = _lines(term, size, points, np.ones(len(points), bool))
        off, count = 0.0, 0
        for i in range(len(points)):
            rest = np.arange(len(points)) != i
            if size[rest].min() <= size[i] <= size[rest].max() and len(np.unique(size[rest])) > 1:
                left = _lines(term, size, points, rest)
                off += math.log(float(left.at(size[i : i + 1])[0]) / points.seconds[i]) ** 2
                count += 1
        if not count:
            continue
        scatter = math.sqrt(off / count + FLOOR**2)
        yield (
            Interpolation(term, whole.sizes, whole.seconds, scatter),
            -min(len(points), FOLDS) * math.log(scatter) + math.log(ODDS),
        )


def _alongs(points: Points, terms: Sequence[Term]) -> list[tuple[Term, Floats]]:
    """Return what lines may go along: terms without logarithms, but for powers of earlier ones."""
    found: dict[bytes, tuple[Term, Floats]] = {}
    for term in terms:
        size = term.of(points.features, len(points))
        if not term.logs and points.seconds.all() and size.all() and np.ptp(size):
            logs = np.log(size / size.min())
            found.setdefault(np.round(logs / logs.max(), 9).tobytes(), (term, size))
    return list(found.values())


def _lines(along: Term, size: Floats, points: Points, at: npt.NDArray[np.bool_]) -> Interpolation:
    sizes, place = np.unique(size[at], return_inverse=True)
    weight = np.bincount(place, points.weights[at])
    logs = np.bincount(place, points.weights[at] * np.log(points.seconds[at])) / weight
    return Interpolation(along, tuple(sizes.tolist()), tuple(np.exp(rising(logs, np.asarray(weight))).tolist()), 0.0)
