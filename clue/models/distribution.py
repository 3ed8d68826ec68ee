"""How single bursts vary around their mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.models.points import nonnegative
from clue.models.terms import Floats

#: The most values that are kept of a distribution: larger samples are cut into as many equal parts, by rank.
KEPT = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Bursts relative to the mean of those of their recording, pooled over recordings.

    What is left out: that bursts which follow each other may be alike, and that short bursts vary more than long ones.

    Attributes:
        relative: Equally likely values, rising, with mean 1; shape (values,).
        samples: How many bursts they stand for.
    """

    relative: Floats
    samples: int

    @classmethod
    def of(cls, recordings: Iterable[npt.ArrayLike]) -> Distribution:
        """Return the distribution of bursts of one site and role.

        Args:
            recordings: The bursts of each in seconds, shape (bursts,). Those without bursts, or whose bursts take no
                time, say nothing.

        Raises:
            ModelError: Bursts are negative or not finite.
        """
        pooled = [np.ones(0)]
        for recording in recordings:
            bursts = nonnegative("bursts", recording)
            if bursts.any():
                # Divided by the longest first: the mean of the shortest times that numbers can hold rounds to 0.
                scaled = bursts / bursts.max()
                pooled.append(scaled / scaled.mean())
        values = np.sort(np.concatenate(pooled))
        if not len(values):
            return cls(np.ones(1), 0)
        edges = np.unique(np.linspace(0, len(values), min(KEPT, len(values)) + 1).astype(np.int64))
        parts = np.add.reduceat(values, edges[:-1]) / np.diff(edges)
        return cls(parts / parts.mean(), len(values))

    def draw(self, means: npt.ArrayLike, seed: int) -> Floats:
        """Return bursts with modelled means, shape (bursts,), always the same for a seed.

        They are stratified: of as many bursts as there are values each value is drawn once, in random order, so that
        many bursts take as long as their means.

        Args:
            means: The modelled mean of each burst in seconds, shape (bursts,).
            seed: At least 0.
        """
        mean = np.asarray(means, np.float64)
        generator = np.random.Generator(np.random.PCG64(seed))
        place, within = generator.random((2, len(mean)))
        quantile = (np.argsort(np.argsort(place)) + within) / max(len(mean), 1)
        return np.asarray(mean * self.relative[(quantile * len(self.relative)).astype(np.int64)])
