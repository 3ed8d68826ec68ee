"""Random numbers that belong to things: they depend only on the sample and the thing (common random numbers)."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np

#: Limit at which draws of Student's t are truncated, in deviations.
_FARTHEST = 10.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One draw of all noise.

    Attributes:
        seed: Seed of all samples of a simulation or comparison; at least 0.
        number: Index of the sample, from 0.
    """

    seed: int
    number: int

    def generator(self, *thing: object) -> np.random.Generator:
        """Return the generator for the noise of a thing in this sample.

        It is numpy's PCG64 with a seed sequence spawned for the sample and, within it, for the thing. So a draw does
        not depend on other draws, their order, or the process.

        Args:
            thing: Words and numbers that identify the thing.
        """
        digest = hashlib.blake2b(repr(thing).encode(), digest_size=8).digest()
        place = (self.number, int.from_bytes(digest, "big"))
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=place)))

    def multiplier(self, deviation: float, *thing: object) -> float:
        """Return the multiplier of a thing: log-normal with median 1 and this relative standard deviation."""
        if not deviation:
            return 1.0
        return math.exp(log_deviation(deviation) * float(self.generator(*thing).standard_normal()))


@dataclass(frozen=True, slots=True)
class Sampling:
    """The samples to draw.

    Attributes:
        samples: Number of samples.
        seed: Their seed.
        noise: Whether stated noise is drawn; otherwise only the uncertainty of sampled replays.
    """

    samples: int
    seed: int = 0
    noise: bool = True

    def each(self) -> list[Sample]:
        """Return the samples."""
        return [Sample(self.seed, number) for number in range(self.samples)]


def log_deviation(deviation: float) -> float:
    """Return the standard deviation of a log-normal variable's logarithm, from its relative standard deviation."""
    return math.sqrt(math.log1p(deviation * deviation))


def within_reach(drawn: float) -> float:
    """Return a truncated draw of Student's t, whose tails are long with few degrees of freedom."""
    return max(-_FARTHEST, min(drawn, _FARTHEST))
