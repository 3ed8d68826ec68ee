"""How a program scales: speed-up and performance over processors, one line per machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from clue.purchase import Ranking
from clue.report.plots import style


@dataclass(frozen=True, slots=True)
class Series:
    """Figures of one machine.

    Attributes:
        name: The machine.
        points: Processors and figure, by rising number of processors: makespans in s for a speed-up, flop/s
            for a performance.
    """

    name: str
    points: tuple[tuple[int, float], ...]


def scaling_of(ranking: Ranking) -> dict[str, list[Series]]:
    """Return by workload, for each option, the time of one turn over ranks per instance, where several were tried."""
    found: dict[str, list[Series]] = {}
    for entry in ranking.entries:
        points: dict[str, list[tuple[int, float]]] = {}
        for outcome in entry.tried:
            points.setdefault(outcome.workload, []).append((outcome.ranks, outcome.makespan / outcome.turns))
        for workload, line in points.items():
            if len(line) > 1:
                found.setdefault(workload, []).append(Series(entry.option, tuple(line)))
    return found


def speedups(series: Series) -> list[tuple[int, float]]:
    """Return processors and speed-up; the fewest processors measured count as that many times one."""
    fewest, longest = series.points[0]
    return [(processors, fewest * longest / makespan) for processors, makespan in series.points]


def slowest_start(series: Sequence[Series]) -> Series:
    """Return the series to measure all against: among those that start at the fewest processors, the slowest there."""
    return max(series, key=lambda each: (-each.points[0][0], each.points[0][1]))


def draw_speedup(series: Sequence[Series], title: str) -> Figure:
    """Draw speed-up from makespans, with the ideal line, each machine over itself."""
    fewest = {each.points[0][0] for each in series}
    against = "one processor" if fewest == {1} else "the fewest processors measured, taken as ideal"
    return _draw_speedups(series, [speedups(each) for each in series], f"speed-up over {against}", title)


def draw_common_speedup(series: Sequence[Series], title: str) -> Figure:
    """Draw speed-up from makespans over the same start for all, so that a faster machine stands higher."""
    start = slowest_start(series)
    fewest, longest = start.points[0]
    lines = [[(n, fewest * longest / makespan) for n, makespan in each.points] for each in series]
    on = "one processor" if fewest == 1 else f"{fewest} processors, taken as ideal,"
    return _draw_speedups(series, lines, f"speed-up over {on} of {style.wrap(start.name)}", title)


def _draw_speedups(
    series: Sequence[Series], lines: Sequence[Sequence[tuple[int, float]]], label: str, title: str
) -> Figure:
    drawn, axes = _start(title)
    most = max(processors for each in series for processors, _ in each.points)
    axes.plot([1, most], [1, most], color=style.INK, linewidth=1, linestyle=(0, (4, 3)), label="ideal")
    _draw_lines(axes, series, lines)
    style.finish_axes(axes, "processors", label, grid="both")
    return _finish(drawn, axes)


def draw_performance(series: Sequence[Series], title: str) -> Figure:
    """Draw performance from flop/s."""
    drawn, axes = _start(title)
    _draw_lines(axes, series, [list(each.points) for each in series])
    most = max(speed for each in series for _, speed in each.points)
    factor, unit = (1e9, "Gflop/s") if most >= 1e10 else (1e6, "Mflop/s")
    style.finish_axes(axes, "processors", f"performance ({unit})", grid="both")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda speed, _: f"{speed / factor:,.4g}"))
    return _finish(drawn, axes)


def _start(title: str) -> tuple[Figure, Axes]:
    drawn = style.figure(8, 5.6, title)
    return drawn, drawn.add_subplot()


def _draw_lines(axes: Axes, series: Sequence[Series], lines: Sequence[Sequence[tuple[int, float]]]) -> None:
    colours = style.colours(len(series))
    for i, (each, line) in enumerate(zip(series, lines, strict=True)):
        marker = style.MARKERS[i % len(style.MARKERS)]
        axes.plot(
            *zip(*line, strict=True),
            color=colours[i],
            marker=marker,
            markersize=6,
            linewidth=1.8,
            label=each.name,
        )


def _finish(drawn: Figure, axes: Axes) -> Figure:
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
    style.legend_below(drawn, *axes.get_legend_handles_labels())
    return drawn
