"""The common style of clue's pictures: colours, fonts, axes, units, saving. It is independent of any subject.

Colours are from Paul Tol's schemes for the colour-blind (SRON/EPS/TN/09-002): computation in cool colours,
communication in warm ones, waiting in grey. Printed in grey, computing, sending, receiving and waiting differ in
lightness.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from clue.files import drafts
from clue.report.shared.lettering import drawable, families, fit, width
from clue.report.shared.scale import log_ticks, log_time_ticks
from clue.units import format_size, format_time

DPI = 150
INK, QUIET, FAINT, PAPER = "#222222", "#5A5A5A", "#E4E4E4", "#FFFFFF"
COMPUTE, SEND, RECEIVE, WAIT, UNUSED = "#4477AA", "#EE7733", "#882255", "#D4D4D4", "#BBBBBB"
COMMUNICATE = SEND
#: Time whose parts are not known.
UNKNOWN = "#DDCC77"
#: Colours of the regions of a program, the first being :data:`COMPUTE`.
REGIONS = (COMPUTE, "#44BB99", "#77AADD", "#332288", "#999933", "#225555")
OTHER_REGIONS = "#88AABB"
#: Colours for items without one of their own; markers that distinguish lines without colour.
SERIES = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#222222")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

TITLE, LABEL, TICK = 13, 10, 9
#: Least ratio of the largest to the smallest count at which an axis of counts is logarithmic.
_WIDE = 24
#: Share of the colour in its tint; the rest is white.
_TINT = 0.4
#: Height of a line of text in inches, by its font size.
_LINE = 1.35 / 72
#: Inches of a legend: the colour beside a label with the space between columns, and the longest label.
_SWATCH, _LONGEST = 0.75, 3.6


class Picture(Figure):
    """A figure that shows text literally: no name is read as mathematics, and each letter has a font or is escaped."""

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure."""
        for axis in (axis for axes in self.axes for axis in (axes.xaxis, axes.yaxis)):
            if isinstance(axis.get_major_locator(), FixedLocator):
                _spell_ticks(axis)
        for text in self.findobj(Text):
            assert isinstance(text, Text)
            text.set_parse_math(False)
            text.set_text(_drawable(text))
            text.set_fontfamily(families(text.get_text()))
        super().draw(renderer)


def _spell_ticks(axis: Axis) -> None:
    labels = axis.get_ticklabels()
    if any(_drawable(label) != label.get_text() for label in labels):
        axis.set_ticklabels([_drawable(label) for label in labels])  # labels are rewritten whenever they are drawn


def _drawable(text: Text) -> str:
    return "\n".join(map(drawable, text.get_text().split("\n")))


def figure(width: float, height: float, title: str) -> Figure:
    """Return an empty figure with a title, sizes in inches; a long title makes it higher."""
    shown = fit(title, width - 0.4, lines=3, size=TITLE, bold=True)
    new = Picture(
        figsize=(width, height + shown.count("\n") * TITLE * _LINE), dpi=DPI, layout="constrained", facecolor=PAPER
    )
    FigureCanvasAgg(new)
    new.suptitle(shown, x=0.012, ha="left", fontsize=TITLE, color=INK, fontweight="bold")
    return new


def finish_axes(axes: Axes, xlabel: str = "", ylabel: str = "", title: str = "", grid: str = "") -> None:
    """Give axes their labels and the common look; ``grid`` is ``"x"``, ``"y"``, ``"both"`` or none."""
    axes.set_xlabel(xlabel, fontsize=LABEL, color=INK)
    axes.set_ylabel(ylabel, fontsize=LABEL, color=INK)
    if title:
        axes.set_title(title, fontsize=LABEL, loc="left", color=INK)
    axes.tick_params(labelsize=TICK, color=UNUSED)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(UNUSED)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(axis=grid, color=FAINT, linewidth=0.8)  # type: ignore[arg-type]


def round_ticks(axis: Axis, most: int, *, whole: bool = False) -> None:
    """Put the ticks of an axis at round figures, in at most a number of steps; at whole numbers only, if requested."""
    fewest = 1 if whole else 2  # otherwise, for two ticks, the locator would leave whole numbers
    axis.set_major_locator(MaxNLocator(nbins=most, integer=whole, steps=[1, 2, 2.5, 5, 10], min_n_ticks=fewest))


