"""Timelines on a page: bands of ranks with their segments, few enough to be redrawn at any magnification."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from clue.printable import printable
from clue.report.page.parts import TimelineData
from clue.report.shared.scale import time_scale
from clue.report.timeline.bands import MOST_BANDS, Band, Layout, by_rank, layout, sample
from clue.report.timeline.plot import kinds_of, region_label
from clue.report.timeline.shares import seconds_by_kind
from clue.result import Activity, Result
from clue.units import count_of, format_time

#: Largest number of segments in the timelines of a page; beyond it, the shortest are joined.
MOST_SEGMENTS = 40_000
#: Number of ticks in a makespan: times in a timeline are whole numbers of ticks.
_TICKS = 10_000_000
#: Places of other activities than computation among the kinds of segments, behind the regions.
_PLACES = {Activity.SEND: 0, Activity.RECEIVE: 1, Activity.WAIT: 2}

Segments = npt.NDArray[np.void]


def timeline_of(result: Result, name: str = "timeline", title: str = "Timeline", of_all: int = 1) -> TimelineData:
    """Return the timeline of a result, which must have one: bands with their segments.

    Args:
        result: The result.
        name: Its unique name on the page.
        title: Its heading.
        of_all: Number of timelines on the page.
    """
    assert result.timeline is not None
    of = _bands(result)
    regions = result.timeline.regions
    kinds, numbers = kinds_of(result.timeline)
    computed = int(np.count_nonzero(seconds_by_kind(result.timeline)[Activity.COMPUTE]))
    # Regions that share a colour keep their names, which the page shows when it is pointed at them.
    shown = [
        (region_label(result.timeline, region, computed), kinds[number].colour)
        for region, number in enumerate(numbers[Activity.COMPUTE].tolist())
    ]
    shown += [(kinds[numbers[activity, 0]].label, kinds[numbers[activity, 0]].colour) for activity in _PLACES]
    pieces = by_rank(result.timeline, len(result.ranks))
    drawn = [pieces[band.ranks[0]] for band in of.bands]
    total = sum(map(len, drawn))
    most = MOST_SEGMENTS // of_all
    least = 0.0 if total <= most else result.makespan * len(drawn) / most
    bands = [
        {"label": printable(band.label), "at": _numbers(piece, result.makespan, least, len(regions))}
        for band, piece in zip(of.bands, drawn, strict=True)
    ]
    scale = time_scale(result.makespan)
    data = {
        "end": result.makespan,
        "ticks": _TICKS,
        "scale": [scale.unit, scale.length],
        "unit": of.unit,
        "kinds": [[printable(name), colour] for name, colour in shown],
        "bands": bands,
    }
    shorter = f"segments shorter than {format_time(least)} are drawn together" if least else ""
    caption = "; ".join(filter(None, (of.remark, shorter)))
    return TimelineData(
        name,
        printable(title),
        f"What each of {count_of(len(of.bands), 'band')} of ranks does over {format_time(result.makespan)}. Plus and "
        "minus enlarge and reduce it, arrows move it.",
        tuple((printable(each.label), each.colour) for each in kinds),
        json.dumps(data, separators=(",", ":")),
        printable(f"{caption[:1].upper()}{caption[1:]}." if caption else ""),
    )


def _bands(result: Result) -> Layout:
    """Return bands, each of one rank or of several ranks that do the same."""
    of = layout(result)
    if of.unit == "rank":
        return of
    some = sample(result, Layout("rank", _single(of)), MOST_BANDS)
    return replace(some, remark="; ".join(filter(None, (of.instances, some.remark))))


def _single(of: Layout) -> tuple[Band, ...]:
    return tuple(Band(str(rank), (rank,)) for band in of.bands for rank in band.ranks)


def _numbers(piece: Segments, makespan: float, least: float, regions: int) -> list[int]:
    """Return for each segment the gap before it, its length and its kind; short ones are joined with neighbours."""
    found: list[int] = []
    end, scale = 0, _TICKS / makespan
    for begin, stop, kind in _joined(piece, least, regions):
        first, last = round(begin * scale), round(stop * scale)
        found += [first - end, last - first, kind]
        end = last
    return found


def _joined(piece: Segments, least: float, regions: int) -> Iterator[tuple[float, float, int]]:
    """Yield begin, end and kind; short segments are joined until they are long enough, with their main kind."""
    held: dict[int, float] = {}
    first = last = 0.0
    for activity, region, begin, end in zip(
        *(piece[key].tolist() for key in ("activity", "region", "begin", "end")), strict=True
    ):
        kind = int(region) if activity == Activity.COMPUTE else regions + _PLACES[activity]
        if held and begin > last + least:  # nothing is known of the time between
            yield first, last, max(held, key=held.__getitem__)
            held = {}
        first = first if held else begin
        held[kind] = held.get(kind, 0.0) + end - begin
        last = end
        if last - first >= least:
            yield first, last, max(held, key=held.__getitem__)
            held = {}
    if held:
        yield first, last, max(held, key=held.__getitem__)
