"""Pictures are drawn for their inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clue.calibration.measurement import Estimate, Measurement, SizeRow
from clue.calibration.network import calibrate_within
from clue.models import Method, Run, Use, fit_cluster
from clue.models.model import Model
from clue.report.calibration.plot import draw_calibration
from clue.report.machine.plot import plot_machine
from clue.report.model.plot import draw_model
from clue.report.ranking.plot import plot_ranking
from clue.report.result.communication import draw_communication
from clue.report.shared import style
from clue.report.timeline.plot import draw_timeline
from clue.result import SEGMENT, Result, Timeline, Traffic
from tests.report.cases import machine, many_ranks, ranking, result
from tests.report.pictures import is_picture, points, texts


@pytest.mark.long
def test_ranking_and_machine_are_drawn_with_fixed_names(tmp_path: Path) -> None:
    """The pictures of rankings and machines have fixed file names."""
    written = [
        *plot_ranking(ranking(), tmp_path),
        plot_machine(machine(), tmp_path),
    ]
    names = ["ranking.png", "breakdown.png", "delays.png"]
    assert [path.name for path in written] == names
    assert all(map(is_picture, written))


def test_a_picture_of_a_model_counts_the_runs_that_it_leaves_out() -> None:
    """Five runs on a slow processor have a model; one on a slow and a fast one has none, and is not drawn."""
    alone = [Run(size, {"slow": Use(1)}, size / 100) for size in (100.0, 200.0, 400.0, 800.0, 1600.0)]
    mixed = Run(400.0, {"slow": Use(1), "fast": Use(1)}, 2.0)
    for runs, told in ((alone, "All 5 runs"), ([*alone, mixed], "5 of 6 runs\n(others have no model, ")):
        model = Model("m", "nt", False, "runs.csv", "2026-12-01", tuple(runs), fit_cluster(runs, Method("nt")))
        assert any(text.startswith(told) for text in texts(draw_model(model)))


def test_the_axes_of_a_model_have_figures_in_their_units() -> None:
    """Of sizes 100 to 1600 and times up to 40 min, both axes have several round figures; times have their units."""
    runs = tuple(Run(size, {"slow": Use(1)}, 1.5 * size) for size in (100.0, 200.0, 400.0, 800.0, 1600.0))
    curves = draw_model(Model("m", "nt", False, "r.csv", "2026-12-01", runs, fit_cluster(runs, Method("nt")))).axes[0]
    sizes, times = ([tick.get_text() for tick in axis.get_ticklabels()] for axis in (curves.xaxis, curves.yaxis))
    assert {"100", "200", "500", "1,000"} <= set(sizes)
    assert {"200 s", "500 s", "20 min"} <= set(times) and curves.get_ylabel() == "time"


def test_a_short_logarithmic_axis_has_figures() -> None:
    """Between 2,100 and 2,900 there is none of 1, 2, 3, 5 and 7 times a power of ten."""
    axes = style.figure(4.0, 3.0, "short").subplots()
    axes.set(xscale="log", xlim=(2100.0, 2900.0))
    style.log_numbers(axes.xaxis)
    shown = [tick.get_text() for tick in axes.xaxis.get_ticklabels()]
    assert {"2,200", "2,400", "2,600", "2,800"} <= set(shown)


def test_a_picture_of_a_link_within_a_node_has_the_fit_that_is_judged() -> None:
    """Memory copies 8 GB/s, less than the 10 GB/s of one message measured: on the node 1 MiB takes 1 us + 131 us."""
    rows = [
        SizeRow(size, Estimate.alone(1e-6 + size * 1e-10), gap=Estimate.alone(size * 1e-10))
        for size in (1 << k for k in range(21))
    ]
    four = SizeRow(1 << 20, gap=Estimate.alone((1 << 20) / 8e9), pairs=4)
    within = calibrate_within(Measurement(tuple(rows), hosts=("a", "a"), shared=(four,)))
    lines = draw_calibration(within, "a title").axes[0].get_lines()
    (fit,) = [line for line in lines if line.get_label() == "half round trip, fit"]
    assert points(fit)[-1] == pytest.approx([1 << 20, 1e-6 + (1 << 20) / 8e9], rel=0.03)


@pytest.mark.parametrize("ranks", [1, 2, pytest.param(12, marks=pytest.mark.long), 200])
def test_timeline_and_matrix_of_any_size(ranks: int) -> None:
    """Pictures of few and many ranks are drawn without a warning, within a page."""
    many = many_ranks(ranks)
    assert many.traffic is not None
    for drawn in (draw_timeline(many, "a title"), draw_communication(many.traffic, "a title")):
        drawn.canvas.draw()
        assert max(drawn.get_size_inches()) <= 12
    for axis in (drawn.axes[0].xaxis, drawn.axes[0].yaxis):
        assert all(tick == int(tick) for tick in axis.get_majorticklocs())


def test_a_program_that_takes_no_time_is_drawn() -> None:
    """A makespan of 0 and the absence of messages can be drawn."""
    ranks = tuple(replace(rank, finish=0.0, compute=0.0, communicate=0.0, wait=0.0) for rank in result().ranks)
    nothing = Result(0.0, "reference", ranks, timeline=Timeline(np.zeros(0, SEGMENT), ("",)))
    draw_timeline(nothing, "nothing").canvas.draw()
    draw_communication(Traffic(np.zeros((2, 2), np.int64), np.zeros((2, 2), np.int64)), "nothing").canvas.draw()
