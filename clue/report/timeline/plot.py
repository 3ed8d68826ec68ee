"""The timeline of a simulation: a band for each rank, coloured by the rank's activity over time.

Time is cut into columns of about a pixel. In each column, the height of a band is divided in proportion: computing
below, messages above it, waiting on top, and nothing once the rank has ended. Where activities alternate too fast for
the eye, columns share a mean, and a second panel shows a stretch of it unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from clue.errors import UsageError
from clue.report.shared import style
from clue.report.shared.call_sites import labels
from clue.report.shared.lettering import fit
from clue.report.shared.scale import Window, span, time_scale
from clue.report.shared.spending import spending
from clue.report.timeline.bands import Layout, by_rank, layout, sample
from clue.report.timeline.painting import paint
from clue.report.timeline.shares import AVERAGED, Shares, averaged, seconds_by_kind, shares
from clue.report.timeline.zoom import representative
from clue.result import Activity, Result, Timeline
from clue.units import count_of, format_time

#: Columns of the picture along the time axis.
COLUMNS = 1200
#: Largest number of bands of the enlarged panel; beyond it, the panel shows a sample.
MOST_BANDS_ZOOMED = 16
_SAMPLED = 12
_WIDTH = 11.0
#: Segments of a rank that are visible without enlargement.
_FEW = COLUMNS // 4
#: Inches for labels of bands, and for a line of remarks.
_LABELS, _REMARKS = 1.5, 9.0
#: Meaning of the colours of call sites.
_OF_SITES = "dark: computing before a call; light: messages and waiting in it"
_MESSAGES = {Activity.SEND: ("send", style.SEND), Activity.RECEIVE: ("receive", style.RECEIVE)}


@dataclass(frozen=True, slots=True)
class Kind:
    """A visible kind of activity.

    Attributes:
        label: Its label in the legend; ``""`` if it is not in the legend.
        colour: Its colour in matplotlib's form.
    """

    label: str
    colour: str


@dataclass(frozen=True, slots=True, eq=False)
class _Panel:
    """The contents of a panel: shares of kinds by band and column."""

    layout: Layout
    window: Window
    shares: Shares
    dense: npt.NDArray[np.bool_]


def draw_timeline(result: Result, title: str, window: Window | None = None, *, by_site: bool = False) -> Figure:
    """Draw the timeline of a result that has one.

    Args:
        result: The result.
        title: Title of the picture.
        window: The stretch that the second panel shows; if not given, a typical stretch of what is too dense to be
            seen.
        by_site: Whether colours distinguish call sites instead of regions and activities.

    Raises:
        UsageError: If the window begins after the end.
    """
    assert result.timeline is not None
    timeline = of_sites(result.timeline) if by_site else result.timeline
    result = replace(result, timeline=timeline)
    kinds, numbers = kinds_of_sites(timeline) if by_site else kinds_of(timeline)
    whole = _panel(result, layout(result), numbers, Window(0.0, result.makespan))
    stretch = _clipped(window, result.makespan) if window is not None else _representative(result, whole)
    panels = [whole] if stretch is None else [whole, _panel(result, _zoomed(result, whole.layout), numbers, stretch)]
    heights = [_height(len(panel.layout.bands)) for panel in panels]
    drawn = style.figure(_WIDTH, sum(heights) + 1.0 + 0.9 * len(panels), title)
    axes = drawn.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    told = [_lines(_finding(result), _OF_SITES if by_site else "", *_remarks(whole))]
    if stretch is not None:
        _mark(axes[0], stretch, result.makespan)
        news = (remark for remark in _remarks(panels[1]) if remark != whole.layout.remark)
        told.append(_lines(f"zoom: {span(stretch)}", *news))
    for each, panel, height, words in zip(axes, panels, heights, told, strict=True):
        _draw_panel(each, panel, [kind.colour for kind in kinds], height)
        each.set_title(words, loc="left", fontsize=style.LABEL, color=style.INK)
    style.legend_below(
        drawn, [Patch(color=each.colour) for each in kinds if each.label], [each.label for each in kinds if each.label]
    )
    return drawn


def _clipped(window: Window, makespan: float) -> Window:
    if window.begin >= makespan:
        raise UsageError(
            f"window must begin before the end of the program at {format_time(makespan)}, "
            f"got {format_time(window.begin)}"
        )
    return Window(window.begin, min(window.end, makespan))


def _representative(result: Result, whole: _Panel) -> Window | None:
    assert result.timeline is not None
    pieces = by_rank(result.timeline, len(result.ranks))
    first = [pieces[band.ranks[0]] for band in whole.layout.bands]
    # Also true if no columns share a mean, but segments in most bands are too short to be distinguished.
    dense = whole.dense | (np.median([len(each) for each in first]) > _FEW)
    return representative(whole.shares, dense, first, whole.window)


def _zoomed(result: Result, whole: Layout) -> Layout:
    return whole if len(whole.bands) <= MOST_BANDS_ZOOMED else sample(result, whole, _SAMPLED)


def _panel(result: Result, bands: Layout, numbers: npt.NDArray[np.intp], window: Window) -> _Panel:
    assert result.timeline is not None
    exact = shares(result.timeline, numbers, bands.by_rank(len(result.ranks)), window, COLUMNS)
    return _Panel(bands, window, *averaged(exact))


# --- kinds of activity -----------------------------------------------------------------------------------------------


def kinds_of(timeline: Timeline) -> tuple[tuple[Kind, ...], npt.NDArray[np.intp]]:
    """Return the distinguished kinds, from the bottom of a band to its top, and their numbers by activity and region.

    Computation is distinguished by region, the longest first; the shortest share a colour if there are many.
    """
    spent = seconds_by_kind(timeline)[Activity.COMPUTE]
    regions = [int(i) for i in np.argsort(-spent, kind="stable") if spent[i] > 0]
    shown = regions if len(regions) <= len(style.REGIONS) else regions[: len(style.REGIONS) - 1]
    kinds = [
        Kind(region_label(timeline, region, len(regions)), colour)
        for region, colour in zip(shown, style.REGIONS, strict=False)
    ]
    if len(shown) < len(regions):
        kinds.append(Kind(f"compute: {len(regions) - len(shown)} more regions", style.OTHER_REGIONS))
    numbers = np.empty((len(Activity), len(spent)), np.intp)
    numbers[Activity.COMPUTE] = max(len(kinds) - 1, 0)
    numbers[Activity.COMPUTE, shown] = np.arange(len(shown))
    for activity, look in (*_MESSAGES.items(), (Activity.WAIT, ("wait", style.WAIT))):
        numbers[activity] = len(kinds)
        kinds.append(Kind(*look))
    return tuple(kinds), numbers


def of_sites(timeline: Timeline) -> Timeline:
    """Return the timeline with call sites as regions: a call site gets its calls and the computation before them."""
    segments = timeline.segments.copy()
    segments["region"] = segments["site"]
    return replace(timeline, segments=segments, regions=tuple(map(str, labels(timeline.sites))))


def kinds_of_sites(timeline: Timeline) -> tuple[tuple[Kind, ...], npt.NDArray[np.intp]]:
    """Return the same for a timeline whose regions are call sites: each has a colour, and a tint for its calls."""
    spent = seconds_by_kind(timeline).sum(axis=0)
    sites = [int(i) for i in np.argsort(-spent, kind="stable") if spent[i] > 0]
    colours = style.SERIES[:-1]  # without ink, whose tint is that of unused time
    shown = sites[: len(colours)]
    looks = [(timeline.regions[site], colour) for site, colour in zip(shown, colours, strict=False)]
    if more := len(sites) - len(shown):
        looks.append((count_of(more, "more call site"), style.QUIET))
    at = np.full(len(spent), max(len(looks) - 1, 0))
    at[shown] = np.arange(len(shown))
    numbers = np.tile(at + len(looks), (len(Activity), 1))
    numbers[Activity.COMPUTE] = at
    tints = (Kind("", style.tint(colour)) for _, colour in looks)
    return (*(Kind(*look) for look in looks), *tints), numbers


def region_label(timeline: Timeline, region: int, regions: int) -> str:
    """Return the label of computation in a region; ``regions`` is the number of regions with computation."""
    name = timeline.regions[region]
    return f"compute: {name}" if name else "compute" if regions == 1 else "compute (no region)"


# --- words -----------------------------------------------------------------------------------------------------------


def _finding(result: Result) -> str:
    """State on what the ranks spend the makespan."""
    spent = spending(result)
    return f"{count_of(len(result.ranks))}, makespan {format_time(result.makespan)}" + (f": {spent}" if spent else "")


def _remarks(panel: _Panel) -> list[str]:
    means = format_time(float(f"{panel.window.length * AVERAGED / COLUMNS:.1g}"))
    dense = f"where activities alternate too fast to be seen, columns are means over about {means}"
    return [panel.layout.remark, dense if panel.dense.any() else ""]


def _lines(*told: str) -> str:
    return "\n".join(fit(line, _REMARKS, lines=3, size=style.LABEL, prose=True) for line in told if line)


def _exact(time: float) -> str:
    """Format a time with as many digits as the width of the stretch after it needs."""
    scale = time_scale(time)
    return f"{time / scale.length:.12g} {scale.unit}"


# --- panels ----------------------------------------------------------------------------------------------------------


def _height(bands: int) -> float:
    """Return the height of a panel in inches: few bands are drawn higher."""
    return bands * max(0.12, min(0.55, 4.0 / max(bands, 1)))


def _draw_panel(axes: Axes, panel: _Panel, colours: Sequence[str], height: float) -> None:
    bands, at = len(panel.layout.bands), _Scale.of(panel.window)
    # Rows of the image are no smaller than pixels, so that none is lost.
    rows = max(4, floor(0.85 * height * style.DPI / max(bands, 1)))
    axes.imshow(
        paint(panel.shares, colours, rows),
        extent=(at(panel.window.begin), at(panel.window.end) or 1.0, max(bands, 1) - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
    )
    style.finish_axes(axes, at.label, panel.layout.unit)
    style.plain_numbers(axes.xaxis)
    style.round_ticks(axes.xaxis, 8)
    labels = [fit(band.label, _LABELS, size=style.TICK) for band in panel.layout.bands]
    axes.set_yticks(range(bands), labels, fontsize=style.TICK if height > 0.16 * bands else 7)


@dataclass(frozen=True, slots=True)
class _Scale:
    """The scale of a time axis.

    Attributes:
        origin: The time that the axis shows as 0, seconds.
        length: Length of a unit, seconds.
        label: Label of the axis.
    """

    origin: float
    length: float
    label: str

    @classmethod
    def of(cls, window: Window) -> _Scale:
        """Return a scale on which times of a window differ in the first digits."""
        if window.length < window.begin * 1e-3:
            unit = time_scale(window.length)
            return cls(window.begin, unit.length, f"virtual time ({unit.unit} after {_exact(window.begin)})")
        unit = time_scale(window.end)
        return cls(0.0, unit.length, f"virtual time ({unit.unit})")

    def __call__(self, time: float) -> float:
        """Return the position of a time."""
        return (time - self.origin) / self.length


def _mark(axes: Axes, stretch: Window, makespan: float) -> None:
    """Mark a stretch within the whole, however short it is."""
    at = _Scale.of(Window(0.0, makespan))
    middle, least = (stretch.begin + stretch.end) / 2, makespan / COLUMNS * 4
    half = max(stretch.length, least) / 2
    axes.axvspan(at(middle - half), at(middle + half), facecolor="none", edgecolor=style.INK, linewidth=1.2)
    axes.plot(
        [at(middle)], [1.0], marker="v", color=style.INK, clip_on=False, transform=axes.get_xaxis_transform(), zorder=5
    )
