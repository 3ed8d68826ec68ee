"""Formulas: sums of terms with coefficients above 0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clue.models.least_squares import Fits, all_subsets, covariance
from clue.models.terms import Floats, Term, values_of
from clue.models.trials import Estimate, Flags, Trials, estimate

#: Maximum number of terms of a formula.
LARGEST = 3
#: Factor by which a formula with that many terms is less plausible.
THIRD = 4.5
#: Minimum plausibility of formulas relative to the best, and maximum number of formulas.
PLAUSIBLE, MOST = 1e-3, 48


@dataclass(frozen=True, slots=True)
class Formula:
    """A sum of terms with coefficients above 0.

    Attributes:
        terms: Its terms.
        coefficients: Coefficient of each term, seconds.
        covariance: Covariance of the coefficients, for a relative variance of 1 of a measurement; shape (terms, terms).
        ranges: Smallest and largest measured value of each term.
        within: Root mean square of the relative error at points left out of its fit that lie between others.
        overall: The same at all points left out.
    """

    terms: tuple[Term, ...]
    coefficients: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    ranges: tuple[tuple[float, float], ...]
    within: float
    overall: float

    def estimate(self, features: Mapping[str, Floats], samples: int) -> Estimate:
        """Return the prediction for samples; the variance of the coefficients is added as that of a lognormal."""
        values = values_of(self.terms, features, samples)
        seconds = np.asarray(self.coefficients) @ values
        share = np.divide(values, seconds, out=np.zeros_like(values), where=seconds > 0)
        said = estimate(seconds, values, self.ranges, self.within, self.overall)
        uncertain = self.within**2 * np.einsum("is,ij,js->s", share, np.asarray(self.covariance), share)
        return Estimate(seconds, said.variance + np.log1p(uncertain), said.inside)

    def __str__(self) -> str:
        return " + ".join(
            f"{coefficient:.4g}" if term == Term() else f"{coefficient:.4g} {term}"
            for coefficient, term in zip(self.coefficients, self.terms, strict=True)
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A subset of the terms, all coefficients, its errors within and overall, and the prior of its terms."""

    subset: list[int]
    coefficients: Floats
    off: tuple[float, float]
    prior: float


@dataclass(frozen=True, slots=True, eq=False)
class _Problems:
    """The fits of all points (the first), and of all trials.

    Attributes:
        trials: The trials.
        columns: The values of the terms, shape (points, terms).
        gram: Inner products of scaled columns, shape (1 + trials, terms, terms).
        moment: Inner products of scaled columns and times, shape (1 + trials, terms).
    """

    trials: Trials
    columns: Floats
    gram: Floats
    moment: Floats

    @classmethod
    def of(cls, trials: Trials, terms: Sequence[Term]) -> _Problems:
        points = trials.points
        columns = values_of(terms, points.features, len(points)).T
        relative = columns / points.scale[:, None]
        weight = np.concatenate([np.ones((1, len(points)), bool), ~trials.left_out]) * points.weights
        gram = np.einsum("pn,ni,nj->pij", weight, relative, relative, optimize=True)
        return cls(trials, columns, gram, (weight * points.seconds / points.scale) @ relative)

    def candidates(self, priors: Floats) -> Iterator[_Candidate]:
        """Yield every subset of the terms whose coefficients are all above 0."""
        for fits in all_subsets(self.gram, self.moment, max(1, min(LARGEST, len(self.trials.points) - 1))):
            judgement = self.trials.judge(self._tried(fits), len(fits.subsets))
            fewer = 0.5 * math.log(len(fits.subsets)) + (math.log(THIRD) if fits.subsets.shape[1] == LARGEST else 0.0)
            for i in np.flatnonzero(fits.proper[0]):
                subset = fits.subsets[i].tolist()
                off = float(judgement.within[i]), float(judgement.overall[i])
                yield _Candidate(subset, fits.coefficients[0, i], off, float(priors[subset].sum() - fewer))

    def _tried(self, fits: Fits) -> Iterator[tuple[Flags, Floats, Flags]]:
        """Yield for each trial the points left out, the formulas' predictions there, and whether these interpolate."""
        points, columns = self.trials.points, self.columns
        chosen = np.zeros((columns.shape[1], len(fits.subsets)))
        np.put_along_axis(chosen, fits.subsets.T, 1.0, axis=0)
        # Times of 0 are compared as if all times were longer by the smallest time.
        longer = np.where(points.seconds > 0, 0.0, points.scale)
        for out, coefficients in zip(self.trials.left_out, fits.coefficients[1:], strict=True):
            beyond = (columns[out] < columns[~out].min(axis=0)) | (columns[out] > columns[~out].max(axis=0))
            share = (columns[out] @ coefficients.T + longer[out, None]) / (points.seconds + longer)[out, None]
            yield out, share, beyond @ chosen == 0

    def formula(self, terms: Sequence[Term], found: _Candidate) -> Formula:
        """Return the formula of a candidate."""
        part = self.gram[0][np.ix_(found.subset, found.subset)] / self.trials.points.weights.mean()
        return Formula(
            tuple(terms[i] for i in found.subset),
            tuple(found.coefficients[found.subset].tolist()),
            tuple(map(tuple, covariance(part).tolist())),
            tuple((float(self.columns[:, i].min()), float(self.columns[:, i].max())) for i in found.subset),
            *found.off,
        )


def formulas(trials: Trials, terms: Sequence[Term]) -> list[tuple[Formula, float]]:
    """Return the plausible formulas over terms, the most plausible first, with the logarithm of their weight."""
    problems = _Problems.of(trials, terms)
    candidates = list(problems.candidates(np.array([trials.prior(term) for term in terms])))
    least = min(each.off[1] for each in candidates)
    scored = [(each.prior + float(trials.evidence(each.off[1], least)), each) for each in candidates]
    scored.sort(key=lambda each: -each[0])
    lowest = scored[0][0] + math.log(PLAUSIBLE)
    return [(problems.formula(terms, each), score) for score, each in scored[:MOST] if score > lowest]
