"""The delay curves of a machine over message size, one panel per link."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator

from clue.machine import Link, Machine
from clue.report.machine.links import named_links
from clue.report.shared import style
from clue.report.shared.lettering import fit
from clue.report.shared.style import save
from clue.units import format_size, format_time

#: Largest number of panels, and the sizes shown unless the curves go further.
MOST_PANELS = 12
_LEAST, _MOST = 1.0, 4e6
#: Ends of an axis without curves, in seconds.
_NO_DELAY = (1e-7, 1e-3)
#: Width of a panel's title, inches.
_TITLE = 3.7
_CURVES = (
    ("send delay (the sender is blocked)", style.SEND, (0, (5, 2))),
    ("transmission delay", style.RECEIVE, (0, (5, 2, 1, 2))),
    ("total with the receive delay", style.COMPUTE, None),
)


def draw_delays(machine: Machine) -> Figure:
    """Draw send, transmission and total delay of every link, with logarithmic axes and marked eager limits."""
    links = list(named_links(machine))
    shown = list(islice(links, MOST_PANELS))
    columns = 2 if len(shown) in (2, 4) else min(len(shown), 3)
    lines = -(-len(shown) // columns)
    more = f" (the first {MOST_PANELS} of {len(links)} links)" if len(shown) < len(links) else ""
    drawn = style.figure(min(5.2 * columns, 13.5), 1.1 + 3.8 * lines, f"{machine.name}: delays of a message{more}")
    grid = drawn.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).ravel()
    sizes = message_sizes([link for _, link in shown])
    for axes, (name, link) in zip(grid, shown, strict=False):
        _draw_link(axes, name, link, sizes)
    if not any(delays(link, sizes).any() for _, link in shown):
        grid[0].set_ylim(*_NO_DELAY)  # without a curve an axis has no limits of its own
    for unused in grid[len(shown) :]:
        unused.set_axis_off()
    style.legend_below(
        drawn,
        [Line2D([], [], color=colour, linestyle=line, linewidth=2) for _, colour, line in _CURVES],
        [label for label, _, _ in _CURVES],
    )
    return drawn


def message_sizes(links: list[Link]) -> npt.NDArray[np.float64]:
    """Return sizes in bytes from 1 B to 4 MB, or to a larger last point or eager limit, including all of these."""
    curves = [curve for link in links for curve in (link.send_delay, link.transmission_delay)]
    corners = {size for curve in curves for size in curve.sizes} | {link.eager_limit or 0.0 for link in links}
    most = max(_MOST, *corners)
    spread = np.geomspace(_LEAST, most, 400)
    return np.unique(np.concatenate((spread, [size for size in corners if size >= _LEAST])))


def delays(link: Link, sizes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return send, transmission and total delay in seconds, shape (3, sizes)."""
    send = np.array([link.send_delay(size) for size in sizes])
    travel = np.array([link.transmission_delay(size) for size in sizes])
    return np.stack((send, travel, [link.one_way(size) for size in sizes]))


def _draw_link(axes: Axes, name: str, link: Link, sizes: npt.NDArray[np.float64]) -> None:
    axes.set(xscale="log", yscale="log")
    for (_, colour, line), times in zip(_CURVES, delays(link, sizes), strict=True):
        # A logarithmic axis has no 0.
        axes.plot(sizes, np.where(times > 0, times, np.nan), color=colour, linestyle=line, linewidth=2)
    style.finish_axes(
        axes,
        "message size",
        "delay",
        f"{fit(name, _TITLE, 2, style.LABEL)}\n{fit(_finding(link), _TITLE, 2, style.LABEL, prose=True)}",
        grid="both",
    )
    axes.xaxis.set_major_locator(LogLocator(base=10, numticks=9))
    axes.xaxis.set_major_formatter(FuncFormatter(style.size_label))
    axes.yaxis.set_major_locator(LogLocator(base=10, numticks=12))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda time, _: format_time(time)))
    axes.minorticks_off()
    axes.tick_params(labelbottom=True, labelleft=True)
    axes.set_xlim(_LEAST / 2, sizes[-1] * 2)
    _mark_eager_limit(axes, link)


def _finding(link: Link) -> str:
    empty, million = (format_time(float(time)) for time in delays(link, np.array([0.0, 1e6]))[2])
    return f"an empty message takes {empty}, 1 MB {million}"


def _mark_eager_limit(axes: Axes, link: Link) -> None:
    """Mark the eager limit, with its label in the upper left, where rising delays leave room."""
    limit = link.eager_limit
    text = "every message\nis eager" if limit is None else "no message\nis eager"
    right = limit is not None and limit >= 100
    if limit is not None and limit >= _LEAST:
        axes.axvline(limit, color=style.INK, linewidth=1, linestyle=":")
        text = f"eager up to\n{format_size(limit)}"
    axes.annotate(
        text,
        (limit if right and limit is not None else _LEAST, 0.98),
        (-4 if right else 4, 0),
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top",
        fontsize=style.TICK,
        color=style.INK,
        bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 1, "alpha": 0.8},
    )


def plot_machine(machine: Machine, folder: Path) -> Path:
    """Draw the delay curves of a machine: ``delays.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    return save(draw_delays(machine), folder, "delays.png")
