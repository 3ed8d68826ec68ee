"""Delay curves: time as a piecewise-linear function of message size. Only this module evaluates them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Message sizes at which reports show delays, bytes.
SHOWN_SIZES = (0, 1_000, 64_000, 1_000_000)
#: Up to this many sizes, a curve of several segments is evaluated faster one size at a time than as an array.
_FEW = 16


@dataclass(frozen=True, slots=True)
class Curve:
    """A piecewise-linear delay curve (CLUE paper, section 3: ``s = k·m + d``, or points with linear interpolation).

    Segment i starts at ``sizes[i]`` bytes with ``times[i]`` seconds and rises by ``slopes[i]`` seconds per byte. Below
    the first size the curve is constant; beyond the last it continues with the last slope.
    """

    sizes: tuple[float, ...]
    times: tuple[float, ...]
    slopes: tuple[float, ...]

    def __call__(self, nbytes: float) -> float:
        """Return the delay of a message of ``nbytes`` bytes, in seconds."""
        i = bisect_right(self.sizes, nbytes) - 1
        if i < 0:
            return self.times[0]
        return self.times[i] + (nbytes - self.sizes[i]) * self.slopes[i]

    def over(self, nbytes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the delays of many messages at once, bit for bit the same as single calls return."""
        import numpy as np  # noqa: PLC0415 - code that only looks at machines does not load it

        if len(self.sizes) == 1:  # most curves have one segment; this takes a quarter of the time
            line: npt.NDArray[np.float64] = self.times[0] + (nbytes - self.sizes[0]) * self.slopes[0]
            return line if self.sizes[0] <= 0 else np.where(nbytes < self.sizes[0], self.times[0], line)
        if len(nbytes) <= _FEW:
            return np.array([self(size) for size in nbytes.tolist()], np.float64)
        sizes, times, slopes = (np.array(column) for column in (self.sizes, self.times, self.slopes))
        i = np.searchsorted(sizes, nbytes, side="right") - 1
        delays: npt.NDArray[np.float64] = np.where(i < 0, times[0], times[i] + (nbytes - sizes[i]) * slopes[i])
        return delays

    @classmethod
    def line(cls, latency: float, per_byte: float = 0.0) -> Curve:
        """Return the straight line ``latency + per_byte · m``."""
        return cls((0.0,), (latency,), (per_byte,))

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> Curve:
        """Return the curve through points (bytes, seconds), which must be sorted by strictly rising size."""
        sizes, times = zip(*points, strict=True)
        slopes = [(t1 - t0) / (m1 - m0) for (m0, t0), (m1, t1) in pairwise(points)]
        slopes.append(slopes[-1] if slopes else 0.0)
        return cls(tuple(map(float, sizes)), tuple(map(float, times)), tuple(slopes))

    def scaled(self, factor: float) -> Curve:
        """Return the curve with every delay multiplied."""
        return Curve(self.sizes, *(tuple(x * factor for x in column) for column in (self.times, self.slopes)))

    def start_scaled(self, factor: float) -> Curve:
        """Return the curve with the delay of an empty message multiplied, and all others shifted by the difference.

        A delay that would be below 0 is 0.
        """
        more = self(0) * (factor - 1)
        return Curve(self.sizes, tuple(time + more for time in self.times), self.slopes)._from_0_on

    def growth_scaled(self, factor: float) -> Curve:
        """Return the curve with its growth with message size multiplied; a delay that would be below 0 is 0."""
        empty = self(0)
        # In this form a factor of 1 changes no bit: simultaneous arrivals stay simultaneous.
        times = tuple(time + (time - empty) * (factor - 1) for time in self.times)
        return Curve(self.sizes, times, tuple(slope * factor for slope in self.slopes))._from_0_on

    @property
    def _from_0_on(self) -> Curve:
        """The curve with 0 in place of delays below 0, with which a message would arrive before it is sent."""
        return Curve.upper([Curve.line(0.0), self]) if min(self.times) < 0 else self

    @property
    def growth(self) -> Curve:
        """The growth of the curve with message size: the delay minus that of an empty message."""
        empty = self(0)
        return Curve(self.sizes, tuple(time - empty for time in self.times), self.slopes)

    @classmethod
    def upper(cls, curves: Sequence[Curve]) -> Curve:
        """Return the maximum of some curves at every size."""
        starts = sorted({0.0, *(size for curve in curves for size in curve.sizes if size > 0)})
        segments = [
            segment
            for begin, end in pairwise((*starts, inf))
            for segment in _envelope([curve._line_at(begin) for curve in curves], begin, end)
        ]
        return cls(*zip(*segments, strict=True))

    def _line_at(self, begin: float) -> tuple[float, float]:
        """Return the delay at a size, and the slope just beyond it."""
        i = bisect_right(self.sizes, begin) - 1
        return self(begin), self.slopes[i] if i >= 0 else 0.0


def _envelope(lines: Sequence[tuple[float, float]], begin: float, end: float) -> Iterator[tuple[float, float, float]]:
    """Yield the segments (begin, value, slope) of the upper envelope of lines that are given by value and slope."""
    at, (value, slope) = begin, max(lines)
    while at < end:
        yield at, value + (at - begin) * slope, slope
        # Only a steeper line can overtake, so each line does so at most once.
        overtaking = [(begin + (value - v) / (s - slope), -s, v) for v, s in lines if s > slope]
        at, falling, value = min(overtaking, default=(inf, 0.0, 0.0))
        slope = -falling
