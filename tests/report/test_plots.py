"""The pictures: that they are drawn, and that what they show is what they were given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from clue.analysis.scaling import Series, slowest_start, speedups
from clue.errors import OutputError
from clue.report.machine.plot import MOST_PANELS, delays, draw_delays, message_sizes, plot_machine
from clue.report.ranking.breakdown import draw_breakdown, mean_parts, split_panels
from clue.report.ranking.plot import plot_performance, plot_ranking, plot_speedup
from clue.report.ranking.scaling import draw_common_speedup, draw_performance, draw_speedup
from clue.report.ranking.scores import draw_ranking, ordered, score_parts
from clue.report.result.communication import MOST_CELLS, draw_communication, pool
from clue.report.result.plot import plot_result, plot_samples
from clue.report.result.samples import draw_samples
from clue.report.timeline.plot import draw_timeline
from clue.result import SEGMENT, Result, Timeline, Traffic
from clue.uncertainty import Sampled, Sampling, Spread
from tests.report.cases import by_makespan, machine, many_ranks, ranking, result, workload
from tests.report.pictures import bars, points, texts

SCALING = (
    Series("Fast Ethernet", ((1, 8.0), (2, 5.0), (4, 2.5))),
    Series("SCI", ((2, 4.0), (4, 2.0))),
)


def is_picture(path: Path) -> bool:
    """Tell whether a file is a PNG of more than a blank page."""
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 8000


def test_result_is_drawn_with_fixed_names(tmp_path: Path) -> None:
    """A result with timeline and traffic gives two pictures in a folder that need not exist."""
    written = plot_result(result(), tmp_path / "new" / "plots", "a title")
    assert [path.name for path in written] == ["timeline.png", "communication.png"]
    assert all(map(is_picture, written))
    assert sorted(path.name for path in written[0].parent.iterdir()) == ["communication.png", "timeline.png"]


def test_what_was_not_kept_is_not_drawn(tmp_path: Path) -> None:
    """A result without timeline and traffic gives no picture."""
    assert plot_result(replace(result(), timeline=None, traffic=None), tmp_path, "a title") == []


def test_ranking_machine_and_scaling_are_drawn_with_fixed_names(tmp_path: Path) -> None:
    """The other pictures have their names too."""
    written = [
        *plot_ranking(ranking(), tmp_path),
        plot_machine(machine(), tmp_path),
        plot_speedup(SCALING, tmp_path, "Cholesky"),
        plot_performance(SCALING, tmp_path, "Cholesky"),
    ]
    names = ["ranking.png", "breakdown.png", "delays.png", "speedup.png", "performance.png"]
    assert [path.name for path in written] == names
    assert all(map(is_picture, written))


def test_a_ranking_that_simulated_nothing_has_no_breakdown(tmp_path: Path) -> None:
    """Where no option has a position, only the ranking is drawn."""
    nothing = replace(ranking(), entries=ranking().entries[:1])
    assert [path.name for path in plot_ranking(nothing, tmp_path)] == ["ranking.png"]


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """A file in the way of the folder is told in one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"delays\.png: output must be writable"):
        plot_machine(machine(), tmp_path / "file" / "plots")


def test_nothing_half_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk leaves neither a picture nor a part of one, and what was there before."""
    (tmp_path / "delays.png").write_text("before")

    def fail(_drawn: Figure, path: Path, **_options: object) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OutputError, match=r"delays\.png: output must be writable, got: No space left"):
        plot_machine(machine(), tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


@pytest.mark.parametrize("ranks", [1, 2, 12, 200])
def test_timeline_and_matrix_of_any_size(ranks: int) -> None:
    """Pictures of few and of many ranks are drawn without a warning, within a page."""
    many = many_ranks(ranks)
    assert many.traffic is not None
    for drawn in (draw_timeline(many, "a title"), draw_communication(many.traffic, "a title")):
        drawn.canvas.draw()
        assert max(drawn.get_size_inches()) <= 12
    for axis in (drawn.axes[0].xaxis, drawn.axes[0].yaxis):
        assert all(tick == int(tick) for tick in axis.get_majorticklocs())


def test_a_program_that_takes_no_time_is_drawn() -> None:
    """Neither a makespan of 0 nor the absence of messages is a fault."""
    ranks = tuple(replace(rank, finish=0.0, compute=0.0, communicate=0.0, wait=0.0) for rank in result().ranks)
    nothing = Result(0.0, "reference", ranks, timeline=Timeline(np.zeros(0, SEGMENT), ("",)))
    draw_timeline(nothing, "nothing").canvas.draw()
    draw_communication(Traffic(np.zeros((2, 2), np.int64), np.zeros((2, 2), np.int64)), "nothing").canvas.draw()


def test_communication_matrix_shows_the_bytes() -> None:
    """The picture's data are the bytes, sender by row, with the whole in the title."""
    nbytes = np.array([[0, 1000, 0], [20, 0, 300], [0, 0, 0]])
    drawn = draw_communication(Traffic(np.sign(nbytes), nbytes), "a title")
    matrix = drawn.axes[0].images[0].get_array()
    assert matrix is not None
    np.testing.assert_array_equal(np.ma.filled(matrix, 0), nbytes)
    assert {"3 ranks, 1.32 KB in 3 messages; most from rank 0 to 1: 1 KB", "1 KB", "20 B", "300 B"} <= set(texts(drawn))


