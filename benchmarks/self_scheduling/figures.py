"""The pictures of the study: time over n as in the paper's figures 2 and 5, and replay beside live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.self_scheduling.comparing import Curves
from benchmarks.self_scheduling.lines import LINES
from clue.report.plots import style

#: The paper measured from here on; below, its polynomials are below zero.
_PAPER_FROM = 500


def draw_times(of: Curves, title: str, paper: bool = False) -> Figure:
    """Draw seconds over n: as they are, and relative to the fastest of each n."""
    drawn = style.figure(12, 5.4, title)
    left, right = drawn.subplots(1, 2)
    best = {n: min(line[n] for line in of.values()) for n in next(iter(of.values()))}
    for i, (name, line) in enumerate(of.items()):
        look = {"color": style.colours(len(of))[i], "marker": style.MARKERS[i % len(style.MARKERS)]}
        left.plot(list(line), list(line.values()), label=name, linewidth=1.6, markersize=5, **look)
        right.plot(list(line), [line[n] / best[n] for n in line], linewidth=1.6, markersize=5, **look)
    if paper:
        _draw_paper(left, list(of), max(best))
    most = max(value for line in of.values() for value in line.values())
    left.set_ylim(0, most * 1.03)
    right.set_ylim(0.97, 2.5)
    style.finish_axes(left, "order n of the matrices", "time (s)", grid="both")
    style.finish_axes(right, "order n of the matrices", "time ÷ that of the fastest", "relative", grid="both")
    style.legend_below(drawn, *left.get_legend_handles_labels())
    return drawn


def _draw_paper(axes: Axes, names: Sequence[str], largest: int) -> None:
    sizes = np.linspace(_PAPER_FROM, largest, 100)
    for line in LINES:
        if line.paper and line.name in names:
            colour = style.colours(len(names))[names.index(line.name)]
            seconds = [line.by_paper(n) for n in sizes]
            axes.plot(sizes, seconds, color=colour, linewidth=1, linestyle=(0, (4, 3)), label=f"{line.name}, the paper")


def draw_replay(live: Mapping[str, float], replay: Mapping[str, float], title: str) -> Figure:
    """Draw for each line what a replay predicts beside what happens."""
    drawn = style.figure(9, 4.6, title)
    axes, places = drawn.add_subplot(), np.arange(len(live))
    for shift, values, colour, label in (
        (-0.2, live, style.COMPUTE, "live on the cluster"),
        (0.2, replay, style.SEND, "replayed from a trace of equal nodes"),
    ):
        bars = axes.bar(places + shift, [values[name] for name in live], 0.38, color=colour, label=label)
        axes.bar_label(bars, fmt="%.3g", fontsize=8, padding=2)
    axes.set_xticks(places, list(live))
    style.finish_axes(axes, ylabel="time (s)", grid="y")
    style.legend_below(drawn, *axes.get_legend_handles_labels())
    return drawn
