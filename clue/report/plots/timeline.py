"""The timeline of a simulation: one row per rank, coloured by what the rank did when.

Time is cut into columns of about a pixel. Each cell gets the mean colour of what happened in it, so that a
million segments draw in a second, and nothing short disappears behind something long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from clue.report.plots import style
from clue.report.scale import time_scale
from clue.result import Activity, Result, Timeline
from clue.units import format_time

#: Cells of the picture along time, and rows at most: more ranks than this share rows.
COLUMNS, MOST_ROWS = 1500, 900
#: Ranks up to which rows are set apart by a line.
_SEPARATE = 64
_KINDS = {Activity.SEND: ("send", style.SEND), Activity.RECEIVE: ("receive", style.RECEIVE)}


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Segments of one colour.

    Attributes:
        label: For the legend.
        colour: As matplotlib names it.
        segments: Of :data:`clue.result.SEGMENT`.
    """

    label: str
    colour: str
    segments: npt.NDArray[np.void]


def draw_timeline(result: Result, title: str) -> Figure:
    """Draw the timeline of a result that has one."""
    assert result.timeline is not None
    ranks = len(result.ranks)
    scale = time_scale(result.makespan)
    layers = split_layers(result.timeline)
    drawn = style.figure(11, _height(ranks), title)
    axes = drawn.add_subplot()
    axes.imshow(
        paint(layers, ranks, result.makespan),
        extent=(0, result.makespan / scale.length or 1.0, ranks - 0.5, -0.5),
        aspect="auto",
        # No cell gets less than a pixel, so none is lost.
        interpolation="nearest",
    )
    copies = f" in {result.instances} instances" if result.instances > 1 else ""
    about = f"{ranks} rank{'s' * (ranks != 1)}{copies}, makespan {format_time(result.makespan)}"
    style.finish_axes(axes, f"virtual time ({scale.unit})", "rank", about)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=min(ranks, 16), integer=True, steps=[1, 2, 5, 10]))
    _set_rows_apart(axes, ranks, result.instances)
    style.legend_below(drawn, [Patch(color=layer.colour) for layer in layers], [layer.label for layer in layers])
    return drawn


def _height(ranks: int) -> float:
    return min(2.2 + 0.24 * ranks, 8.0)


def split_layers(timeline: Timeline) -> list[Layer]:
    """Sort segments by colour: computation by region, the longest first, then messages and waiting."""
    segments = timeline.segments
    computing = segments[segments["activity"] == Activity.COMPUTE]
    spent = np.bincount(computing["region"], weights=computing["end"] - computing["begin"])
    regions = [int(i) for i in np.argsort(-spent, kind="stable") if spent[i] > 0]
    shown = regions if len(regions) <= len(style.REGIONS) else regions[: len(style.REGIONS) - 1]
    layers = [
        Layer(_region_label(timeline, region, len(regions)), colour, computing[computing["region"] == region])
        for region, colour in zip(shown, style.REGIONS, strict=False)
    ]
    if len(shown) < len(regions):
        rest = computing[~np.isin(computing["region"], shown)]
        layers.append(Layer(f"{len(regions) - len(shown)} more regions", style.OTHER_REGIONS, rest))
    for activity, (label, colour) in _KINDS.items():
        layers.append(Layer(label, colour, segments[segments["activity"] == activity]))
    layers.append(Layer("wait", style.WAIT, segments[segments["activity"] == Activity.WAIT]))
    return layers


def _region_label(timeline: Timeline, region: int, regions: int) -> str:
    name = timeline.regions[region]
    return f"compute: {name}" if name else "compute" if regions == 1 else "compute (no region)"


def paint(layers: list[Layer], ranks: int, makespan: float) -> npt.NDArray[np.float64]:
    """Return the mean colour of each cell, white where empty: RGB in 0 … 1, shape (rows, columns, 3)."""
    rows = min(ranks, MOST_ROWS)
    image = np.ones((rows, COLUMNS, 3))
    for layer in layers:
        if len(layer.segments):
            share = cover(layer.segments, ranks, makespan, rows)
            image -= share[:, :, None] * (1.0 - np.array(to_rgb(layer.colour)))
    return np.clip(image, 0.0, 1.0)


def cover(segments: npt.NDArray[np.void], ranks: int, makespan: float, rows: int) -> npt.NDArray[np.float64]:
    """Return the share of each cell that the segments cover, shape (rows, columns)."""
    scale = COLUMNS / makespan if makespan > 0 else 0.0
    begin, end = segments["begin"] * scale, segments["end"] * scale
    first = np.minimum(begin.astype(np.int64), COLUMNS - 1)
    last = np.minimum(end.astype(np.int64), COLUMNS - 1)
    row = segments["rank"].astype(np.int64) * rows // ranks
    size = (rows, COLUMNS + 1)

    def add_up(column: npt.NDArray[np.int64], amount: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        where = row * size[1] + column
        return np.bincount(where, amount, size[0] * size[1]).reshape(size).astype(np.float64)

    # A segment covers its first cell from its begin on, then whole cells, and its last cell up to its end:
    # as if it covered the whole of [first, last), corrected at both borders.
    whole = np.cumsum(add_up(first, np.ones(len(row))) - add_up(last, np.ones(len(row))), axis=1)
    borders = add_up(last, end - last) - add_up(first, begin - first)
    per_row = np.bincount(np.arange(ranks) * rows // ranks, minlength=rows)
    share: npt.NDArray[np.float64] = (whole + borders)[:, :COLUMNS] / per_row[:, None]
    return np.clip(share, 0.0, 1.0)


def _set_rows_apart(axes: Axes, ranks: int, instances: int) -> None:
    if ranks <= _SEPARATE:
        for rank in range(1, ranks):
            axes.axhline(rank - 0.5, color=style.PAPER, linewidth=3 if ranks <= 16 else 1)
    for instance in range(1, instances):
        axes.axhline(ranks * instance / instances - 0.5, color=style.INK, linewidth=0.8)
