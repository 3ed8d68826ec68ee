"""The study's plot: errors by length of skeletons, and predicted against measured slowdowns."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from benchmarks.accuracy.skeletons.cases import SCENARIOS
from benchmarks.accuracy.skeletons.figures import AVERAGE, CLASS_S, Board, by_predictor, by_program
from benchmarks.accuracy.skeletons.tables import Results

_MARKERS = "osD^v"


def draw(file: Path, results: Results) -> None:
    """Draw the results into a file (SVG)."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    _errors(left, results)
    _slowdowns(right, results)
    with mpl.rc_context({"svg.hashsalt": "skeletons", "svg.fonttype": "none"}):
        figure.savefig(file, metadata={"Date": None})


def _errors(axes: Axes, results: Results) -> None:
    """Draw the mean error of each program by skeleton length, with hollow markers for flagged skeletons."""
    board = results.board
    wanted = {name: facts.seconds for (_, name), facts in results.skeletons.items()}
    for number, program in enumerate(results.programs):
        points = [
            (wanted[name], error, facts.good)
            for name in results.lengths
            if (facts := results.skeletons.get((program, name))) is not None
            and (error := board.mean(by_program(program), by_predictor(name))) is not None
        ]
        colour = f"C{number}"
        axes.plot([x for x, *_ in points], [y for _, y, _ in points], color=colour, linewidth=1, label=program)
        for x, y, good in points:
            axes.plot(x, y, "o", color=colour, markerfacecolor=colour if good else "none")
    _mean_line(axes, board, wanted)
    for rival, style in ((CLASS_S, ":"), (AVERAGE, "--")):
        error = board.mean(by_predictor(rival))
        if error is not None:
            axes.axhline(error, color="grey", linestyle=style, label=rival)
    axes.set_xscale("log")
    axes.set_xticks(sorted(wanted.values()), [f"{seconds:g}" for seconds in sorted(wanted.values())])
    axes.minorticks_off()
    axes.set_xlabel("length of the skeleton, s (hollow: flagged)")
    axes.set_ylabel("mean error over the scenarios")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")


def _mean_line(axes: Axes, board: Board, wanted: dict[str, float]) -> None:
    means = sorted((seconds, board.mean(by_predictor(name))) for name, seconds in wanted.items())
    known = [(x, y) for x, y in means if y is not None]
    axes.plot([x for x, _ in known], [y for _, y in known], color="black", linewidth=2.5, label="all")


def _slowdowns(axes: Axes, results: Results) -> None:
    """Draw predicted over measured slowdowns: skeletons in the colours of their programs, the small class in grey."""
    for marker, scenario in zip(_MARKERS, SCENARIOS, strict=True):
        for each in results.predictions:
            if each.scenario == scenario.name and each.predictor != AVERAGE:
                colour = f"C{results.programs.index(each.program)}" if each.by_skeleton else "lightgrey"
                filled = "none" if each.flagged else colour
                axes.plot(
                    each.measured / each.dedicated, each.predicted / each.dedicated, marker, color=colour,
                    markerfacecolor=filled, markersize=5,
                )  # fmt: skip
        axes.plot([], [], marker, color="black", markerfacecolor="none", label=scenario.words)
    most = max((max(each.measured, each.predicted) / each.dedicated for each in results.predictions), default=1.0)
    axes.plot([1, most], [1, most], color="black", linewidth=0.8)
    axes.set_xlabel("measured slowdown")
    axes.set_ylabel("predicted slowdown (grey: class S)")
    axes.legend(fontsize="small")
