"""Members of an ensemble: a sum of terms, and lines between what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.models.terms import Floats, Term

#: How far outside a range a value may be that rounding alone put there.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a member says of samples.

    Attributes:
        seconds: Shape (samples,).
        variance: Of the logarithm of the seconds, shape (samples,).
        inside: Where all its terms have values between those that it was fitted to, shape (samples,).
        applies: Where it says anything at all, shape (samples,).
    """

    seconds: Floats
    variance: Floats
    inside: npt.NDArray[np.bool_]
    applies: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Formula:
    """A sum of terms with coefficients above 0.

    Attributes:
        terms: Its terms.
        coefficients: Of each, in seconds.
        covariance: Of the coefficients, for each unit of squared relative scatter, shape (terms, terms).
        scatter: How far it is off at points left out of its fit, as a share: root mean square.
        ranges: The least and the largest value of each term at the points of the fit.
    """

    terms: tuple[Term, ...]
    coefficients: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    scatter: float
    ranges: tuple[tuple[float, float], ...]

    def estimate(self, features: Mapping[str, Floats], samples: int) -> Estimate:
        """Return what it says of samples."""
        values = np.stack([term.of(features, samples) for term in self.terms])
        seconds = np.asarray(self.coefficients) @ values
        share = values / np.maximum(seconds, 1e-300)
        leverage = np.einsum("is,ij,js->s", share, np.asarray(self.covariance), share)
        low, high = np.array(self.ranges).T[:, :, None]
        within = (values >= low * (1 - _ROUNDING)) & (values <= high * (1 + _ROUNDING))
        beyond = np.log2(np.maximum(values / np.maximum(high, 1e-300), 1.0)).max(axis=0)
        variance = self.scatter**2 * (1 + leverage) + (DISCREPANCY * beyond) ** 2
        return Estimate(seconds, variance, within.all(axis=0), np.ones(samples, bool))

    def __str__(self) -> str:
        return " + ".join(
            f"{coefficient:.4g}" if str(term) == "1" else f"{coefficient:.4g} {term}"
            for coefficient, term in zip(self.coefficients, self.terms, strict=True)
        )


#: What a formula is off by for each doubling of a term beyond what was measured, though it fits there.
DISCREPANCY = 0.05
#: What lines are off by for each doubling between two points, where nothing else tells.
CURVATURE = 0.05


@dataclass(frozen=True, slots=True)
class Interpolation:
    """Lines between measured points, on logarithmic scales, that never fall as a size grows.

    Attributes:
        along: The size.
        sizes: Where it was measured, rising.
        seconds: What was, not falling.
        scatter: How far it is off at points left out, as a share: root mean square.
    """

    along: Term
    sizes: tuple[float, ...]
    seconds: tuple[float, ...]
    scatter: float

    def estimate(self, features: Mapping[str, Floats], samples: int) -> Estimate:
        """Return what it says of samples; it says nothing of sizes outside those measured."""
        size = self.along.of(features, samples)
        within = (size >= self.sizes[0] * (1 - _ROUNDING)) & (size <= self.sizes[-1] * (1 + _ROUNDING))
        return Estimate(self.at(size), np.full(samples, self.scatter**2), within, within)

    def at(self, size: Floats) -> Floats:
        """Return the seconds at sizes, which are taken to the ends where they lie outside."""
        logs = np.log(np.maximum(size, self.sizes[0]))
        return np.exp(np.interp(logs, np.log(self.sizes), np.log(self.seconds)))

    def __str__(self) -> str:
        return f"between {len(self.sizes)} points along {self.along}"


def rising(values: Floats, weights: Floats) -> Floats:
    """Return the values that never fall and are nearest, by weighted least squares: pools of adjacent violators."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, total, count = value, weight, 1
        while pools and pools[-1][0] >= mean:
            before, held, number = pools.pop()
            mean, total, count = (mean * total + before * held) / (total + held), total + held, count + number
        pools.append((mean, total, count))
    return np.repeat([mean for mean, _, _ in pools], [count for _, _, count in pools])
