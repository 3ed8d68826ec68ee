"""Predicted against measured times with the diagonal, and what error each refitted parameter leaves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, PercentFormatter

from clue.report.plots import style
from clue.report.validation import parameter_name
from clue.units import format_time
from clue.validation import Compared, Validation

#: Half the width of the band around the diagonal, relative.
BAND = 0.1
#: So many programs have a colour of their own; the others share one.
_MOST_PROGRAMS = len(style.SERIES)


def plot_validation(validation: Validation, folder: Path, title: str) -> Path:
    """Draw a validation: ``validation.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    return style.save(draw_validation(validation, f"{title}: predicted and measured"), folder, "validation.png")


def draw_validation(validation: Validation, title: str) -> Figure:
    """Draw predicted over measured times, both logarithmic, and the errors that refits leave beside."""
    refits = [each for each in validation.refits if each.is_identifiable]
    drawn = style.figure(11.0 if refits else 6.5, 6.0, title)
    panels = drawn.subplots(1, 2 if refits else 1, width_ratios=(3, 2) if refits else (1,), squeeze=False)[0]
    _draw_cases(panels[0], validation)
    if refits:
        _draw_refits(panels[1], validation)
    known = [panel.get_legend_handles_labels() for panel in panels]
    style.legend_below(drawn, [h for handles, _ in known for h in handles], [t for _, texts in known for t in texts])
    return drawn


def _draw_cases(axes: Axes, validation: Validation) -> None:
    times = [time for each in validation.compared for time in (each.predicted, *each.case.runs)]
    ends = np.array([min(times) / 1.3, max(times) * 1.3])
    axes.fill_between(ends, ends * (1 - BAND), ends * (1 + BAND), color=style.FAINT, label="within 10%")
    axes.plot(ends, ends, color=style.INK, linewidth=1, label="predicted = measured")
    names = list(dict.fromkeys(each.case.program for each in validation.compared))
    for i, name in enumerate(names[:_MOST_PROGRAMS]):
        last = i == _MOST_PROGRAMS - 1 and len(names) > _MOST_PROGRAMS
        group = [each for each in validation.compared if each.case.program in (names[i:] if last else [name])]
        _draw_group(axes, "other programs" if last else name, group, style.SERIES[i], style.MARKERS[i])
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes.set_aspect("equal")
    style.finish_axes(axes, "measured (median and range of runs)", "predicted", "", grid="both")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator(_ticks(*ends)))
        axis.set_minor_locator(FixedLocator([]))
        axis.set_major_formatter(FuncFormatter(lambda time, _: format_time(time)))


def _ticks(low: float, high: float) -> list[float]:
    """Return round times within a range: 1, 2 and 5 times powers of ten, or fewer where that is many."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    steps = (
        (1, 1.5, 2, 3, 5, 7)
        if high / low < 8
        else (1, 2, 5)
        if high / low < 200
        else (1, 3)
        if high / low < 1e4
        else (1,)
    )
    return [t for power in powers for step in steps if low <= (t := float(power * step)) <= high]


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
    labels = ["as described", *(f"{parameter_name(r.parameter)}\n× {r.multiplier:.3g}" for r in refits)]
    errors = [validation.error, *(each.error_left for each in refits)]
    colours = [style.UNUSED, *(style.COMPUTE if r.parameter.kind == "computation" else style.SEND for r in refits)]
    places = np.arange(len(labels))[::-1]
    axes.barh(places, errors, color=colours, height=0.6)
    for place, error in zip(places, errors, strict=True):
        axes.annotate(f"{error:.1%}", (error, place), (4, 0), textcoords="offset points", va="center", fontsize=9)
    runs = "how far runs differ" if validation.noise_is_measured else "how far runs are assumed to differ"
    axes.axvline(validation.noise, color=style.INK, linewidth=1, linestyle=":", label=runs, zorder=0)
    axes.set_yticks(
        places, [style.wrap(label, 26) if "\n" not in label else label for label in labels], parse_math=False
    )
    axes.set_xlim(0, max(errors) * 1.25 or 1)
    style.finish_axes(axes, "mean absolute error left", "", "Refitted one at a time", grid="x")
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
