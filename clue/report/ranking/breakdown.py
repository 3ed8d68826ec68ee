"""The parts of makespans: per option and component, the mean rank's computing, communicating and waiting.

Only simulations have parts: a time by a model, a skeleton or a bound is drawn as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from clue.purchase import ComponentOutcome, Ranking
from clue.report.ranking.scores import ordered
from clue.report.ranking.text import format_split
from clue.report.shared import style
from clue.report.shared.lettering import fit
from clue.report.shared.scale import time_scale
from clue.units import format_time

#: Largest numbers of panels, and of bars in a panel.
MOST_PANELS, MOST_BARS = 12, 20
#: Inches of a bar with its labels, of the axes by number of columns, and of a name.
_BAR, _WIDTHS, _NAME = 0.56, {1: 7.8, 2: 3.2}, 1.9
#: Parts of a makespan with their colours; the last one is time whose parts are not known.
PARTS = (("compute", style.COMPUTE), ("communicate", style.COMMUNICATE), ("wait", style.WAIT),
         ("not simulated", style.UNKNOWN))  # fmt: skip
#: Seconds of each of :data:`PARTS`.
Parts: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Bar:
    """One option's bar in a panel: seconds that add up to the makespan.

    Attributes:
        option: The option.
        split: How the workload was split on it.
        parts: Its parts, means over ranks.
    """

    option: str
    split: str
    parts: Parts


def draw_breakdown(ranking: Ranking) -> Figure:
    """Draw one panel per workload, or per component if a workload has several, with a bar per option.

    If there are too many, the panels with the longest makespans and the first options are drawn, and the picture says
    so.
    """
    panels, left_out = drawn_panels(ranking)
    columns = 1 if len(panels) == 1 else 2
    lines = -(-len(panels) // columns)
    bars = max(len(each) for _, each in panels)
    told = f" ({left_out})" if left_out else ""
    title = f"{ranking.scenario}: what the makespans are made of{told}"
    drawn = style.figure(11, 1.6 + lines * (0.9 + _BAR * bars), title)
    grid = drawn.subplots(lines, columns, squeeze=False).ravel()
    shown = shown_parts(bar.parts for _, each in panels for bar in each)
    for axes, (name, each) in zip(grid, panels, strict=False):
        _draw_panel(axes, name, each, _WIDTHS[columns], shown)
    for unused in grid[len(panels) :]:
        unused.set_axis_off()
    legend = legend_of(shown)
    style.legend_below(drawn, [Patch(color=colour) for _, colour in legend], [what for what, _ in legend])
    return drawn


def drawn_panels(ranking: Ranking) -> tuple[list[tuple[str, list[Bar]]], str]:
    """Return the panels and bars that fit a picture, and a description of those left out."""
    panels = list(split_panels(ranking))
    longest = sorted(range(len(panels)), key=lambda i: -max(sum(bar.parts) for bar in panels[i][1]))
    kept = [panels[i] for i in sorted(longest[:MOST_PANELS])]
    bars = max(len(each) for _, each in panels)
    told = [
        f"the {MOST_PANELS} longest of {len(panels):,} workloads" if len(kept) < len(panels) else "",
        f"the first {MOST_BARS} of {bars:,} options" if bars > MOST_BARS else "",
    ]
    return [(name, each[:MOST_BARS]) for name, each in kept], ", ".join(filter(None, told))


def split_panels(ranking: Ranking) -> Iterator[tuple[str, list[Bar]]]:
    """Yield a title and the bars, in the order of the ranking, for every workload and component."""
    entries = ordered(ranking)
    titles = dict.fromkeys(
        (outcome.workload, component.name if len(outcome.components) > 1 else "")
        for entry in entries
        for outcome in entry.workloads
        for component in outcome.components
    )
    for workload, name in titles:
        yield (
            f"{workload}: {name}" if name else workload,
            [
                Bar(entry.option, format_split(outcome), added_parts([component]))
                for entry in entries
                for outcome in entry.workloads
                for component in outcome.components
                if outcome.workload == workload and name in ("", component.name)
            ],
        )


def added_parts(components: Sequence[ComponentOutcome]) -> Parts:
    """Return the parts of the makespan of components that run one after another."""
    found = [mean_parts(each) for each in components]
    known = [parts for parts in found if parts is not None]
    compute, communicate, wait = (sum(parts[i] for parts in known) for i in range(3))
    return compute, communicate, wait, sum(each.makespan for each, of in zip(components, found, strict=True) if not of)


def shown_parts(found: Iterable[Parts]) -> int:
    """Return how many of :data:`PARTS` are shown: the last one only where there is such time."""
    return len(PARTS) if any(unknown for *_, unknown in found) else len(PARTS) - 1


def legend_of(shown: int) -> tuple[tuple[str, str], ...]:
    """Return the names of the first parts for a legend, with their colours."""
    words = {"wait": "wait (also for the last rank to finish)"}
    return tuple((words.get(what, what), colour) for what, colour in PARTS[:shown])


def mean_parts(outcome: ComponentOutcome) -> tuple[float, float, float] | None:
    """Return the mean rank's compute, communicate and wait, seconds that add up to the makespan; ``None``: not known.

    The time between the end of a rank and that of the last one counts as waiting. Turns are alike, so each part grows
    with the component's makespan.
    """
    prediction = outcome.prediction
    if prediction is None or not prediction.simulated or prediction.makespan <= 0:
        return None
    scale = outcome.makespan / prediction.makespan
    compute, communicate = prediction.compute * scale, prediction.communicate * scale
    return compute, communicate, max(0.0, outcome.makespan - compute - communicate)


def _draw_panel(axes: Axes, name: str, bars: list[Bar], inches: float, shown: int) -> None:
    rows = np.arange(len(bars))
    makespans = np.array([sum(bar.parts) for bar in bars])
    scale = time_scale(makespans.max(initial=0.0))
    left = np.zeros(len(bars))
    for i, (_, colour) in enumerate(PARTS[:shown]):
        width = np.array([bar.parts[i] for bar in bars]) / scale.length
        axes.barh(rows, width, 0.62, left=left, color=colour)
        left += width
    for row, makespan in enumerate(makespans):
        style.note(axes, format_time(makespan), (left[row], row), 5)
    title = fit(name, inches, lines=2, size=style.LABEL)
    style.finish_axes(axes, f"makespan ({scale.unit}); its parts are means over ranks", title=title, grid="x")
    labels = [f"{fit(bar.option, _NAME, lines=2)}\n{fit(bar.split, _NAME)}" for bar in bars]
    axes.set_yticks(rows, labels)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xlim(0, left.max(initial=0.0) * style.beside(map(format_time, makespans), inches) or 1.0)
    style.round_ticks(axes.xaxis, 5)
    style.plain_numbers(axes.xaxis)