def counts(axes: Axes, numbers: Sequence[int]) -> bool:
    """Set the ticks of an axis of rising counts; return whether it is logarithmic, as if counts differ by much."""
    if numbers[-1] <= _WIDE * numbers[0]:
        axes.set_xlim(left=0)
        round_ticks(axes.xaxis, 12, whole=True)
        return False
    axes.set_xscale("log")
    powers = [number for number in numbers if number & (number - 1) == 0]
    shown = powers if len(powers) > 2 else numbers[:: max(1, len(numbers) // 8)]
    axes.set_xticks(shown, [f"{number:,}" for number in shown])
    axes.minorticks_off()
    return True


def log_times(axis: Axis) -> None:
    """Put the ticks of a logarithmic axis of times, whose ends are set, at round times with their units."""
    _log_ticks(axis, log_time_ticks(*axis.get_view_interval()))
    axis.set_major_formatter(FuncFormatter(lambda time, _: format_time(time)))


def log_numbers(axis: Axis) -> None:
    """Put the ticks of a logarithmic axis of numbers, whose ends are set, at round numbers, written in full."""
    _log_ticks(axis, log_ticks(*axis.get_view_interval()))
    plain_numbers(axis)


def _log_ticks(axis: Axis, figures: Sequence[float]) -> None:
    if len(figures) > 1:
        axis.set_major_locator(FixedLocator(figures))
    else:
        round_ticks(axis, 4)  # a short range, in which steps of a decade are too long
    axis.set_minor_locator(FixedLocator([]))


def plain_numbers(axis: Axis) -> None:
    """Write the figures of an axis in full, however small their differences are."""
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.12g}"))


def size_label(size: float, _position: float | None = None) -> str:
    """Format a size for a tick of an axis or a colour bar."""
    return format_size(size)


def colours(count: int) -> list[str]:
    """Return a number of colours for lines, repeating after the seventh."""
    return [SERIES[i % len(SERIES)] for i in range(count)]


def paper_or_ink(colour: str) -> str:
    """Return the colour of letters that is legible on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return PAPER if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else INK


def tint(colour: str) -> str:
    """Return a lighter colour of the same hue."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - _TINT * (255 - part)):02X}" for part in parts)


def beside(texts: Iterable[str], inches: float) -> float:
    """Return the factor by which an axis must be longer than its bars, so that the texts beside these fit.

    Args:
        texts: The texts.
        inches: Length of the axis.
    """
    room = max((width(line, TICK) for text in texts for line in text.split("\n")), default=0.0) + 0.2
    return 1 / (1 - min(room / inches, 0.8))


def note(axes: Axes, text: str, at: tuple[float, float], gap: float, *, colour: str = INK, behind: str = "") -> None:
    """Write a text to the right of a place, ``gap`` points from it, on a background ``behind`` if one is given."""
    ground = {"facecolor": behind, "edgecolor": "none", "pad": 1} if behind else None
    look: dict[str, Any] = {"va": "center", "fontsize": TICK, "color": colour, "bbox": ground}
    axes.annotate(text, at, (gap, 0), textcoords="offset points", **look)


def legend_below(drawn: Figure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """Put the legend of a whole figure below it, where it covers no data; the figure grows by its height."""
    shown = [fit(label, min(_LONGEST, drawn.get_figwidth() - _SWATCH - 0.3), lines=2, size=TICK) for label in labels]
    columns = _legend_columns(shown, drawn.get_figwidth())
    drawn.legend(
        handles,
        shown,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=TICK,
        handlelength=2.2,
        columnspacing=1.6,
    )
    lines = max(sum(label.count("\n") + 1 for label in part) for part in np.array_split(np.array(shown), columns))
    drawn.set_figheight(drawn.get_figheight() + (lines - 1) * TICK * _LINE * 1.2)


def _legend_columns(labels: Sequence[str], inches: float) -> int:
    """Return the largest number of columns of about equal height that fit a width in inches."""
    widths = [max(width(line, TICK) for line in label.split("\n")) + _SWATCH for label in labels]
    for columns in sorted({-(-len(labels) // lines) for lines in range(1, len(labels))}, reverse=True):
        # Matplotlib fills columns one after the other.
        if sum(max(each) for each in np.array_split(widths, columns)) <= inches - 0.2:
            return columns
    return 1


def save(drawn: Figure, folder: Path, name: str) -> Path:
    """Write a figure as PNG, all or nothing, and return its path; create the folder if necessary.

    Raises:
        OutputError: If it cannot be written.
    """
    path = Path(folder) / name
    with drafts(path) as (draft,):
        drawn.savefig(draft, dpi=DPI, format="png")
    return path
