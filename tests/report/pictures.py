"""Faults that a reader of a picture would notice: words that are cut, overlap, or cover data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, Tick
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox, BboxBase

#: Tolerance in pixels for boxes of words, which are larger than the letters.
_EDGE = 2.0


def faults(drawn: Figure) -> list[str]:
    """Draw a picture and return its faults."""
    drawn.draw_without_rendering()
    words = [(text.get_text(), box) for text, box in visible_words(drawn)]
    page = drawn.bbox
    cut = [f"cut: {text!r}" for text, box in words if not _is_within(box, page)]
    pairs = combinations(words, 2)
    lying = [f"overlap: {one!r} and {other!r}" for (one, a), (other, b) in pairs if _overlap(a, b)]
    return [*cut, *lying, *_legends_on_data(drawn)]


def texts(drawn: Figure) -> list[str]:
    """Draw a picture and return all its texts, visible or not."""
    drawn.draw_without_rendering()
    return [text.get_text() for text in drawn.findobj(Text) if isinstance(text, Text)]


def bars(axes: Axes) -> list[Rectangle]:
    """Return the bars of a panel."""
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def points(line: Line2D) -> list[list[float]]:
    """Return x and y of each point of a line."""
    found: list[list[float]] = np.asarray(line.get_xydata()).tolist()
    return found


def visible_words(drawn: Figure) -> Iterator[tuple[Text, Bbox]]:
    """Yield the visible texts of a drawn picture and their boxes in pixels."""
    canvas = drawn.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    renderer = canvas.get_renderer()
    unseen: set[Text] = set()
    for axes in drawn.axes:
        for axis in (axes.xaxis, axes.yaxis):
            unseen |= {
                label
                for tick in axis.get_major_ticks()
                if not _is_in_view(axes, axis, tick)
                for label in (tick.label1, tick.label2)
            }
    for text in drawn.findobj(Text):
        assert isinstance(text, Text)
        if text.get_visible() and text.get_text().strip() and text not in unseen and _is_shown(text):
            yield text, text.get_window_extent(renderer)


def _is_in_view(axes: Axes, axis: Axis, tick: Tick) -> bool:
    """Tell whether a tick lies within its axis; matplotlib keeps other ticks but does not draw them."""
    along = int(axis is axes.yaxis)
    place = axes.transData.transform((tick.get_loc(),) * 2)[along]
    low, high = (axes.bbox.y0, axes.bbox.y1) if along else (axes.bbox.x0, axes.bbox.x1)
    return axes.axison and bool(low - 1 <= place <= high + 1)


def _is_shown(text: Text) -> bool:
    axes = getattr(text, "axes", None)
    return axes is None or (axes.get_visible() and axes.axison)


def _is_within(box: Bbox, page: BboxBase) -> bool:
    return bool(
        box.x0 >= page.x0 - _EDGE
        and box.y0 >= page.y0 - _EDGE
        and box.x1 <= page.x1 + _EDGE
        and box.y1 <= page.y1 + _EDGE
    )


def _overlap(one: Bbox, other: Bbox) -> bool:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(width > _EDGE and height > _EDGE)


def _legends_on_data(drawn: Figure) -> list[str]:
    canvas = drawn.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    legends = [*drawn.legends, *(legend for axes in drawn.axes if (legend := axes.get_legend()) is not None)]
    return [
        "legend on data"
        for legend in legends
        for axes in drawn.axes
        if _overlap(legend.get_window_extent(canvas.get_renderer()), axes.bbox)
    ]


def is_picture(path: Path) -> bool:
    """Tell whether a file is a PNG larger than a blank page."""
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 8000
