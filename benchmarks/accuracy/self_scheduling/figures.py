"""The figures of the study: time over n as in the paper's figures 2 and 5, and replay beside live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.accuracy.self_scheduling.comparing import Curves
from benchmarks.accuracy.self_scheduling.lines import LINES
from clue.report.shared import style
from clue.report.shared.lettering import fit

#: Smallest n that the paper measured; its polynomials are negative below it.
_PAPER_FROM = 500
#: Largest time relative to the fastest line that is shown.
_MOST = 3.5
_DASHES = (0, (4, 3))


def draw_times(of: Curves, title: str, paper: bool = False) -> Figure:
    """Draw the time over n, in seconds and relative to the fastest line at each n."""
    drawn = style.figure(12, 5.4, title)
    left, right = drawn.subplots(1, 2)
    best = {n: min(line[n] for line in of.values()) for n in next(iter(of.values()))}
    for name, line in of.items():
        _draw_line(left, name, of, list(line.values()))
        _draw_line(right, name, of, [line[n] / best[n] for n in line])
    if paper:
        _draw_paper(left, of)
    left.set_ylim(0, max(max(line.values()) for line in of.values()) * 1.03)
    right.set_ylim(0.97, min(_MOST, 1.03 * max(line[n] / best[n] for line in of.values() for n in line)))
    style.finish_axes(left, "order n of the matrices", "time (s)", grid="both")
    style.finish_axes(right, "order n of the matrices", "time ÷ that of the fastest", grid="both")
    style.legend_below(drawn, *left.get_legend_handles_labels())
    return drawn


def _place(name: str, of: Curves) -> int:
    """Return the number of a line's style; a variant ("SS, 50 tasks") has that of its strategy."""
    return [each for each in of if _plain(each)].index(name.split(",", maxsplit=1)[0])


def _plain(name: str) -> bool:
    return "," not in name


def _draw_line(axes: Axes, name: str, of: Curves, values: Sequence[float]) -> None:
    place = _place(name, of)
    (line,) = axes.plot(list(of[name]), values, label=name, color=style.SERIES[place], linewidth=1.6, markersize=5)
    line.set_marker(style.MARKERS[place])
    if not _plain(name):
        line.set(linestyle=":", markerfacecolor=style.PAPER)


def _draw_paper(axes: Axes, of: Curves) -> None:
    sizes = np.linspace(_PAPER_FROM, max(next(iter(of.values()))), 100)
    for line in LINES:
        if line.paper:
            seconds = [line.by_paper(n) for n in sizes]
            axes.plot(sizes, seconds, color=style.SERIES[_place(line.name, of)], linewidth=1, linestyle=_DASHES)
    axes.plot([], [], color=style.INK, linewidth=1, linestyle=_DASHES, label="the paper's models")


def draw_replay(live: Mapping[str, float], replay: Mapping[str, float], title: str) -> Figure:
    """Draw, for each line, the prediction of a replay beside the live time."""
    drawn = style.figure(9, 4.6, title)
    axes, places = drawn.add_subplot(), np.arange(len(live))
    for shift, values, colour, label in (
        (-0.2, live, style.COMPUTE, "live on the cluster"),
        (0.2, replay, style.SEND, "replayed from a trace of equal nodes"),
    ):
        bars = axes.bar(places + shift, [values[name] for name in live], 0.38, color=colour, label=label)
        axes.bar_label(bars, fmt="%.3g", fontsize=8, padding=2)
    axes.set_xticks(places, [fit(name, 1.1, lines=3) for name in live])
    style.finish_axes(axes, ylabel="time (s)", grid="y")
    style.legend_below(drawn, *axes.get_legend_handles_labels())
    return drawn
