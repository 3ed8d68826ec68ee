"""One unit of time for a whole axis or column, so that its figures can be compared; windows of time."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10

#: Largest number of digits before or after the decimal point; longer and shorter times get an exponent.
_MOST_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit of time for many figures.

    Attributes:
        unit: Its name.
        length: Its length in seconds.
        decimals: Decimals that show five digits of the longest time; ``None``: figures have an exponent.
    """

    unit: str
    length: float
    decimals: int | None

    def format(self, seconds: float) -> str:
        """Format a time without its unit."""
        figure = seconds / self.length
        return f"{figure:.4e}" if self.decimals is None else f"{figure:,.{self.decimals}f}"


def time_scale(longest: float) -> Scale:
    """Return the scale for times up to ``longest`` seconds."""
    unit, length = next(
        (unit, length)
        for limit, unit, length in (
            (0.0, "s", 1.0),
            (1e-6, "ns", 1e-9),
            (1e-3, "us", 1e-6),
            (1.0, "ms", 1e-3),
            (600.0, "s", 1.0),
            (36000.0, "min", 60.0),
            (float("inf"), "h", 3600.0),
        )
        if longest < limit or longest <= 0 or limit == float("inf")
    )
    digits = floor(log10(longest / length)) if longest > 0 else 0
    return Scale(unit, length, min(max(4 - digits, 0), 6) if abs(digits) <= _MOST_DIGITS else None)


@dataclass(frozen=True, slots=True)
class Window:
    """An interval of virtual time, in seconds."""

    begin: float
    end: float

    @property
    def length(self) -> float:
        """Its duration, seconds."""
        return self.end - self.begin


def span(window: Window) -> str:
    """Format an interval with enough digits to distinguish its ends: ``"1.20–1.25 s"``."""
    scale = time_scale(window.end)
    ends, length = (window.begin / scale.length, window.end / scale.length), window.length / scale.length
    form = "e" if scale.decimals is None else "f"
    least = min(max(-floor(log10(length)), 0), 12) if length > 0 and form == "f" else 0
    for digits in range(least, 17):
        written = [f"{end:.{digits}{form}}" for end in ends]
        if all(abs(float(text) - end) <= 1e-3 * length for text, end in zip(written, ends, strict=True)):
            break
    return f"{'–'.join(written)} {scale.unit}"
