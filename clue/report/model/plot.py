"""A fitted model: measured and fitted times over sizes, and fitted over measured times with the diagonal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clue.models import Run, ranks_of
from clue.models.model import Model
from clue.report.model.text import configuration_text
from clue.report.shared import style
from clue.units import count_of

#: Largest number of configurations with a curve: those with most runs, from few ranks to many.
MOST = 6


def plot_model(model: Model, folder: Path) -> Path:
    """Draw a model: ``model.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    return style.save(draw_model(model), folder, "model.png")


def draw_model(model: Model) -> Figure:
    """Draw measured times and fitted curves over sizes, and fitted over measured times beside them."""
    drawn = style.figure(11.0, 5.5, f"{model.name}: measured and fitted")
    curves, pairs = drawn.subplots(1, 2)
    said = model.said()
    _draw_curves(curves, model, [run for run, _ in said])
    _draw_pairs(pairs, said, len(model.runs))
    handles, labels = (
        [*a, *b] for a, b in zip(curves.get_legend_handles_labels(), pairs.get_legend_handles_labels(), strict=True)
    )
    style.legend_below(drawn, handles, labels)
    return drawn


def _draw_curves(axes: Axes, model: Model, runs: list[Run]) -> None:
    by_use: dict[str, list[Run]] = {}
    for run in runs:
        by_use.setdefault(configuration_text(run.uses), []).append(run)
    names = sorted(by_use, key=lambda name: ranks_of(by_use[name][0].uses))
    shown = [names[i] for i in np.unique(np.linspace(0, len(names) - 1, min(MOST, len(names))).astype(int))]
    for name, colour, marker in zip(shown, style.colours(MOST), style.MARKERS, strict=False):
        of = by_use[name]
        sizes = np.geomspace(min(each.size for each in of), 1.5 * max(each.size for each in of), 60)
        # Outside the measured domain there may be no model, and so no curve.
        sizes = np.array([size for size in sizes if model.cluster.answers(float(size), of[0].uses)])
        told = [model.cluster.predict(float(size), of[0].uses) for size in sizes]
        axes.plot(sizes, [each.seconds for each in told], color=colour, linewidth=1.2)
        finite = [each for each in told if np.isfinite(each.high)]
        if len(finite) == len(told):
            axes.fill_between(
                sizes, [each.low for each in told], [each.high for each in told], color=colour, alpha=0.15, linewidth=0
            )
        axes.plot(
            [each.size for each in of],
            [each.seconds for each in of],
            marker,
            color=colour,
            markersize=5,
            label=name,
        )
    axes.set(xscale="log", yscale="log")
    some = f" ({len(shown)} of {len(names)} configurations)" if len(shown) < len(names) else ""
    style.finish_axes(axes, "size", "time", f"Points measured, lines fitted{some}", grid="both")
    style.log_numbers(axes.xaxis)
    style.log_times(axes.yaxis)


def _draw_pairs(axes: Axes, said: list[tuple[Run, float]], every: int) -> None:
    pairs = np.array([(run.seconds, seconds) for run, seconds in said if run.seconds > 0 and seconds > 0])
    if not len(pairs):
        return
    ends = np.array([pairs.min() / 1.3, pairs.max() * 1.3])
    axes.plot(ends, ends, color=style.INK, linewidth=1, label="fitted = measured")
    axes.plot(pairs[:, 0], pairs[:, 1], ".", color=style.COMPUTE, markersize=5, label="a run")
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    others = "others have no model, or no fitted time above 0"
    told = f"All {every:,} runs" if len(pairs) == every else f"{len(pairs):,} of {count_of(every, 'run')}\n({others})"
    style.finish_axes(axes, "measured", "fitted", told, grid="both")
    for axis in (axes.xaxis, axes.yaxis):
        style.log_times(axis)
