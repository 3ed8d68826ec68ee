"""Random numbers that belong to things: which sample, which thing, and nothing else decides them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np

#: No draw of Student's t is farther out than so many deviations.
_FARTHEST = 10.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One draw of all noise.

    Attributes:
        seed: Of all samples of a simulation or comparison; at least 0.
        number: Which of them, from 0.
    """

    seed: int
    number: int

    def generator(self, *thing: object) -> np.random.Generator:
        """Return what draws the noise of a thing in this sample.

        numpy's PCG64 on a seed sequence spawned for the sample and, within it, for the thing. So a draw depends neither
        on what else is drawn, nor on the order, nor on who draws it.

        Args:
            thing: Words and numbers that tell the thing from others.
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
    """Which samples are drawn.

    Attributes:
        samples: How many.
        seed: What they are drawn from.
        noise: Whether stated noise is drawn; else only what is uncertain because a part of a program was replayed.
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
    """Return a draw of Student's t, no farther out than times can be: of few degrees of freedom the tails are long."""
    return max(-_FARTHEST, min(drawn, _FARTHEST))
