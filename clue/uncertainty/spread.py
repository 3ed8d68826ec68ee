"""Spread of a figure over samples: its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from clue.uncertainty.noise import Sampling
from clue.units import count_of

#: Nominal coverage of an interval: from the 10th to the 90th percentile of samples.
LEVEL = 0.8
#: Distance of the ends of a normal variable's interval from its median, in standard deviations.
TAIL = NormalDist().inv_cdf((1 + LEVEL) / 2)
#: Number of samples below which the ends of an interval are unreliable: at most two samples lie beyond each end.
FEW = 20


@dataclass(frozen=True, slots=True)
class Spread:
    """Spread of a figure over samples.

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
        """Return the spread of figures, shape (samples,).

        The percentile p of n samples is the one with number p (n + 1), interpolated. So a further sample lies between
        the ends with a probability of 80 % (from 9 samples on), and at least 80 % of these samples do. Number
        1 + p (n - 1), which numpy takes by default, gives 72 % with 20 samples. Source: R. J. Hyndman, Y. Fan, Sample
        quantiles in statistical packages, The American Statistician 50 (1996), definition 6.
        """
        tail = (1 - LEVEL) / 2
        return cls(*np.quantile(np.asarray(figures, np.float64), [tail, 0.5, 1 - tail], method="weibull").tolist())

    def holding(self, figure: float, reach: float = 0.0) -> Spread:
        """Return the interval, widened to include the prediction without noise and that prediction's own error.

        Noise biases samples to one side of the prediction, because all ranks wait for the slowest. But a recording
        already contains this noise, so either may be right, and the interval includes both. Nor must the chance of few
        samples make the interval narrower than the known errors of predictions.

        Args:
            figure: The prediction.
            reach: Bound of its logarithm's error in four of five cases.
        """
        return Spread(min(self.low, figure * math.exp(-reach)), self.median, max(self.high, figure * math.exp(reach)))


def about_few(sampling: Sampling, what: str) -> Iterator[str]:
    """Yield that there are too few samples to judge something by, if that is so."""
    if sampling.samples < FEW:
        few = count_of(sampling.samples, "sample")
        says = "says" if sampling.samples == 1 else "say"
        yield f"{few} {says} little of {what}: {FEW} or more are better"


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """The makespan of a simulation in samples of its noise.

    Attributes:
        sampling: The samples.
        makespans: Makespan of each sample, seconds, shape (samples,).
        makespan: Makespan without noise, seconds.
        reach: Bound of the logarithm's error due to the model in four of five cases.
        reasons: Sources of the interval's width, in words.
    """

    sampling: Sampling
    makespans: npt.NDArray[np.float64]
    makespan: float
    reach: float = 0.0
    reasons: tuple[str, ...] = ()

    @property
    def spread(self) -> Spread:
        """Spread of the makespans; it includes the makespan without noise."""
        return Spread.of(self.makespans).holding(self.makespan, self.reach)

    def remarks(self) -> Iterator[str]:
        """Yield caveats of the interval."""
        yield from about_few(self.sampling, "an interval")
        # Of few samples, all may be longer by chance.
        if self.sampling.samples >= FEW and self.makespan < Spread.of(self.makespans).low:
            yield (
                "the makespan without noise is below nine of ten samples: where bursts differ from rank to rank, all "
                "wait for the slowest, and a recording with such noise already gets it twice; the interval holds both"
            )
