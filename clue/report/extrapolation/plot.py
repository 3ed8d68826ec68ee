"""Bursts at call sites: measured, modelled, and predicted for a target.

A panel is a pool: the bursts before one part of a call, of all ranks or of those of one role. Dots are means of
recordings; lines and bands are the predictions of the ensemble between them, by the number of ranks; a star is the
target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator

from clue.extrapolation.bursts import Fitted, Floats
from clue.report.shared import style
from clue.report.shared.call_sites import labels
from clue.report.shared.lettering import fit
from clue.report.shared.spending import percent
from clue.report.shared.style import save
from clue.structure import Structure
from clue.units import format_time

if TYPE_CHECKING:
    from clue.extrapolation import inference

#: Largest number of panels, and of panels side by side; width and height of a panel, inches.
_MOST, _COLUMNS, _WIDTH, _HEIGHT = 12, 3, 3.7, 2.9
#: Points of a curve between two recordings.
_BETWEEN = 16
#: Least ratio of the ends of an axis of times; ratio from which on ticks are at powers of ten.
_LEAST_SPAN, _DECADES = 4.0, 10.0
#: Largest number of stars for a target whose ranks have different sizes.
_STARS = 9


def draw_bursts(program: Structure, fits: Sequence[Fitted], title: str) -> Figure:
    """Draw the pools that take longest at a target.

    Args:
        program: The structure that the parts of the pools belong to.
        fits: The pools, those that take longest first.
        title: Title of the picture.
    """
    shown, whole = fits[:_MOST], sum(each.seconds for each in fits) or 1.0
    columns = max(1, min(_COLUMNS, len(shown)))
    rows = -(-max(1, len(shown)) // columns)
    drawn = style.figure(_WIDTH * columns, _HEIGHT * rows + 1.2, f"{title}: {_told(shown, len(fits), whole)}")
    panels = drawn.subplots(rows, columns, squeeze=False).ravel()
    ranks = sorted({int(each) for fitted in shown for each in fitted.pool.measured["P"]})
    colours = dict(zip(ranks, style.colours(len(ranks)), strict=True))
    names = _names(program, shown)
    for axes, fitted, name in zip(panels, shown, names, strict=False):
        _draw_pool(axes, fitted, colours)
        share = percent(fitted.seconds / whole)
        said = fit(f"{name}: {share}", _WIDTH - 1.0, lines=2, size=style.LABEL)
        axes.set_title(said, fontsize=style.LABEL, loc="left", color=style.INK)
    for axes in panels[len(shown) :]:
        axes.set_axis_off()
    handles = [_mark("o", colour) for colour in colours.values()] + [_mark("*", style.INK)]
    style.legend_below(drawn, handles, [*(f"measured on {each} ranks" for each in ranks), "target, with its interval"])
    return drawn


def _told(shown: Sequence[Fitted], all_of_them: int, whole: float) -> str:
    if not shown:
        return "no bursts"
    told = "measured and modelled bursts by call site"
    if len(shown) == all_of_them:
        return told
    share = percent(sum(each.seconds for each in shown) / whole)
    return f"{told}, the longest {len(shown)} of {all_of_them} ({share} of the computation)"


def _mark(marker: str, colour: str) -> Line2D:
    return Line2D([], [], marker=marker, color=colour, linestyle="none", markersize=10 if marker == "*" else 6)


def _names(program: Structure, shown: Sequence[Fitted]) -> list[str]:
    """Return names of the pools: call site, call, part of the call if it has several, role."""
    parts = [program.parts[each.part].part for each in shown]
    sites = [str(label) for label in labels(program.sites)]
    return [
        " ".join(filter(None, (sites[of.site], of.call, f"part {of.which + 1}" * (of.which > 0), _role(each.role))))
        for of, each in zip(parts, shown, strict=True)
    ]


def _role(role: str) -> str:
    return f"({role})" if role else ""


# --- a panel ---------------------------------------------------------------------------------------------------------


def _draw_pool(axes: Axes, fitted: Fitted, colours: Mapping[int, str]) -> None:
    measured, pool = fitted.pool.measured, fitted.pool
    along = "m" if "m" in measured else "n" if len(np.unique(measured["n"])) > 1 else "P"
    for ranks, colour in colours.items():
        mine = _ordered({name: column[measured["P"] == ranks] for name, column in measured.items()}, along)
        if not len(mine["seconds"]):
            continue
        if len(mine["seconds"]) > 1:
            features = {name: _between(column) for name, column in mine.items() if name != "seconds"}
            mean, low, high = pool.modelled(features)
            axes.plot(features[along], mean, color=colour, linewidth=1.2)
            axes.fill_between(features[along], low, high, color=colour, alpha=0.12, linewidth=0)
        axes.plot(mine[along], mine["seconds"], linestyle="none", marker="o", markersize=5, color=colour)
    target = _some_of(_ordered(fitted.target, along))
    mean, low, high = pool.modelled(target)
    # Lists, because matplotlib 3.10, the last for Python 3.10, treats an array of one number as that number.
    errors = [(mean - low).tolist(), (high - mean).tolist()]
    axes.errorbar(
        target[along], mean, errors, color=style.INK, marker="*", markersize=10, linestyle="none",
        capsize=3, linewidth=1, zorder=5,
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    of = {"m": f"m = {pool.size}", "n": "size n", "P": "ranks P"}[along]
    style.finish_axes(axes, fit(of, _WIDTH - 0.8, size=style.LABEL), "mean burst", grid="both")
    _ticks(axes)


def _ordered(columns: Mapping[str, Floats], along: str) -> dict[str, Floats]:
    order = np.argsort(columns[along], kind="stable")
    return {name: column[order] for name, column in columns.items()}


def _between(column: Floats) -> Floats:
    """Return values with further ones between each pair, at equal ratios if neither is 0."""
    parts = [
        np.geomspace(one, other, _BETWEEN) if one > 0 and other > 0 else np.linspace(one, other, _BETWEEN)
        for one, other in pairwise(column.tolist())
    ]
    return np.concatenate(parts)


def _some_of(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return a few of the points, including the first and the last."""
    count = len(next(iter(columns.values())))
    chosen = np.unique(np.linspace(0, count - 1, min(count, _STARS)).round().astype(np.intp))
    return {name: column[chosen] for name, column in columns.items()}


def _ticks(axes: Axes) -> None:
    """Let the axis of times span a factor at which noise looks like noise, with a few ticks in readable units."""
    low, high = axes.get_ylim()
    wider = max(1.0, (_LEAST_SPAN * low / high) ** 0.5)
    axes.set_ylim(low / wider, high * wider)
    axes.minorticks_off()
    for axis, written in ((axes.xaxis, _number), (axes.yaxis, _time)):
        low, high = axis.get_view_interval()
        if high < _DECADES * low:
            style.round_ticks(axis, 4)
        else:
            axis.set_major_locator(LogLocator(subs=(1.0, 3.0) if high < _DECADES**3 * low else (1.0,), numticks=6))
        axis.set_major_formatter(FuncFormatter(written))


def _number(value: float, _: float | None) -> str:
    return f"{value:,.12g}" if value < 1e6 else f"{value:.3g}"


def _time(value: float, _: float | None) -> str:
    return format_time(value)


def plot_bursts(structure: inference.Structure, size: int, ranks: int, folder: Path, title: str) -> Path:
    """Draw measured and modelled bursts by call site, and their predictions at a target: ``bursts.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    return save(draw_bursts(structure.program, structure.fits(size, ranks), title), folder, "bursts.png")