def test_communication_totals_are_the_sums() -> None:
    """The bars at the edges are what each rank received and sent."""
    nbytes = np.array([[0, 1000], [20, 0]])
    drawn = draw_communication(Traffic(np.sign(nbytes), nbytes), "a title")
    received, sent = drawn.axes[1], drawn.axes[2]
    assert [bar.get_height() for bar in bars(received)] == [20, 1000]
    assert [bar.get_width() for bar in bars(sent)] == [1000, 20]


def test_pooling_keeps_all_bytes() -> None:
    """More ranks than cells are added up, none is lost."""
    nbytes = np.arange(1300.0 * 1300).reshape(1300, 1300)
    pooled = pool(nbytes)
    assert max(pooled.shape) <= MOST_CELLS
    assert pooled.sum() == nbytes.sum()
    assert pool(nbytes[:5, :5]).tolist() == nbytes[:5, :5].tolist()


def test_parts_of_a_makespan_add_up() -> None:
    """Two turns of 4 s: the mean rank computes 1.5 s and communicates 0.5 s a turn, and waits for the rest."""
    assert mean_parts(workload("large").components[0]) == (3.0, 1.0, 4.0)


def test_stacked_bars_add_up_to_the_makespan() -> None:
    """In the picture the three parts of each bar are as long as its makespan."""
    drawn = draw_breakdown(ranking())
    for axes in drawn.axes[:3]:
        widths = np.array([bar.get_width() for bar in bars(axes)]).reshape(3, 2)
        np.testing.assert_allclose(widths.sum(axis=0), 8.0)


def test_breakdown_has_a_panel_for_each_kernel() -> None:
    """A workload of several kernels has a panel for each; bars are in the order of the ranking."""
    panels = list(split_panels(ranking()))
    assert [name for name, _ in panels] == ["small", "large: cholesky", "large: reduce"]
    assert all([bar.option for bar in bars] == ["Cheap", "Fine"] for _, bars in panels)


def test_ranking_picture_is_in_order_and_tells_reasons() -> None:
    """Options stand by position; those without one come last with the reason."""
    assert [each.option for each in ordered(ranking())] == ["Cheap", "Fine", "Small", "Gold"]
    shown = texts(draw_ranking(ranking()))
    wanted = {"1.  Cheap", "2.  Fine", "195.0", "83.0", "large: a rank needs 900 MB", "costs more than the budget"}
    assert wanted <= set(shown)
    assert {"295,000 ATS", "no price stated", "price; budget 300,000 ATS (dashed)"} <= set(shown)


def test_scores_are_split_by_workload_where_points_add_up() -> None:
    """Bars are stacked by workload only if that says the truth about the score."""
    parts = score_parts(ranking(), ordered(ranking()))
    assert parts == {"small": [48.75, 20.75, 0.0, 0.0], "large": [146.25, 62.25, 0.0, 0.0]}
    assert score_parts(by_makespan(), ordered(by_makespan())) == {"": [8.0, 9.0]}


def test_names_are_not_mathematics() -> None:
    """Dollar signs in names are drawn as such."""
    shown = texts(draw_ranking(by_makespan()))
    assert any("a $trange $ second" in text for text in shown)
    draw_breakdown(by_makespan()).canvas.draw()


def test_delays_are_those_of_the_curves() -> None:
    """Send, transmission and their sum with the receive delay, at a size read off the machine by hand."""
    link = machine().network.between_nodes
    np.testing.assert_allclose(delays(link, np.array([1000.0]))[:, 0], [11e-6, 50e-6, 66e-6])


def test_delay_sizes_include_the_points_of_the_curves() -> None:
    """No corner of a curve falls between two sizes."""
    sizes = message_sizes([machine().network.between_nodes])
    assert {1.0, 1000.0, 1_000_000.0} <= set(sizes.tolist())
    assert (np.diff(sizes) > 0).all()


