"""What makespans are made of: per option and kernel, the mean rank's computing, communicating and waiting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from clue.purchase import KernelOutcome, Ranking
from clue.report.plots import style
from clue.report.plots.ranking import ordered
from clue.report.scale import time_scale
from clue.report.text.ranking import format_split
from clue.units import format_time

_PARTS = (("compute", style.COMPUTE), ("communicate", style.COMMUNICATE), ("wait", style.WAIT))


@dataclass(frozen=True, slots=True)
class Bar:
    """One option's bar in a panel: seconds that add up to the makespan.

    Attributes:
        option: The option.
        split: How the workload was split on it.
        parts: compute, communicate and wait, mean over ranks, in seconds.
    """

    option: str
    split: str
    parts: tuple[float, float, float]


def draw_breakdown(ranking: Ranking) -> Figure:
    """Draw one panel per workload, or per kernel where a workload has several, with a bar per option."""
    panels = list(split_panels(ranking))
    columns = 1 if len(panels) == 1 else 2
    lines = -(-len(panels) // columns)
    bars = max(len(each) for _, each in panels)
    drawn = style.figure(11, 1.6 + lines * (0.9 + 0.52 * bars), f"{ranking.scenario}: what the makespans are made of")
    grid = drawn.subplots(lines, columns, squeeze=False).ravel()
    for axes, (name, each) in zip(grid, panels, strict=False):
        _draw_panel(axes, name, each)
    for unused in grid[len(panels) :]:
        unused.set_axis_off()
    style.legend_below(
        drawn,
        [Patch(color=colour) for _, colour in _PARTS],
        ["compute", "communicate", "wait (also for the last rank to finish)"],
    )
    return drawn


def split_panels(ranking: Ranking) -> Iterator[tuple[str, list[Bar]]]:
    """Yield a title and the bars, in the order of the ranking, for every workload and kernel."""
    entries = ordered(ranking)
    titles = dict.fromkeys(
        (outcome.workload, kernel.name if len(outcome.kernels) > 1 else "")
        for entry in entries
        for outcome in entry.workloads
        for kernel in outcome.kernels
    )
    for workload, name in titles:
        yield (
            f"{workload}: {name}" if name else workload,
            [
                Bar(entry.option, format_split(outcome), mean_parts(kernel))
                for entry in entries
                for outcome in entry.workloads
                for kernel in outcome.kernels
                if outcome.workload == workload and name in ("", kernel.name)
            ],
        )


def mean_parts(outcome: KernelOutcome) -> tuple[float, float, float]:
    """Return the mean rank's compute, communicate and wait, seconds that add up to the makespan.

    The time that a rank has finished before the last one counts as waiting. Turns are alike, so each part grows
    with the kernel's makespan.
    """
    summary = outcome.summary
    if summary is None or summary.makespan <= 0:
        return 0.0, 0.0, outcome.makespan
    scale = outcome.makespan / summary.makespan
    compute, communicate = summary.compute * scale, summary.communicate * scale
    return compute, communicate, max(0.0, outcome.makespan - compute - communicate)


def _draw_panel(axes: Axes, name: str, bars: list[Bar]) -> None:
    rows = np.arange(len(bars))
    makespans = np.array([sum(bar.parts) for bar in bars])
    scale = time_scale(makespans.max(initial=0.0))
    left = np.zeros(len(bars))
    for i, (_, colour) in enumerate(_PARTS):
        width = np.array([bar.parts[i] for bar in bars]) / scale.length
        axes.barh(rows, width, 0.62, left=left, color=colour)
        left += width
    for row, makespan in enumerate(makespans):
        axes.annotate(
            format_time(makespan), (left[row], row), (5, 0), textcoords="offset points", va="center", fontsize=9
        )
    style.finish_axes(
        axes, f"makespan ({scale.unit}); its parts are means over ranks", title=style.wrap(name, 60), grid="x"
    )
    labels = [f"{style.wrap(bar.option, lines=2)}\n{bar.split}" for bar in bars]
    axes.set_yticks(rows, labels, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xlim(0, left.max(initial=0.0) * 1.2 or 1.0)
