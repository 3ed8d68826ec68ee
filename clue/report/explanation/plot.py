"""The explanation of a simulation as a picture: its critical path as bars, the effects of parameters as a tornado."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from clue.explain.sensitivity import LEAST_EFFECT
from clue.explain.shares import part_shares, rank_shares, site_shares
from clue.report.shared import style
from clue.report.shared.call_sites import labels
from clue.report.shared.lettering import drawable, fit, width
from clue.report.shared.scale import time_scale
from clue.report.shared.spending import percent
from clue.report.shared.style import save
from clue.result import Part
from clue.units import format_time

if TYPE_CHECKING:
    from clue.explain import Explanation, Sensitivity

#: Largest numbers of regions with a colour of their own, of shown parameters, and of shown ranks and call sites.
_MOST_REGIONS, _MOST_PARAMETERS, _MOST_SHARES = 6, 16, 24
_COLOURS = {
    Part.SHARING: "#AACCDD",
    Part.SEND: style.SEND,
    Part.HANDSHAKE: "#EE99AA",
    Part.CONTENTION: "#CC3311",
    Part.TRANSMISSION: "#CCBB44",
    Part.RECEIVE: style.RECEIVE,
    Part.REDUCTION: "#DDAA33",
    Part.PACKING: "#997700",
    Part.SPAWN: style.UNUSED,
    Part.SLEEP: "#EEEEBB",
    Part.COLD_START: "#77AADD",
}
_GREYS = ("#B8C4CE", "#DDE3E8")
_LOWER, _HIGHER = "#9FB1BB", "#3B4A54"
#: Widths in inches: the picture, its text, and a parameter's name.
_WIDTH, _TITLE, _NAME = 9.6, 7.0, 2.6
#: Least share of the whole at which a bar has a label inside; share of the picture that bars take together.
_ROOM, _BARS = 0.03, 0.68


def draw_explanation(explanation: Explanation, title: str) -> Figure:
    """Draw the parts of a makespan, the ranks that spend it, and the effect of each parameter on it."""
    shown = _shown(explanation)
    heights = (0.6 * (1 + len(_bars(explanation))) + 0.6, 0.6 + 0.36 * max(1, len(shown)))
    drawn = style.figure(_WIDTH, sum(heights) + 2.2, f"{title}: {format_time(explanation.makespan)}")
    path, tornado = drawn.subplots(2, 1, height_ratios=heights)
    legend = {**_draw_path(path, explanation), **_draw_tornado(tornado, shown, len(explanation.sensitivities))}
    style.legend_below(drawn, list(legend.values()), list(legend))
    return drawn


def _shown(explanation: Explanation) -> list[Sensitivity]:
    found = [each for each in explanation.sensitivities if each.size >= LEAST_EFFECT]
    return found[:_MOST_PARAMETERS]


# --- the path --------------------------------------------------------------------------------------------------------


def _draw_path(axes: Axes, explanation: Explanation) -> dict[str, Patch]:
    """Draw the path as bars: by part, by rank, and by call site if it is known; return its legend."""
    scale = time_scale(explanation.makespan)
    whole = explanation.makespan / scale.length or 1.0
    parts = _parts(explanation)
    left = 0.0
    for _, colour, seconds in parts:
        length = seconds / scale.length
        axes.barh(0, length, 0.7, left=left, color=colour)
        if length > _ROOM * 2 * whole:
            _label(axes, left + length / 2, 0, percent(length / whole), style.paper_or_ink(colour))
        left += length
    bars = _bars(explanation)
    for row, named in enumerate(bars.values(), 1):
        _draw_shares(axes, row, [(name, seconds / scale.length) for name, seconds in named], whole)
    style.finish_axes(axes, f"time on the critical path ({scale.unit})", title=_finding(explanation, parts), grid="x")
    axes.set_yticks(range(len(bars) + 1), ("what it is", *bars))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(bars) + 0.5, -0.5)
    axes.set_xlim(0, whole)
    style.round_ticks(axes.xaxis, 7)
    style.plain_numbers(axes.xaxis)
    shares = (seconds / scale.length / whole for _, _, seconds in parts)
    return {f"{name} ({percent(share)})": Patch(color=c) for (name, c, _), share in zip(parts, shares, strict=True)}


def _finding(explanation: Explanation, parts: Sequence[tuple[str, str, float]]) -> str:
    """State which part of the path is the longest."""
    if not explanation.makespan:
        return "it takes no time"
    name, _, most = max(parts, key=lambda part: part[2])
    told = f"{percent(most / explanation.makespan)} of the critical path is {name}"
    return fit(told, _TITLE, lines=2, size=style.LABEL, prose=True)


def _parts(explanation: Explanation) -> list[tuple[str, str, float]]:
    """Return name, colour and seconds of each part of the path: computation by region, the rest by part."""
    sums: dict[Part | str, float] = {}
    for each in part_shares(explanation.path):
        key = each.region if each.part is Part.COMPUTATION else each.part
        sums[key] = sums.get(key, 0.0) + each.seconds
    regions = sorted((key for key in sums if isinstance(key, str)), key=lambda key: -sums[key])
    rows = [
        (f"computation: {region}" if region else "computation (no region)", colour, sums[region])
        for region, colour in zip(regions, style.REGIONS[:_MOST_REGIONS], strict=False)
    ]
    rest = sum(sums[region] for region in regions[_MOST_REGIONS:])
    if rest:
        rows.append(("computation: other regions", style.OTHER_REGIONS, rest))
    return [*rows, *((part.words, _COLOURS[part], sums[part]) for part in Part if part in sums)]


def _bars(explanation: Explanation) -> dict[str, list[tuple[str, float]]]:
    """Return the path by rank and by call site: names and seconds, the largest first."""
    ranks = [(str(each.rank), each.seconds) for each in rank_shares(explanation.path)]
    names = labels(explanation.path.sites)
    sites = site_shares(explanation.path, explanation.sites)
    named = [(str(names[each.number]), each.seconds) for each in sites if each.seconds]
    return {"whose it is\n(rank)": ranks} | ({"where it arises\n(call site)": named} if named else {})


def _draw_shares(axes: Axes, row: int, shares: Sequence[tuple[str, float]], whole: float) -> None:
    """Draw a bar of shares, each with its name where there is room for it."""
    left, inches = 0.0, _WIDTH * _BARS / whole
    for i, (name, length) in enumerate(shares[:_MOST_SHARES]):
        axes.barh(row, length, 0.7, left=left, color=_GREYS[i % 2])
        room = length * inches
        if all(width(drawable(word), style.TICK) < room for word in name.split()):
            _label(axes, left + length / 2, row, fit(name, room, lines=3, size=style.TICK), style.INK)
        left += length
    if len(shares) > _MOST_SHARES and whole - left > _ROOM * whole:
        _label(axes, (left + whole) / 2, row, f"{len(shares) - _MOST_SHARES} others", style.INK)


def _label(axes: Axes, x: float, y: float, text: str, colour: str) -> None:
    axes.text(x, y, text, ha="center", va="center", fontsize=style.TICK, color=colour)


# --- sensitivities ---------------------------------------------------------------------------------------------------


def _draw_tornado(axes: Axes, shown: Sequence[Sensitivity], tried: int) -> dict[str, Patch]:
    """Draw the effect of each parameter; return the legend."""
    rows = np.arange(len(shown))
    change = f"{shown[0].change:.0%}" if shown else "10%"
    # A bar close to zero is drawn on top of nothing; a deadlock has no bar.
    # Two bars to the same side are drawn one above the other.
    same = np.array([(each.change_if_lower or 0.0) * (each.change_if_higher or 0.0) > 0 for each in shown], bool)
    height, shift = np.where(same, 0.31, 0.62), np.where(same, 0.155, 0.0)
    for side, colour, sign in (("change_if_lower", _LOWER, "-"), ("change_if_higher", _HIGHER, "+")):
        widths = [getattr(each, side) or 0.0 for each in shown]
        places = rows + (shift if sign == "+" else -shift)
        axes.barh(places, widths, height, color=colour)
    axes.axvline(0, color=style.INK, linewidth=0.8)
    style.finish_axes(axes, "change of the makespan", title=_tornado_title(len(shown), tried), grid="x")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    style.round_ticks(axes.xaxis, 7)
    axes.set_yticks(rows, [_tick(each) for each in shown])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    finite = [off for each in shown for off in (each.change_if_lower, each.change_if_higher) if off is not None]
    furthest = max(map(abs, finite), default=0.0) or 0.01
    axes.set_xlim(-1.1 * furthest, 1.1 * furthest)
    sides = (("-", _LOWER), ("+", _HIGHER)) if shown else ()
    return {f"parameter {sign}{change}": Patch(color=colour) for sign, colour in sides}


def _tick(each: Sensitivity) -> str:
    name = each.parameter.removeprefix("node_types.").removeprefix("network.")
    return fit(name if each.elasticity is not None else f"{name} (deadlock)", _NAME, lines=2)


def _tornado_title(shown: int, tried: int) -> str:
    if not tried:
        return "No parameter to change"
    if not shown:
        return f"None of {tried} parameters changes the makespan by {LEAST_EFFECT:.2%}"
    return f"{shown} of {tried} parameters, the most influential first"


def plot_explanation(explanation: Explanation, folder: Path, title: str) -> Path:
    """Draw the critical path of a simulation and the effect of each parameter on its makespan: ``explanation.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    return save(draw_explanation(explanation, title), folder, "explanation.png")
