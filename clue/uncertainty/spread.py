"""What samples say of a figure: its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from clue.uncertainty.noise import Sampling

#: Share of the samples between the ends of an interval: from the 10th to the 90th percentile.
LEVEL = 0.8
#: How far from its median the ends of such an interval of a normal variable are, in standard deviations.
TAIL = NormalDist().inv_cdf((1 + LEVEL) / 2)
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

    def holding(self, figure: float, reach: float = 0.0) -> Spread:
        """Return the interval, made to hold what is predicted without noise, and what that alone may be off by.

        Noise moves samples to one side of the prediction: all ranks wait for the slowest. A recording has that noise
        already, so nobody knows which of the two is right, and the interval holds both. Nor does the luck of few
        samples make it narrower than the errors that predictions are known to have.

        Args:
            figure: What is predicted.
            reach: How far its logarithm is off in four of five cases.
        """
        return Spread(min(self.low, figure * math.exp(-reach)), self.median, max(self.high, figure * math.exp(reach)))


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """The makespan of a simulation in samples of its noise.

    Attributes:
        sampling: Which samples.
        makespans: In each of them, seconds, shape (samples,).
        makespan: Without noise, seconds.
        reach: How far the logarithm of the makespan is off, by errors of the model, in four of five cases.
        reasons: Where the interval's width comes from, in words.
    """

    sampling: Sampling
    makespans: npt.NDArray[np.float64]
    makespan: float
    reach: float = 0.0
    reasons: tuple[str, ...] = ()

    @property
    def spread(self) -> Spread:
        """How they are spread; the makespan is in it."""
        return Spread.of(self.makespans).holding(self.makespan, self.reach)

    def remarks(self) -> Iterator[str]:
        """Yield what a reader of the interval must know."""
        if self.sampling.samples < FEW:
            yield f"{self.sampling.samples} samples say little of an interval: {FEW} or more are better"
        if self.makespan < Spread.of(self.makespans).low:
            yield (
                "the makespan without noise is below nine of ten samples: where bursts differ from rank to rank, all "
                "wait for the slowest, and a recording with such noise already gets it twice; the interval holds both"
            )
