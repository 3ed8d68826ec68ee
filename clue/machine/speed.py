"""The speed of a processor as a function of the work in a burst: the computation of small blocks is less efficient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clue.machine.curve import Curve
from clue.machine.figures import DELAY, check_figures


@dataclass(frozen=True, slots=True)
class SpeedCurve:
    """A speed that depends on the operations of a burst.

    Attributes:
        time: Time of a burst as a function of its operations, seconds. Its first point is 0 flop in 0 s.

    Raises:
        UsageError: If a time is impossible.
    """

    time: Curve

    def __post_init__(self) -> None:
        """Check the times."""
        check_figures("speed", self, {"time": DELAY})

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> SpeedCurve:
        """Return the speed through points (flop of a burst, flop/s), which must be sorted by strictly rising work.

        Between points the time of a burst is linear in its operations; before the first and beyond the last point the
        speed is constant.
        """
        times = Curve.through([(0.0, 0.0), *((flops, flops / speed) for flops, speed in points)])
        return cls(replace(times, slopes=(*times.slopes[:-1], 1 / points[-1][1])))

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The points (flop of a burst, flop/s)."""
        pairs = zip(self.time.sizes[1:], self.time.times[1:], strict=True)
        return tuple((flops, flops / seconds) for flops, seconds in pairs)

    @property
    def domain(self) -> tuple[float, float]:
        """The smallest and the largest work of a burst for which the speed is stated, flop."""
        return self.time.sizes[1], self.time.sizes[-1]

    def at(self, flops: float) -> float:
        """Return the speed in bursts of ``flops`` operations (above 0), flop/s."""
        return flops / self.time(flops)

    def __mul__(self, factor: float) -> SpeedCurve:
        return SpeedCurve(self.time.scaled(1 / factor))

    def __truediv__(self, factor: float) -> SpeedCurve:
        return SpeedCurve(self.time.scaled(factor))
