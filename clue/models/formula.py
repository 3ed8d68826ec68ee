"""Formulas: sums of terms with coefficients above 0."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clue.models.least_squares import all_subsets
from clue.models.terms import Floats, Term
import clue.models.trials as T
from clue.models.trials import Estimate, Trials, estimate

#: The most terms of a formula.
LARGEST = 3
#: Formulas of less weight than this share of the best's are dropped, and all beyond this number.
PLAUSIBLE, MOST = 1e-3, 48


@dataclass(frozen=True, slots=True)
class Formula:
    """A sum of terms with coefficients above 0.

    Attributes:
        terms: Its terms.
        coefficients: Of each, in seconds.
        covariance: Of the coefficients, for each unit of squared scatter, shape (terms, terms).
        ranges: The least and the largest value of each term at the points of the fit.
        scatter: How far it is off between points of its fit, as a share: root mean square at points left out.
        beyond: The same with those beyond them.
    """

    terms: tuple[Term, ...]
    coefficients: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    ranges: tuple[tuple[float, float], ...]
    scatter: float
    beyond: float

    def estimate(self, features: Mapping[str, Floats], samples: int) -> Estimate:
        """Return what it says of samples."""
        values = np.stack([term.of(features, samples) for term in self.terms])
        seconds = np.asarray(self.coefficients) @ values
        share = values / np.maximum(seconds, 1e-300)
        leverage = 1 + np.einsum("is,ij,js->s", share, np.asarray(self.covariance), share)
        said = estimate(seconds, values, self.ranges, (self.scatter, self.beyond))
        return Estimate(seconds, said.variance + (leverage - 1) * self.scatter**2, said.inside)

    def __str__(self) -> str:
        return " + ".join(
            f"{coefficient:.4g}" if str(term) == "1" else f"{coefficient:.4g} {term}"
            for coefficient, term in zip(self.coefficients, self.terms, strict=True)
        )


def formulas(trials: Trials, terms: Sequence[Term]) -> list[tuple[Formula, float]]:
    """Return the formulas that are plausible beside the best, with the logarithm of their weight."""
    points = trials.points
    columns = np.stack([term.of(points.features, len(points)) for term in terms], axis=1)
    relative, target = columns / points.scale[:, None], points.seconds / points.scale
    # The first problem is that of all points.
    weight = np.concatenate([np.ones((1, len(points)), bool), ~trials.left_out]) * points.weights
    gram = np.einsum("pn,ni,nj->pij", weight, relative, relative, optimize=True)
    moment = np.einsum("pn,ni,n->pi", weight, relative, target)
    outside = [
        (columns[out] < columns[~out].min(axis=0)) | (columns[out] > columns[~out].max(axis=0))
        for out in trials.left_out
    ]
    odds = np.array([trials.odds(term) for term in terms])
    found = []
    for fits in all_subsets(gram, moment, max(1, min(LARGEST, len(points) - 1))):
        chosen = np.zeros((len(terms), len(fits.subsets)))
        np.put_along_axis(chosen, np.array(fits.subsets).T, 1.0, axis=0)
        judgement = trials.judge(
            (
                (out, (relative[out] @ coefficients.T + TINY) / (target[out, None] + TINY), beyond @ chosen == 0)
                for out, coefficients, beyond in zip(trials.left_out, fits.coefficients[1:], outside, strict=True)
            ),
            len(fits.subsets),
        )
        prior = odds @ chosen - T.MULTIPLICITY * math.log(len(fits.subsets)) - T.COST*max(0,len(fits.subsets[0])-2)
        found += [
            (float(prior[i]), list(fits.subsets[i]), fits.coefficients[0, i], judgement.scatter[i], judgement.beyond[i])
            for i in np.flatnonzero(fits.own[0]).tolist()
        ]
    nearest = float(min(each[-1] for each in found))
    found = [(prior + float(trials.evidence(each[-1], nearest)), *each) for prior, *each in found]
    found.sort(key=lambda each: -each[0])
    return [
        (
            Formula(
                tuple(terms[j] for j in subset),
                tuple(coefficients[subset].tolist()),
                tuple(map(tuple, np.linalg.inv(gram[0][np.ix_(subset, subset)] / points.weights.mean()).tolist())),
                tuple((float(columns[:, j].min()), float(columns[:, j].max())) for j in subset),
                float(scatter),
                float(beyond),
            ),
            score,
        )
        for score, subset, coefficients, scatter, beyond in found[:MOST]
        if score > found[0][0] + math.log(PLAUSIBLE)
    ]


#: Keeps quotients of times that are 0 in bounds.
TINY = 1e-3
