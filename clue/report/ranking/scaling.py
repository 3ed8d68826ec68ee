"""How a program scales: speed-up and performance over processors or ranks, one line per machine.

Points above the ideal line are explained in words below the title: an ideal is relative to one machine and to the
recording on its fewest processors or ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from clue.analysis.scaling import Series, is_above, ratio, slowest_start, speedups
from clue.report.shared import style
from clue.report.shared.lettering import fit
from clue.units import format_time

#: Largest number of lines with a colour of their own, of names for a line that stands for several, of notes.
_MOST_LINES, _NAMED, _NOTES = len(style.SERIES), 2, 3
_WIDTH, _HEIGHT, _WORDS = 8.6, 5.8, 7.3
_DASHED = "dashed: ideal, n times as fast on n times as many {over}s"
_PARTS = ("compute", "communicate", "wait")


def fastest(series: Sequence[Series]) -> str:
    """State where the program takes the least time."""
    time, number, name, over = min((time, n, each.name, each.over) for each in series for n, time in each.points)
    return f"fastest on {name}, {number} {over}{'s' * (number != 1)} ({format_time(time)})"


def draw_common_speedup(series: Sequence[Series], title: str) -> Figure:
    """Draw speed-ups of all machines relative to one common start, so that a faster machine lies higher.

    Each machine that starts there has an ideal line of its own: the ideal of a slow machine is not that of a fast one.
    """
    start = slowest_start(series)
    fewest, longest = start.points[0]
    lines = [[(n, ratio(fewest * longest, makespan)) for n, makespan in each.points] for each in series]
    count = f"one {start.over}" if fewest == 1 else f"{fewest} {start.over}s, taken as {fewest} times as fast as one"
    base = f"{fewest} is the speed of {start.name} on {count}{_about_instances(series)}"
    drawn, axes = _start(title, base, [each for each in series if each.points[0][0] == fewest])
    for line, colour in _draw_lines(axes, series, lines):
        if line[0][0] == fewest:
            _draw_ideal(axes, line[0], line[-1][0], colour)
    return _finish(drawn, axes, series)


def _about_instances(series: Sequence[Series]) -> str:
    together = any(cost.beside > 1 for each in series for cost in each.costs)
    return "; times are of one instance, next to as many others as fit" if together else ""


# --- why something is above the ideal --------------------------------------------------------------------------------


def _above_ideal(series: Series) -> Iterator[str]:
    """Explain a super-linear speed-up of a machine relative to its own fewest processors, if it has one."""
    speeds = speedups(series)
    above = [i for i, (n, speed) in enumerate(speeds) if i and is_above(n, speed)]
    if above:
        *others, last = (f"{speeds[i][0]:,}" for i in above)
        on = f"{', '.join(others)} and {last}" if others else last
        best = max(above, key=lambda i: speeds[i][1] / speeds[i][0])
        yield f"{series.name} is better than ideal on {on} {series.over}s: {_reason(series, best)}"


def _reason(series: Series, at: int) -> str:
    """State which part of the time of all ranks is shorter than on the fewest processors."""
    processors, fewest = series.points[at][0], series.points[0][0]
    if not series.costs:
        return f"compared with {fewest} {series.over}{'s' * (fewest > 1)}; each number of ranks has its own recording"
    first, then = series.costs[0], series.costs[at]
    saved = [before - after for before, after in zip(first.parts, then.parts, strict=True)]
    most = int(np.argmax(saved))
    times = (
        f"{format_time(then.parts[most])} in all on {processors:,}, but {format_time(first.parts[most])} on {fewest}"
    )
    told = f"its ranks {_PARTS[most]} {times}"
    if then.beside < first.beside:
        return f"{told}, where {first.beside} instances run at a time instead of {then.beside}"
    if most == 0:
        return f"{told}. Each has its own recording: smaller parts may fit the caches, or fewer ranks share a node"
    return told


def _few(notes: Sequence[str]) -> list[str]:
    more = len(notes) - _NOTES
    return [*notes[:_NOTES], *([f"so are {more} more"] if more > 0 else [])]


def _named(names: Sequence[str]) -> str:
    shown, more = names[:_NAMED], len(names) - _NAMED
    return ", ".join(shown) + f" and {more} more" if more > 0 else " and ".join(shown)


# --- drawing ---------------------------------------------------------------------------------------------------------


def draw_performance(series: Sequence[Series], title: str) -> Figure:
    """Draw performance from flop/s."""
    drawn = style.figure(_WIDTH, _HEIGHT, title)
    axes = drawn.add_subplot()
    _draw_lines(axes, series, [each.points for each in series])
    most = max(speed for each in series for _, speed in each.points)
    factor, unit = (1e9, "Gflop/s") if most >= 1e10 else (1e6, "Mflop/s")
    style.finish_axes(axes, "processors", f"performance ({unit})", grid="both")
    return _finish(drawn, axes, series, factor)


def _start(title: str, base: str, series: Sequence[Series]) -> tuple[Figure, Axes]:
    """Return a figure for speed-ups whose title states what they are relative to, and why some are above the ideal."""
    notes = _few([note for each in series for note in _above_ideal(each)])
    dashed = _DASHED.format(over=series[0].over)
    words = "\n".join(fit(line, _WORDS, lines=3, size=style.TICK, prose=True) for line in (base, dashed, *notes))
    drawn = style.figure(_WIDTH, _HEIGHT + 0.17 * words.count("\n"), title)
    axes = drawn.add_subplot()
    style.finish_axes(axes, f"{series[0].over}s", "speed-up", grid="both")
    axes.set_title(words, fontsize=style.TICK, loc="left", color=style.INK)
    return drawn, axes


def _draw_lines(
    axes: Axes, series: Sequence[Series], lines: Sequence[Sequence[tuple[int, float]]]
) -> list[tuple[Sequence[tuple[int, float]], str]]:
    """Draw lines, coinciding ones once; return those with a colour of their own, with the colour."""
    groups: dict[tuple[tuple[int, str], ...], list[int]] = {}
    for i, line in enumerate(lines):
        groups.setdefault(tuple((n, f"{figure:.5g}") for n, figure in line), []).append(i)
    members = list(groups.values())
    own = _MOST_LINES if len(members) <= _MOST_LINES else _MOST_LINES - 1
    for i, same in enumerate(members[:own]):
        axes.plot(
            *zip(*lines[same[0]], strict=True),
            color=style.SERIES[i],
            marker=style.MARKERS[i],
            # Markers of lines below others are larger, so that they stay visible.
            markersize=9 - 0.6 * i,
            linewidth=1.8,
            zorder=3 + i / 10,
            label=_named([series[each].name for each in same]),
        )
    label: str | None = f"{sum(map(len, members[own:])):,} others"
    for same in members[own:]:
        axes.plot(*zip(*lines[same[0]], strict=True), color=style.UNUSED, linewidth=1, zorder=2, label=label)
        label = None
    return [(lines[same[0]], colour) for same, colour in zip(members[:own], style.SERIES, strict=False)]


def _draw_ideal(axes: Axes, start: tuple[int, float], most: int, colour: str) -> None:
    processors, speed = start
    axes.plot(
        [processors, most],
        [speed, speed * most / processors],
        color=colour,
        linewidth=1,
        linestyle=(0, (4, 3)),
        zorder=2.5,
    )


def _finish(drawn: Figure, axes: Axes, series: Sequence[Series], unit: float = 1.0) -> Figure:
    if style.counts(axes, sorted({n for each in series for n, _ in each.points})):
        axes.set_yscale("log")
        axes.minorticks_off()
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / unit:,.6g}"))
    style.legend_below(drawn, *axes.get_legend_handles_labels())
    return drawn
