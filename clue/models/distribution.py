"""Distribution of single bursts around their mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.models.points import nonnegative
from clue.models.terms import Floats

#: Maximum number of values kept of a distribution; larger sorted samples are cut into this many equal parts.
KEPT = 1024
_Words = npt.NDArray[np.uint64]
#: Multipliers of the three rounds of the permutation: odd, so that no two numbers get the same place.
_FACTORS = tuple(map(np.uint64, (0xD1342543DE82EF95, 0xAF251AF3B0F025B5, 0x9FB21C651E98DF25)))


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Bursts relative to the mean of those of their recording, pooled over recordings.

    Two effects are left out: correlation between successive bursts, and the larger variation of short bursts.

    Attributes:
        relative: Equally likely values, ascending, with mean 1; shape (values,).
        samples: Number of bursts that they represent.
    """

    relative: Floats
    samples: int

    @classmethod
    def of(cls, recordings: Iterable[npt.ArrayLike]) -> Distribution:
        """Return the distribution of bursts of one site and role.

        Args:
            recordings: Bursts of each recording in seconds, shape (bursts,). Recordings without bursts, or whose bursts
                take no time, are ignored.

        Raises:
            ModelError: If bursts are negative or not finite.
        """
        pooled = [np.ones(0)]
        for recording in recordings:
            bursts = nonnegative("bursts", recording)
            if bursts.any():
                # Division by the longest comes first: the mean of the smallest representable times would round to 0.
                scaled = bursts / bursts.max()
                pooled.append(scaled / scaled.mean())
        values = np.sort(np.concatenate(pooled))
        if not len(values):
            return cls(np.ones(1), 0)
        edges = np.unique(np.linspace(0, len(values), min(KEPT, len(values)) + 1).astype(np.int64))
        parts = np.add.reduceat(values, edges[:-1]) / np.diff(edges)
        return cls(parts / parts.mean(), len(values))

    def draw(self, means: npt.ArrayLike, seed: int) -> Floats:
        """Return bursts with modelled means, shape (bursts,), reproducible by seed.

        Draws are stratified: if there are as many bursts as values, each value is drawn once, in random order. A
        large number of bursts together therefore takes as long as their means.

        Args:
            means: The modelled mean of each burst in seconds, shape (bursts,).
            seed: At least 0.
        """
        mean = np.asarray(means, np.float64)
        return np.asarray(mean * self.drawn(np.arange(len(mean)), len(mean), seed))

    def drawn(self, which: npt.NDArray[np.int64], draws: int, seed: int) -> Floats:
        """Return some of ``draws`` draws; each is computed without those before it, as replays of loops require.

        The kernel's C++ engine computes the same, to the last bit (``Drawing`` in ``sources.hpp``).

        Args:
            which: Indices of draws, from 0, shape (n,).
            draws: Number of draws.
            seed: At least 0.
        """
        mixed = _mixed(np.array([seed], np.uint64))
        within = (_mixed(mixed ^ which.astype(np.uint64)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        quantile = (_places(which.astype(np.uint64), draws, mixed) + within) / max(draws, 1)
        at = (quantile * len(self.relative)).astype(np.int64)
        return np.asarray(self.relative[np.minimum(at, len(self.relative) - 1)])


def _mixed(x: _Words) -> _Words:
    """Return words that look like random ones (SplitMix64; Steele, Lea and Flood, OOPSLA 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _places(which: _Words, count: int, seed: _Words) -> Floats:
    """Return the places of numbers below a count in a random permutation.

    Numbers with as many bits as the largest are permuted until each is below the count again (cycle walking; Black and
    Rogaway, CT-RSA 2002).
    """
    bits = max((count - 1).bit_length(), 1)
    mask, shift = np.uint64((1 << bits) - 1), np.uint64((bits + 1) // 2)
    places, left = which.copy(), np.arange(len(which))
    while len(left):
        x = places[left]
        for factor in _FACTORS:
            x = (x * factor + seed) & mask
            x ^= x >> shift
        places[left] = x
        left = left[x >= np.uint64(count)]
    return np.asarray(places, np.float64)
