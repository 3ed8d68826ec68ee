"""The memory bandwidth that copies within a node share, measured with several simultaneous pairs of its ranks.

The rule is that of the simulator: if k simultaneous copies could each be faster, each proceeds at C / k bytes per
second. Streams of several pairs therefore reach C together. If k pairs make round trips, each half takes k m / C
instead of o(m), the time for which a single message occupies the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clue.calibration.measurement import Measurement, SizeRow
from clue.machine import Link
from clue.units import count_of, format_size

#: Smallest message that counts, bytes: smaller ones stay in caches and load the processor more than the memory.
LARGE = 1 << 16
#: Copies slow each other if their total rate, as a share of the sum of their rates alone, is below this.
_LIMITED = 0.9


@dataclass(frozen=True, slots=True)
class _Together:
    """Simultaneous copies.

    Attributes:
        size: Size of each, bytes.
        copies: Number of copies.
        alone: Total rate if they did not slow each other, bytes per second.
        rate: Measured total rate, bytes per second.
    """

    size: int
    copies: int
    alone: float
    rate: float


def copy_bandwidth(measurement: Measurement, link: Link) -> tuple[float | None, tuple[str, ...]]:
    """Return the copy bandwidth of a node's memory, bytes per second, and how it was found, in words.

    It is taken from the largest number of simultaneous copies of the largest messages, which fit caches least.

    Args:
        measurement: Measurement within a node.
        link: Link within a node, fitted to it.

    Returns:
        ``None`` if copies do not slow each other, or no simultaneous ones were measured, which is said.
    """
    if not measurement.shared:
        return None, (
            "copies: only one pair was measured, so messages to different ranks of a node are assumed not to slow each "
            "other down; osu_mbw_mr within a node shows how fast its memory copies several",
        )
    found = [each for row in measurement.shared if row.size >= LARGE for each in _together(row, measurement, link)]
    if not found:
        return None, (
            f"copies: the bandwidth is unknown without several simultaneous pairs, and one alone, from "
            f"{format_size(LARGE)} on",
        )
    most = max(found, key=lambda each: (each.size, each.copies))
    what = f"copies: {count_of(most.copies, 'simultaneous message')} of {format_size(most.size)} reach"
    said = f"{what} {format_size(most.rate)}/s, {most.rate / most.alone:.2f} times their rates alone"
    if most.rate >= _LIMITED * most.alone:
        return None, (f"{said}: no slowdown was seen, so copy_bandwidth is left out; measure more pairs",)
    return most.rate, (f"{said}: taken as the copy bandwidth of a node's memory",)


def _together(row: SizeRow, measurement: Measurement, link: Link) -> Iterator[_Together]:
    """Yield the copies of streams and round trips of several pairs, if those of one pair were measured, too."""
    copies = row.pairs * (2 if row.both_ways else 1)
    one = next((each for each in measurement.rows if each.size == row.size), None)
    if one is None or copies < 2:
        return
    if row.gap and one.gap and row.gap.value and one.gap.value:
        yield _Together(row.size, copies, copies * row.size / one.gap.value, row.size / row.gap.value)
    if row.one_way and one.one_way and (kept := link.occupation(row.size)):
        longer = max(0.0, row.one_way.value - one.one_way.value)
        yield _Together(row.size, copies, copies * row.size / kept, copies * row.size / (kept + longer))
