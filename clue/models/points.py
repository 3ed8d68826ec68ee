"""Measured times by distinct point: the median of its repeats, and the spread of repeats."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.errors import ModelError
from clue.models.terms import Features, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Distinct values of the features, and the times measured there.

    Repeats count by their median, so a single outlier among three or more of them has little influence.

    Attributes:
        features: By name, shape (points,).
        seconds: The weighted median of a point's samples, shape (points,).
        scale: Scale of residuals: the seconds, or where these are 0 the smallest above 0; shape (points,).
        counts: Number of samples that a point represents, shape (points,).
        noise: Relative standard deviation of repeats, the median over points; 0 without repeats.
    """

    features: Mapping[str, Floats]
    seconds: Floats
    scale: Floats
    counts: Floats
    noise: float

    @classmethod
    def of(cls, features: Features, seconds: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Points:
        """Return the distinct points of samples, by ascending features.

        Args:
            features: By name, shape (samples,).
            seconds: Shape (samples,).
            weights: Number of measurements that each sample represents, by default 1; shape (samples,).

        Raises:
            ModelError: If there are no samples, lengths differ, or values are negative or not finite.
        """
        times = nonnegative("seconds", seconds)
        if not len(times):
            raise ModelError("seconds: at least one time must be given, got none")
        given = checked(features, len(times))
        counts = np.ones(len(times)) if weights is None else nonnegative("weights", weights, len(times))
        if not counts.all():
            raise ModelError("weights: values must be above 0, got 0")
        table = np.stack([np.zeros(len(times)), *given.values()], axis=1)
        rows, of_row = np.unique(table, axis=0, return_inverse=True)
        order = np.lexsort((times, of_row.reshape(-1)))
        groups = np.split(order, np.cumsum(np.bincount(of_row.reshape(-1)))[:-1])
        medians = np.array([_median(times[group], counts[group]) for group in groups])
        scale = np.where(medians > 0, medians, min(medians[medians > 0], default=1.0))
        spreads = [np.std(times[group], ddof=1) / s for group, s in zip(groups, scale, strict=True) if len(group) > 1]
        return cls(
            {name: rows[:, i] for i, name in enumerate(given, 1)},
            medians,
            scale,
            np.array([counts[group].sum() for group in groups]),
            float(np.median(spreads)) if spreads else 0.0,
        )

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def weights(self) -> Floats:
        """Weight of each point: model error is as large as a sample's noise, and repeats reduce only the noise."""
        return self.counts / (self.counts + 1)

    @property
    def domain(self) -> dict[str, tuple[float, float]]:
        """Smallest and largest value of each feature."""
        return {name: (float(values.min()), float(values.max())) for name, values in self.features.items()}


def checked(features: Features, samples: int | None = None) -> dict[str, Floats]:
    """Return features as arrays of one length: the given length, or that of the first.

    Raises:
        ModelError: If lengths differ, or values are negative or not finite.
    """
    given: dict[str, Floats] = {}
    for name, values in features.items():
        given[name] = nonnegative(name, values, samples)
        samples = len(given[name])
    return given


def nonnegative(name: str, values: npt.ArrayLike, samples: int | None = None) -> Floats:
    """Return values as an array, and check them.

    Raises:
        ModelError: If the length is wrong, or values are negative or not finite.
    """
    array = np.atleast_1d(np.asarray(values, np.float64))
    if array.ndim != 1 or (samples is not None and len(array) != samples):
        raise ModelError(f"{name}: shape must be ({'samples' if samples is None else samples},), got {array.shape}")
    if not (array.min(initial=0.0) >= 0 and array.max(initial=0.0) < math.inf):
        wrong = ~(np.isfinite(array) & (array >= 0))
        raise ModelError(f"{name}: values must be finite and at least 0, got {array[wrong][0]:g}")
    return array


def _median(times: Floats, counts: Floats) -> float:
    """Return the weighted median of sorted times: the mean of two of them where these split the weight in halves."""
    reached = np.cumsum(counts)
    low, high = (np.searchsorted(reached, reached[-1] / 2, side) for side in ("left", "right"))
    return float((times[low] + times[min(high, len(times) - 1)]) / 2)
