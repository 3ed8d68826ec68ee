"""Calibrated links: measured times, the fitted curve, and its relative errors below; slowdowns by contention."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from clue.calibration.contention import Experiment, Judged, PairMeasurement, known_ports
from clue.calibration.measurement import Estimate
from clue.calibration.network import Calibration
from clue.calibration.residuals import Residual, simulated_one_way
from clue.machine import Machine
from clue.report.shared import style
from clue.units import format_size, format_time

#: Position of an empty message on the logarithmic axis.
_EMPTY = 0.5


def plot_calibration(calibration: Calibration, folder: Path, title: str, place: str) -> Path:
    """Draw a link's calibration: ``calibration-PLACE.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    drawn = draw_calibration(calibration, f"{title}: link {place.replace('-', ' ')}, data and fit")
    return style.save(drawn, folder, f"calibration-{place}.png")


def draw_calibration(calibration: Calibration, title: str) -> Figure:
    """Draw times over message size, both logarithmic, and the relative errors of the fit below."""
    drawn = style.figure(9.5, 7.5, title)
    above, below = drawn.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    _draw_times(above, calibration)
    series = [("half round trip", calibration.residuals.one_way, style.COMPUTE, "o")]
    if calibration.residuals.gap:
        series.append(("per message of a stream", calibration.residuals.gap, style.SEND, "s"))
    for label, parts, colour, marker in series:
        _draw_errors(below, label, parts, colour, marker)
    below.axhline(0, color=style.INK, linewidth=1)
    style.finish_axes(below, "message size", "error of the fit", "", grid="both")
    below.yaxis.set_major_formatter(FuncFormatter(lambda error, _: f"{100 * error:+.3g}%" if error else "0%"))
    above.set_title(_finding(calibration), fontsize=style.LABEL, loc="left", color=style.INK)
    handles, labels = above.get_legend_handles_labels()
    style.legend_below(drawn, handles, labels)
    return drawn


def _finding(calibration: Calibration) -> str:
    """Describe the errors of the fit."""
    errors = [*calibration.residuals.one_way, *calibration.residuals.gap]
    if not errors:
        return "no measurements to compare the fit with"
    worst = max(errors, key=lambda each: abs(each.error))
    mean = sum(abs(each.error) for each in errors) / len(errors)
    return f"the fit is {mean:.1%} off on average, at most {abs(worst.error):.1%} (at {format_size(worst.size)})"


def plot_contention(
    measurement: PairMeasurement, judged: Sequence[Judged], machine: Machine, folder: Path, title: str
) -> Path:
    """Draw slowdowns by the number of simultaneous pairs, measured and by the two best models: ``contention.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    drawn = draw_contention(measurement, judged, machine, f"{title}: slowdown of simultaneous messages")
    return style.save(drawn, folder, "contention.png")


def draw_contention(measurement: PairMeasurement, judged: Sequence[Judged], machine: Machine, title: str) -> Figure:
    """Draw slowdowns by the number of simultaneous pairs: a colour per size, a line for each of the two best models."""
    network = machine.network
    experiment = Experiment(network.between_nodes, measurement.nodes, known_ports(machine), network.progress)
    drawn = style.figure(9.5, 5.5, title)
    axes = drawn.subplots()
    slowdowns = measurement.slowdowns()
    sizes = sorted({size for _, size in slowdowns})
    numbers = [1, *sorted({pairs for pairs, _ in slowdowns})]
    lines = [(each, line) for each, line in zip(judged[:2], ("-", ":"), strict=False)]
    for i, (size, colour, marker) in enumerate(zip(sizes, style.colours(len(sizes)), cycle(style.MARKERS))):
        # A message alone has a slowdown of 1; numbers of pairs that were not measured have no point.
        measured = [slowdowns.get((pairs, size), 1.0 if pairs == 1 else np.nan) for pairs in numbers]
        # From the eighth on, colours repeat with hollow markers.
        fill = colour if i < len(style.SERIES) else style.PAPER
        label = f"{format_size(size)}, measured"
        axes.plot(numbers, measured, marker, color=colour, markerfacecolor=fill, label=label)
        for each, line in lines:
            simulated = [experiment.slowdown(each.model.contention, pairs, size) for pairs in numbers]
            axes.plot(numbers, simulated, line, color=colour, linewidth=1.6)
    for each, line in lines:
        axes.plot([], [], line, color=style.INK, linewidth=1.6, label=f"simulated: {each.model.name}")
    style.finish_axes(axes, "pairs at once", "time over time alone", "", grid="both")
    style.counts(axes, numbers)
    style.legend_below(drawn, *axes.get_legend_handles_labels())
    return drawn


def _draw_times(axes: Axes, calibration: Calibration) -> None:
    link, rows = calibration.fitted.link, calibration.measurement.rows
    largest = max(row.size for row in rows)
    # Times jump behind the eager limit; a line between distant sizes would show a slope instead.
    jump = [] if link.eager_limit is None else [link.eager_limit, link.eager_limit + 1]
    sizes = np.unique(np.concatenate(([0.0], np.geomspace(1, max(largest, 2), 160).round(), jump)))
    _points(axes, "half round trip, measured", [(row.size, row.one_way) for row in rows], style.COMPUTE, "o")
    _points(axes, "per message of a stream, measured", [(row.size, row.gap) for row in rows], style.SEND, "s")
    _points(axes, "sender blocked, measured", [(row.size, row.blocked) for row in rows], style.RECEIVE, "^")
    halves = [simulated_one_way(calibration.machine, int(size)) for size in sizes]
    axes.plot(*_line(sizes, halves), color=style.COMPUTE, linewidth=1.6, label="half round trip, fit")
    gaps = calibration.residuals.gap
    if gaps:
        simulated = [each.fitted for each in gaps]
        axes.plot(
            *_line(np.array([each.size for each in gaps], np.float64), simulated),
            color=style.SEND,
            linewidth=1.6,
            label="per message of a stream, fit",
        )
    send = [link.send_delay(size) for size in sizes.tolist()]
    axes.plot(*_line(sizes, send), color=style.RECEIVE, linewidth=1.4, linestyle="--", label="send delay s(m)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    style.finish_axes(axes, "", "time", "", grid="both")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: "0 B" if size <= _EMPTY else format_size(size)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda time, _: format_time(time)))
    axes.minorticks_off()
    if link.eager_limit:
        axes.axvline(
            link.eager_limit,
            color=style.INK,
            linewidth=1,
            linestyle=":",
            label=f"eager up to {format_size(link.eager_limit)}",
        )


def _line(sizes: np.ndarray, times: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the points that can be drawn: an empty message left of the others, no time of 0."""
    drawn = np.asarray(times, np.float64)
    return np.maximum(sizes, _EMPTY), np.where(drawn > 0, drawn, np.nan)


def _points(axes: Axes, label: str, known: Sequence[tuple[int, Estimate | None]], colour: str, marker: str) -> None:
    found = [(max(size, _EMPTY), each) for size, each in known if each is not None and each.value > 0]
    if not found:
        return
    values = np.array([each.value for _, each in found])
    axes.errorbar(
        [size for size, _ in found],
        values,
        yerr=(values - [each.low for _, each in found], [each.high for _, each in found] - values),
        fmt=marker,
        markersize=4.5,
        color=colour,
        elinewidth=1,
        capsize=2,
        label=label,
    )


def _draw_errors(axes: Axes, label: str, parts: Sequence[Residual], colour: str, marker: str) -> None:
    sizes = [max(each.size, _EMPTY) for each in parts]
    axes.plot(sizes, [each.error for each in parts], marker, markersize=4.5, color=colour, label=label)
