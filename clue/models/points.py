"""What was measured, by distinct points: the median of their repeats, and how far repeats differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from clue.errors import ModelError
from clue.models.terms import Features, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Distinct values of the features, and what was measured there.

    Attributes:
        features: By name, shape (points,).
        seconds: The weighted median of a point's samples, shape (points,).
        scale: What differences are relative to: the seconds, or the least above 0 where they are 0; shape (points,).
        counts: How many samples a point stands for, shape (points,).
        noise: The relative standard deviation of repeats, its median over points; 0 if there are no repeats.
    """

    features: Mapping[str, Floats]
    seconds: Floats
    scale: Floats
    counts: Floats
    noise: float

    @classmethod
    def of(cls, features: Features, seconds: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Points:
        """Return the distinct points of samples, by rising features.

        Raises:
            ModelError: There are no samples, lengths differ, or values are negative or no numbers.
        """
        times = _checked("seconds", seconds)
        if not len(times):
            raise ModelError("seconds: at least one time must be measured, got none")
        given = checked(features, len(times))
        counts = np.ones(len(times)) if weights is None else _checked("weights", weights, len(times))
        table = np.stack(list(given.values()), axis=1) if given else np.zeros((len(times), 0))
        rows, of_row = np.unique(table, axis=0, return_inverse=True)
        of_row = of_row.reshape(-1)
        order = np.lexsort((times, of_row))
        groups = np.split(order, np.cumsum(np.bincount(of_row))[:-1])
        medians = np.array([_median(times[group], counts[group]) for group in groups])
        least = medians[medians > 0].min() if medians.any() else 1.0
        scale = np.where(medians > 0, medians, least)
        spreads = [np.std(times[g], ddof=1) / s for g, s in zip(groups, scale, strict=True) if len(g) > 1]
        return cls(
            MappingProxyType({name: rows[:, i] for i, name in enumerate(given)}),
            medians,
            scale,
            np.array([counts[group].sum() for group in groups]),
            float(np.median(spreads)) if spreads else 0.0,
        )

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def weights(self) -> Floats:
        """How much a point counts: its model is as far off as a single sample is, which repeats do not mend."""
        return self.counts / (self.counts + 1)

    @property
    def domain(self) -> Mapping[str, tuple[float, float]]:
        """From where to where features were measured."""
        return MappingProxyType(
            {name: (float(values.min()), float(values.max())) for name, values in self.features.items()}
        )


def checked(features: Features, samples: int | None = None) -> dict[str, Floats]:
    """Return features as arrays of one length.

    Raises:
        ModelError: Lengths differ, or values are negative or no numbers.
    """
    given: dict[str, Floats] = {}
    for name, values in features.items():
        given[name] = _checked(name, values, samples)
        samples = len(given[name])
    return given


def _checked(name: str, values: npt.ArrayLike, samples: int | None = None) -> Floats:
    array = np.atleast_1d(np.asarray(values, np.float64))
    if array.ndim != 1 or (samples is not None and len(array) != samples):
        raise ModelError(f"{name}: shape must be ({'samples' if samples is None else samples},), got {array.shape}")
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        raise ModelError(f"{name}: values must be finite and not negative, got {array[wrong][0]:g}")
    return array


def _median(sorted_times: Floats, counts: Floats) -> float:
    """Return the weighted median: in the middle between two where these halve the weight."""
    reached = np.cumsum(counts)
    half = reached[-1] / 2
    low = np.searchsorted(reached, half, side="left")
    high = np.searchsorted(reached, half, side="right")
    return float(sorted_times[[low, min(high, len(counts) - 1)]].mean())