def test_delays_have_a_panel_for_each_link_and_mark_the_eager_limit() -> None:
    """Five links: between and within nodes, a pair, a type with itself, and within that type."""
    drawn = draw_delays(machine())
    titles = [axes.get_title(loc="left") for axes in drawn.axes]
    assert [title.split("\n")[0] for title in titles[:5]] == [
        "between nodes", "within a node", "big – pc", "big – big", "within big"
    ]  # fmt: skip
    assert titles[0].endswith("an empty message takes 55 us, 1 MB 10.01 ms")
    assert "eager up to\n64 KB" in texts(drawn)


def test_delays_of_very_many_pairs_are_cut() -> None:
    """The first links are drawn, and the title says how many there are."""
    link = machine().network.within_node
    within = {f"type {i}": link for i in range(20)}
    drawn = draw_delays(replace(machine(), network=replace(machine().network, pairs={}, within=within)))
    assert len(drawn.axes) == MOST_PANELS
    assert any(text.endswith("(the first 12 of 22 links)") for text in texts(drawn))


def test_speedup_counts_from_the_fewest_processors() -> None:
    """Speed-up is against one processor, or against the fewest measured, taken as ideal."""
    assert speedups(SCALING[0]) == [(1, 1.0), (2, 1.6), (4, 3.2)]
    assert speedups(SCALING[1]) == [(2, 2.0), (4, 4.0)]


def test_speedup_has_an_ideal_line_and_one_per_machine() -> None:
    """The legend names every machine; the ideal line goes from 1 to the most processors."""
    drawn = draw_speedup(SCALING, "Cholesky")
    assert {"Fast Ethernet", "SCI"} <= set(texts(drawn))
    assert "dashed: ideal, n times as fast on n times as many processors" in drawn.axes[0].get_title(loc="left")
    first, *_, ideal = drawn.axes[0].lines
    np.testing.assert_array_equal(first.get_ydata(), [1.0, 1.6, 3.2])
    np.testing.assert_array_equal(ideal.get_xydata(), [(1, 1), (4, 4)])


@pytest.mark.parametrize(("speed", "unit"), [(5e9, "Mflop/s"), (5e10, "Gflop/s")])
def test_performance_is_in_a_fitting_unit(speed: float, unit: str) -> None:
    """The paper's speeds are in Mflop/s, those of today in Gflop/s."""
    assert f"performance ({unit})" in texts(draw_performance([Series("a", ((1, speed),))], "Cholesky"))


def test_speedup_of_a_ranking_is_over_one_start_for_all() -> None:
    """Among the series that start at the fewest processors, the slowest there is what all are measured against."""
    slow, fast, late = Series("slow", ((1, 8.0), (2, 4.0))), Series("fast", ((1, 4.0),)), Series("late", ((4, 9.0),))
    assert slowest_start([late, fast, slow]) is slow
    (axes,) = draw_common_speedup([slow, fast, late], "").axes
    lines = {line.get_label(): [y for _, y in points(line)] for line in axes.get_lines()}
    assert (lines["slow"], lines["fast"], lines["late"]) == ([1.0, 2.0], [2.0], [8 / 9])
    assert axes.get_title(loc="left").startswith("1 is the speed of slow on one processor\n")
    ideals = [points(line) for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert ideals == [[[1, 1], [2, 2]], [[1, 2], [1, 2]]]


def test_intervals_and_probabilities_are_drawn_beside_scores() -> None:
    """An error bar from end to end for each option that has one, and in how many samples it is the best."""
    spread = Spread(90.0, 95.0, 100.0)
    entries = tuple(replace(each, spread=spread, best=0.25) if each.score else each for each in ranking().entries)
    drawn = draw_ranking(replace(ranking(), entries=entries, sampling=Sampling(10)))
    scores = drawn.axes[0]
    ends = {tuple(x for x, _ in points(line)) for line in scores.get_lines()}
    assert ends == {(90.0, 100.0)}
    assert sum("best in 25%" in each.get_text() for each in scores.texts) == 2


def test_samples_are_counted_and_their_interval_is_marked(tmp_path: Path) -> None:
    """All 101 samples are in bars; the interval of 3.6 to 4.4 s and the makespan of 3.8 s are in the words above."""
    sampled = Sampled(Sampling(101), np.linspace(3.5, 4.5, 101), 3.8)
    (axes,) = draw_samples(sampled, "a $title$").axes
    assert sum(bar.get_height() for bar in bars(axes) if bar.get_width() < 0.5) == 101
    assert axes.get_title(loc="left") == (
        "80% of 101 samples lie within 3.6–4.4 s (grey); without noise (dashed): 3.8 s"
    )
    assert plot_samples(sampled, tmp_path, "title") == tmp_path / "samples.png"


def test_samples_that_are_all_the_same_are_drawn() -> None:
    """No width is no fault."""
    draw_samples(Sampled(Sampling(1), np.array([2.0]), 2.0), "one")
