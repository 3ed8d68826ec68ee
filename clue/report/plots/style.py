"""The one look of clue's pictures: colours, fonts, axes, units, saving. Knows nothing of what is drawn.

Colours are from Paul Tol's schemes for the colour-blind (SRON/EPS/TN/09-002): computation in cool colours,
communication in warm ones, waiting in grey.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

from clue.files import drafts
from clue.report.printable import escaped, printable
from clue.units import format_size

DPI = 150
INK, FAINT, PAPER = "#222222", "#E4E4E4", "#FFFFFF"
COMPUTE, SEND, RECEIVE, WAIT, UNUSED = "#4477AA", "#EE7733", "#AA3377", "#D4D4D4", "#BBBBBB"
COMMUNICATE = SEND
#: Regions of a program, the first being :data:`COMPUTE`.
REGIONS = (COMPUTE, "#44BB99", "#77AADD", "#332288", "#999933", "#225555")
OTHER_REGIONS = "#88AABB"
#: For what has no colour of its own, and the markers that tell lines apart without colour.
SERIES = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#222222")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Letters of a legend to an inch, and the room of a colour beside its label in letters.
_LETTERS, _SWATCH = 13, 6

_TITLE, _SUBTITLE, _LABEL, _TICK = 13, 10, 10, 9


def figure(width: float, height: float, title: str) -> Figure:
    """Return an empty figure of so many inches with a title."""
    new = Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor=PAPER)
    FigureCanvasAgg(new)
    # Text that belongs to the reader is never mathematics: a "$" in a name stays one.
    new.suptitle(
        textwrap.fill(title, int(width * 8)),
        x=0.012,
        ha="left",
        fontsize=_TITLE,
        color=INK,
        fontweight="bold",
        parse_math=False,
    )
    return new


def finish_axes(axes: Axes, xlabel: str = "", ylabel: str = "", title: str = "", grid: str = "") -> None:
    """Give axes their labels and the common look; ``grid`` is ``"x"``, ``"y"``, ``"both"`` or none."""
    axes.set_xlabel(xlabel, fontsize=_LABEL, color=INK, parse_math=False)
    axes.set_ylabel(ylabel, fontsize=_LABEL, color=INK, parse_math=False)
    if title:
        axes.set_title(title, fontsize=_SUBTITLE, loc="left", color=INK, parse_math=False)
    axes.tick_params(labelsize=_TICK, color=UNUSED)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(UNUSED)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(axis=grid, color=FAINT, linewidth=0.8)  # type: ignore[arg-type]


def wrap(name: str, width: int = 28, lines: int = 3) -> str:
    """Break a long name over lines, and cut what needs more."""
    broken = [line.strip() for line in textwrap.wrap(name, width)] or [""]
    return "\n".join(broken[:lines]) + ("…" if len(broken) > lines else "")


def size_label(size: float, _position: float | None = None) -> str:
    """Format a size for a tick of an axis or a colour bar."""
    return format_size(size)


def colours(count: int) -> list[str]:
    """Return so many colours for lines, repeating after the seventh."""
    return [SERIES[i % len(SERIES)] for i in range(count)]


def legend_below(drawn: Figure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """Put the legend of a whole figure below it, where it covers no data."""
    shown = [wrap(label, 40) for label in labels]
    legend = drawn.legend(
        handles,
        shown,
        loc="outside lower center",
        ncols=_legend_columns(shown, drawn.get_figwidth()),
        frameon=False,
        fontsize=_TICK,
        handlelength=2.2,
        columnspacing=1.6,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """Return the most columns that fit a width in inches; matplotlib fills them one after the other."""
    widths = [max(map(len, label.split("\n"))) + _SWATCH for label in labels]
    for columns in range(len(labels), 1, -1):
        if sum(max(each) for each in np.array_split(widths, columns)) <= width * _LETTERS:
            return columns
    return 1


def save(drawn: Figure, folder: Path, name: str) -> Path:
    """Write a figure as PNG, all or nothing, and return its path; makes the folder if it is not there.

    Raises:
        OutputError: If it cannot be written.
    """
    path = Path(folder) / name
    _take_literally(drawn)
    with drafts(path) as (draft,):
        drawn.savefig(draft, dpi=DPI, format="png")
    return path


def _take_literally(drawn: Figure) -> None:
    """Let every text of a figure be what it says: no mathematics, and an escape for what the font cannot draw."""
    for axis in (axis for axes in drawn.axes for axis in (axes.xaxis, axes.yaxis)):
        labels = axis.get_ticklabels() if isinstance(axis.get_major_locator(), FixedLocator) else []
        if any(_drawable(label) != label.get_text() for label in labels):
            # Labels of ticks are written anew whenever the figure is drawn.
            axis.set_ticklabels([_drawable(label) for label in labels])
    for text in drawn.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(False)
        text.set_text(_drawable(text))


def _drawable(text: Text) -> str:
    known = _letters_of(findfont(text.get_fontproperties()))
    lines = (printable(line) for line in text.get_text().split("\n"))
    return "\n".join("".join(letter if ord(letter) in known else escaped(letter) for letter in line) for line in lines)


@cache
def _letters_of(font: str) -> frozenset[int]:
    return frozenset(get_font(font).get_charmap())
