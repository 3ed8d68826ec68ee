"""One unit of time for a whole axis or column, so that its figures can be compared; windows of time."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10

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


#: Ticks within a decade, by the largest ratio of figures for which they are used; number of ticks beyond it, about.
_STEPS = ((8.0, (1, 1.5, 2, 3, 5, 7)), (200.0, (1, 2, 5)), (1e4, (1, 3)))
_MOST_TICKS = 6
#: Largest number of times on a logarithmic axis, which have units and are longer.
_MOST_TIMES = 10
#: Units in which times are round, as :func:`clue.units.format_time` shows them, each up to a time in seconds.
_ROUND = ((600.0, 1.0), (7200.0, 60.0), (float("inf"), 3600.0))


def log_ticks(low: float, high: float) -> list[float]:
    """Return round figures within a range: several per decade if there are few decades, else powers of ten."""
    first, last = floor(log10(low)), ceil(log10(high))
    steps = next((steps for most, steps in _STEPS if high / low < most), (1,))
    powers = range(first, last + 1, max(1, (last - first) // _MOST_TICKS))
    return [figure for power in powers for step in steps if low <= (figure := step * 10.0**power) <= high]


def log_time_ticks(low: float, high: float) -> list[float]:
    """Return round times within a range, seconds: 10 min and 5 h, and not 16.67 min."""
    least = (high / low) ** (1 / _MOST_TIMES)
    found: list[float] = []
    begin = 0.0
    for end, unit in _ROUND:
        for time in (each * unit for each in log_ticks(low / unit, high / unit)):
            # Where the unit changes, round times may be too close to each other.
            if begin <= time < end and (not found or time >= least * found[-1]):
                found.append(time)
        begin = end
    return found


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
