"""What samples say of a figure: its interval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.uncertainty.noise import Sampling

#: Share of the samples between the ends of an interval: from the 10th to the 90th percentile.
LEVEL = 0.8
#: From fewer samples than this the ends of an interval are a matter of luck: two are beyond each at most.
FEW = 20


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

    def remarks(self, makespan: float) -> Iterator[str]:
        """Yield what a reader of the interval must know beside the makespan without noise."""
        if self.sampling.samples < FEW:
            yield f"{self.sampling.samples} samples say little of an interval: {FEW} or more are better"
        if makespan < self.spread.low:
            yield (
                "the makespan without noise is below its interval: where bursts differ from rank to rank, all wait for "
                "the slowest, and a recording that has such noise already gets it twice"
            )
