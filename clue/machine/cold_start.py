"""Cold starts: extra time of a burst after its rank has waited, because caches and predictors have cooled down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from clue.machine.curve import Curve
from clue.machine.figures import AMOUNT, DELAY, check_figures


@dataclass(frozen=True, slots=True)
class ColdStart:
    """Extra time of bursts on a node after waits.

    Attributes:
        after: Extra time (seconds) as a function of the wait (seconds), beginning with no wait; it never falls.
        at_most: Largest extra time of a burst, as a share of its warm time; the rest falls to the next bursts.

    Raises:
        UsageError: If a figure is impossible.
    """

    after: Curve = field(default_factory=lambda: Curve.line(0.0))
    at_most: float = 1.0

    def __post_init__(self) -> None:
        """Check the figures."""
        check_figures("cold start", self, {"after": DELAY, "at_most": AMOUNT})

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]], at_most: float = 1.0) -> ColdStart:
        """Return the cold start through points (wait, extra time), sorted by strictly rising wait.

        Without a wait there is no extra time. It is linear between points, and constant beyond the last one.
        """
        known = Curve.through(points if points and points[0][0] == 0.0 else [(0.0, 0.0), *points])
        return cls(replace(known, slopes=(*known.slopes[:-1], 0.0)), at_most)

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The points (wait, extra time) of the curve."""
        return tuple(zip(self.after.sizes, self.after.times, strict=True))

    @property
    def is_stated(self) -> bool:
        """Whether any wait has a cost."""
        return self.at_most > 0.0 and any(self.after.times)

    def scaled(self, factor: float) -> ColdStart:
        """Return the cold start of a processor whose times are all multiplied by a factor."""
        return replace(self, after=self.after.scaled(factor))

    def colder(self, factor: float) -> ColdStart:
        """Return the cold start with its extra time multiplied, for unchanged warm times."""
        return ColdStart(self.after.scaled(factor), self.at_most * factor)
