"""What copies within a node share: the bandwidth of its memory, from several pairs of its ranks at once.

The rule is the kernel's: k copies at once that each could be faster proceed at C / k bytes per second. So the messages
of a stream of several pairs come at C together, and where k pairs make round trips, each half takes k m / C instead of
the o(m) that a message alone keeps the memory for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clue.calibration.measurement import Measurement, SizeRow
from clue.machine import Link
from clue.units import count_of, format_size

#: Smaller messages stay in caches, and take more of the processor than of the memory.
LARGE = 1 << 16
#: Copies that together come to less than this share of what they would alone slow each other.
_LIMITED = 0.9


@dataclass(frozen=True, slots=True)
class _Together:
    """Copies at once.

    Attributes:
        size: Bytes of each.
        copies: How many.
        alone: Bytes per second that they would come to if they did not slow each other.
        rate: Bytes per second that they come to.
    """

    size: int
    copies: int
    alone: float
    rate: float


def copy_bandwidth(measurement: Measurement, link: Link) -> tuple[float | None, tuple[str, ...]]:
    """Return what the memory of a node copies, in bytes per second, and how that was found, in words.

    The largest messages count, of which caches hold least, and the most copies of them at once.

    Args:
        measurement: Taken within a node.
        link: Fitted to it.

    Returns:
        ``None`` where no copies slow each other, or none were measured at once.
    """
    if not measurement.shared:
        return None, ()
    found = [each for row in measurement.shared if row.size >= LARGE for each in _together(row, measurement, link)]
    if not found:
        return None, (
            f"copies: no several pairs at once of {format_size(LARGE)} or more, and one alone, tell what memory copies",
        )
    most = max(found, key=lambda each: (each.size, each.copies))
    what = f"copies: {count_of(most.copies, 'message')} of {format_size(most.size)} at once come to"
    said = f"{what} {format_size(most.rate)}/s, {most.rate / most.alone:.2f} times what they would alone"
    if most.rate >= _LIMITED * most.alone:
        return None, (f"{said}: they do not slow each other; copy_bandwidth is left out, measure more pairs",)
    return most.rate, (f"{said}: taken for what the memory of a node copies",)


def _together(row: SizeRow, measurement: Measurement, link: Link) -> Iterator[_Together]:
    """Yield what streams and round trips of several pairs tell, where the same was measured of one pair."""
    copies = row.pairs * (2 if row.both_ways else 1)
    one = next((each for each in measurement.rows if each.size == row.size), None)
    if one is None or copies < 2:
        return
    if row.gap and one.gap and row.gap.value and one.gap.value:
        yield _Together(row.size, copies, copies * row.size / one.gap.value, row.size / row.gap.value)
    if row.one_way and one.one_way and (kept := link.occupation(row.size)):
        longer = max(0.0, row.one_way.value - one.one_way.value)
        yield _Together(row.size, copies, copies * row.size / kept, copies * row.size / (kept + longer))
