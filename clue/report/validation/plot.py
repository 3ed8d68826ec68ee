"""Predicted over measured times with the diagonal, and the error that each refitted parameter leaves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from clue.report.shared import style
from clue.report.shared.lettering import fit
from clue.report.validation.words import parameter_name
from clue.validation import Compared, Validation

#: Half the width of the band around the diagonal, relative.
BAND = 0.1
#: Largest number of drawn refits; width of a name and of their axes, inches.
MOST_REFITS, _NAME, _REFITS = 20, 1.9, 2.8
#: Largest number of programs with a colour of their own; the others share one.
_MOST_PROGRAMS = len(style.SERIES)


def plot_validation(validation: Validation, folder: Path, title: str) -> Path:
    """Draw a validation: ``validation.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    return style.save(draw_validation(validation, f"{title}: predicted and measured"), folder, "validation.png")


def draw_validation(validation: Validation, title: str) -> Figure:
    """Draw predicted over measured times, both logarithmic, and beside them the errors that refits leave."""
    refits = [each for each in validation.refits if each.is_identifiable]
    height = 6.0 + 0.35 * max(0, min(len(refits), MOST_REFITS) - 10)
    drawn = style.figure(11.0 if refits else 6.5, height, title)
    panels = drawn.subplots(1, 2 if refits else 1, width_ratios=(3, 2) if refits else (1,), squeeze=False)[0]
    _draw_cases(panels[0], validation)
    if refits:
        _draw_refits(panels[1], validation)
    known = [panel.get_legend_handles_labels() for panel in panels]
    style.legend_below(drawn, [h for handles, _ in known for h in handles], [t for _, texts in known for t in texts])
    return drawn


def _draw_cases(axes: Axes, validation: Validation) -> None:
    # A logarithmic axis has no 0.
    shown = [each for each in validation.compared if each.predicted > 0 and min(each.case.runs) > 0]
    intervals = [(each.interval.low, each.interval.high) for each in shown if each.interval is not None]
    times = [time for each in shown for time in (each.predicted, *each.case.runs)] or [1.0]
    times += [time for interval in intervals for time in interval if time > 0]
    ends = np.array([min(times) / 1.3, max(times) * 1.3])
    axes.fill_between(ends, ends * (1 - BAND), ends * (1 + BAND), color=style.FAINT, label="within 10%")
    axes.plot(ends, ends, color=style.INK, linewidth=1, label="predicted = measured")
    names = list(dict.fromkeys(each.case.program for each in shown))
    for i, name in enumerate(names[:_MOST_PROGRAMS]):
        last = i == _MOST_PROGRAMS - 1 and len(names) > _MOST_PROGRAMS
        group = [each for each in shown if each.case.program in (names[i:] if last else [name])]
        _draw_group(axes, "other programs" if last else name, group, style.SERIES[i], style.MARKERS[i])
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes.set_aspect("equal")
    told = f"{validation.error:.1%} off on average in {len(validation.compared):,} cases"
    missing = len(validation.compared) - len(shown)
    told += f"\n{missing:,} that take no time are not drawn" if missing else ""
    style.finish_axes(axes, "measured (median and range of runs)", "predicted", told, grid="both")
    for axis in (axes.xaxis, axes.yaxis):
        style.log_times(axis)


def _draw_group(axes: Axes, label: str, group: list[Compared], colour: str, marker: str) -> None:
    measured = np.array([each.case.measured for each in group])
    predicted = np.array([each.predicted for each in group])
    spreads = [each.case.spread or 0.0 for each in group]
    runs = [each.case.runs if len(each.case.runs) > 1 else None for each in group]
    below = [m - min(r) if r else s for m, r, s in zip(measured, runs, spreads, strict=True)]
    above = [max(r) - m if r else s for m, r, s in zip(measured, runs, spreads, strict=True)]
    lows = [0.0 if each.interval is None else max(0.0, each.predicted - each.interval.low) for each in group]
    highs = [0.0 if each.interval is None else max(0.0, each.interval.high - each.predicted) for each in group]
    axes.errorbar(
        measured,
        predicted,
        xerr=(below, above),
        yerr=(lows, highs),
        fmt=marker,
        markersize=6,
        color=colour,
        elinewidth=1,
        capsize=2,
        label=label,
    )


def _draw_refits(axes: Axes, validation: Validation) -> None:
    refits = [each for each in validation.refits if each.is_identifiable]
    shown = refits[:MOST_REFITS]
    labels = ["as described", *(f"{fit(parameter_name(r.parameter), _NAME)}\n× {r.multiplier:.3g}" for r in shown)]
    errors = [validation.error_simulated, *(each.error_left for each in shown)]
    colours = [style.UNUSED, *(style.COMPUTE if r.parameter.name == "computation" else style.SEND for r in shown)]
    places = np.arange(len(labels))[::-1]
    axes.barh(places, errors, color=colours, height=0.6)
    texts = [f"{error:.1%}" for error in errors]
    for place, error, text in zip(places, errors, texts, strict=True):
        style.note(axes, text, (error, place), 4, behind=style.PAPER)
    runs = "how far runs differ" if validation.noise_is_measured else "how far runs are assumed to differ"
    axes.axvline(validation.noise, color=style.INK, linewidth=1, linestyle=":", label=runs, zorder=0)
    axes.set_yticks(places, labels)
    axes.set_xlim(0, max(*errors, validation.noise) * style.beside(texts, _REFITS) or 1)
    some = f" (the best {MOST_REFITS} of {len(refits)})" if len(shown) < len(refits) else ""
    style.finish_axes(axes, "mean absolute error left", "", f"Refitted one at a time{some}", grid="x")
    style.round_ticks(axes.xaxis, 5)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
