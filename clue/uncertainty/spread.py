"""What samples say of a figure: its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.uncertainty.noise import Sampling

#: Share of the samples between the ends of an interval: from the 10th to the 90th percentile.
LEVEL = 0.8


@dataclass(frozen=True, slots=True)
class Spread:
    """How a figure is spread over samples.

    Attributes:
        low: Its 10th percentile.
        median: Its median.
        high: Its 90th percentile.
    """

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, figures: npt.ArrayLike) -> Spread:
        """Return how figures are spread, shape (samples,); percentiles between two of them are interpolated."""
        tail = (1 - LEVEL) / 2
        return cls(*np.quantile(np.asarray(figures, np.float64), [tail, 0.5, 1 - tail]).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """The makespan of a simulation in samples of its noise.

    Attributes:
        sampling: Which samples.
        makespans: In each of them, seconds, shape (samples,).
    """

    sampling: Sampling
    makespans: npt.NDArray[np.float64]

    @property
    def spread(self) -> Spread:
        """How they are spread."""
        return Spread.of(self.makespans)
