"""Pictures of a ranking: scores, parts of makespans, speed-ups."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clue.analysis.scaling import Series, scaling_of, slowest_start, speedups
from clue.predict.prediction import Prediction
from clue.purchase import WorkloadOutcome
from clue.report.ranking.breakdown import added_parts, draw_breakdown, mean_parts, split_panels
from clue.report.ranking.plot import plot_ranking
from clue.report.ranking.scaling import draw_common_speedup, draw_performance, fastest
from clue.report.ranking.scores import draw_ranking, ordered, score_parts
from clue.uncertainty import Sampling, Spread
from clue.units import Money
from tests.report.cases import SCALING, by_makespan, entry, ranking, workload
from tests.report.pictures import bars, points, texts


def test_a_ranking_that_simulated_nothing_has_no_breakdown(tmp_path: Path) -> None:
    """Without an option that has a position, only the ranking is drawn."""
    nothing = replace(ranking(), entries=ranking().entries[:1])
    assert [path.name for path in plot_ranking(nothing, tmp_path)] == ["ranking.png"]


def test_parts_of_a_makespan_add_up() -> None:
    """Two turns of 4 s: per turn, the mean rank computes 1.5 s, communicates 0.5 s and waits for the rest."""
    assert mean_parts(workload("large").components[0]) == (3.0, 1.0, 4.0)


def by_skeleton(outcome: WorkloadOutcome) -> WorkloadOutcome:
    """Return an outcome whose kernels were not simulated: each turn takes 4 s by a skeleton."""
    made = Prediction(4.0, "skeleton", simulated=False)
    return replace(outcome, components=tuple(replace(each, prediction=made) for each in outcome.components))


def test_a_time_that_is_not_simulated_is_not_waiting() -> None:
    """Of a skeleton only the makespan is known, 8 s here, which is drawn as such beside 3 + 1 + 4 s of a simulation."""
    known, unknown = workload("large").components[0], by_skeleton(workload("large")).components[0]
    assert mean_parts(unknown) is None
    assert added_parts([known, unknown]) == (3.0, 1.0, 4.0, 8.0)
    assert added_parts([replace(known, prediction=None)]) == (0.0, 0.0, 0.0, 8.0)
    fine, cheap = ranking().entries[1], ranking().entries[3]
    cheap = replace(cheap, workloads=(by_skeleton(cheap.workloads[0]), cheap.workloads[1]))
    drawn = draw_breakdown(replace(ranking(), entries=(fine, cheap)))
    widths = np.array([bar.get_width() for bar in bars(drawn.axes[0])]).reshape(4, 2)
    np.testing.assert_allclose(widths.T, [[0.0, 0.0, 0.0, 8.0], [3.0, 1.0, 4.0, 0.0]])
    assert "not simulated" in texts(drawn)
    assert "not simulated" not in texts(draw_breakdown(ranking()))


def test_stacked_bars_add_up_to_the_makespan() -> None:
    """The three parts of each bar add up to its makespan."""
    drawn = draw_breakdown(ranking())
    for axes in drawn.axes[:3]:
        widths = np.array([bar.get_width() for bar in bars(axes)]).reshape(3, 2)
        np.testing.assert_allclose(widths.sum(axis=0), 8.0)


def test_breakdown_has_a_panel_for_each_kernel() -> None:
    """A workload of several kernels has a panel per kernel; bars follow the order of the ranking."""
    panels = list(split_panels(ranking()))
    assert [name for name, _ in panels] == ["small", "large: cholesky", "large: reduce"]
    assert all([bar.option for bar in bars] == ["Cheap", "Fine"] for _, bars in panels)


def test_ranking_picture_is_in_order_and_tells_reasons() -> None:
    """Options are in the order of their positions; those without a position come last, with the reason."""
    assert [each.option for each in ordered(ranking())] == ["Cheap", "Fine", "Small", "Gold"]
    shown = texts(draw_ranking(ranking()))
    wanted = {"1.  Cheap", "2.  Fine", "195.0", "83.0", "large: a rank needs 900 MB", "costs more than the budget"}
    assert wanted <= set(shown)
    assert {"295,000 ATS", "no price stated", "price; budget 300,000 ATS (dashed)"} <= set(shown)


def test_scores_are_split_by_workload_where_points_add_up() -> None:
    """Bars are stacked by workload only for points, which add up to the score."""
    parts = score_parts(ranking(), ordered(ranking()))
    assert parts == {"small": [48.75, 20.75, 0.0, 0.0], "large": [146.25, 62.25, 0.0, 0.0]}
    assert score_parts(by_makespan(), ordered(by_makespan())) == {"": [8.0, 9.0]}


def test_names_are_not_mathematics() -> None:
    """Dollar signs in names are drawn literally."""
    shown = texts(draw_ranking(by_makespan()))
    assert any("a $trange $ second" in text for text in shown)
    draw_breakdown(by_makespan()).canvas.draw()


def test_speedup_counts_from_the_fewest_processors() -> None:
    """The speed-up is relative to one processor, or to the fewest measured, which count as ideal."""
    assert speedups(SCALING[0]) == [(1, 1.0), (2, 1.6), (4, 3.2)]
    assert speedups(SCALING[1]) == [(2, 2.0), (4, 4.0)]


def test_speedups_are_those_of_the_fastest_placements() -> None:
    """Two placements of 2 ranks take 6 and 5 s: 5 s counts, and an option that tried no other number has no curve.

    Times by a skeleton have no parts that could explain a curve.
    """

    def ran(ranks: int, makespan: float) -> WorkloadOutcome:
        return replace(workload("solver", None), ranks=ranks, makespan=makespan, turns=1)

    fine, cheap = ranking().entries[1], ranking().entries[3]
    several = replace(fine, tried=(ran(1, 8.0), ran(2, 6.0), ran(2, 5.0), ran(4, 3.0)))
    alone = replace(cheap, tried=(ran(2, 6.0), ran(2, 5.0)))
    (series,) = scaling_of(replace(ranking(), entries=(several, alone)))["solver"]
    assert (series.name, series.points) == ("Fine", ((1, 8.0), (2, 5.0), (4, 3.0)))
    assert len(series.costs) == 3
    measured = replace(fine, tried=(by_skeleton(ran(1, 8.0)), by_skeleton(ran(2, 3.0))))
    (series,) = scaling_of(replace(ranking(), entries=(measured,)))["solver"]
    assert (series.points, series.costs) == (((1, 8.0), (2, 3.0)), ())


def test_speedups_of_a_ranking_are_over_ranks() -> None:
    """4 ranks may be two on each of two processors: the picture and its title say ranks, not processors."""
    ran = replace(workload("solver", None), ranks=2, makespan=6.0, turns=1)
    tried = (ran, replace(ran, ranks=4, makespan=5.0))
    (series,) = scaling_of(replace(ranking(), entries=(replace(ranking().entries[1], tried=tried),)))["solver"]
    assert fastest([series]) == "fastest on Fine, 4 ranks (5 s)"
    (axes,) = draw_common_speedup([series], "").axes
    assert axes.get_xlabel() == "ranks"
    told = " ".join(axes.get_title(loc="left").split())
    assert told.startswith("2 is the speed of Fine on 2 ranks, taken as 2 times as fast as one")
    assert told.endswith("dashed: ideal, n times as fast on n times as many ranks")


@pytest.mark.parametrize(("speed", "unit"), [(5e9, "Mflop/s"), (5e10, "Gflop/s")])
def test_performance_is_in_a_fitting_unit(speed: float, unit: str) -> None:
    """Speeds of 5 Gflop/s are shown in Mflop/s, ten times higher ones in Gflop/s."""
    assert f"performance ({unit})" in texts(draw_performance([Series("a", ((1, speed),))], "Cholesky"))


def test_speedup_of_a_ranking_is_over_one_start_for_all() -> None:
    """All series are relative to one reference: the slowest of those that start at the fewest processors."""
    slow, fast, late = Series("slow", ((1, 8.0), (2, 4.0))), Series("fast", ((1, 4.0),)), Series("late", ((4, 9.0),))
    assert slowest_start([late, fast, slow]) is slow
    (axes,) = draw_common_speedup([slow, fast, late], "").axes
    lines = {line.get_label(): [y for _, y in points(line)] for line in axes.get_lines()}
    assert (lines["slow"], lines["fast"], lines["late"]) == ([1.0, 2.0], [2.0], [8 / 9])
    assert axes.get_title(loc="left").startswith("1 is the speed of slow on one processor\n")
    ideals = [points(line) for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert ideals == [[[1, 1], [2, 2]], [[1, 2], [1, 2]]]


def test_intervals_and_probabilities_are_drawn_beside_scores() -> None:
    """Each option with an interval has an error bar from end to end, and the share of samples in which it is best."""
    spread = Spread(90.0, 95.0, 100.0)
    entries = tuple(replace(each, spread=spread, best=0.25) if each.score else each for each in ranking().entries)
    drawn = draw_ranking(replace(ranking(), entries=entries, sampling=Sampling(10)))
    scores = drawn.axes[0]
    ends = {tuple(x for x, _ in points(line)) for line in scores.get_lines()}
    assert ends == {(90.0, 100.0)}
    assert sum("best in 25%" in each.get_text() for each in scores.texts) == 2


def test_an_interrupted_ranking_does_not_say_who_comes_first_of_all() -> None:
    """The title is about the simulated options only, unless the first position is certain; the others are counted."""
    missing = replace(ranking().entries[2], bound=200.0, reason="not simulated")
    open_ = replace(ranking(), entries=(*ranking().entries, missing), interrupted=True)
    drawn = draw_ranking(open_)
    title = " ".join(drawn.get_suptitle().split())
    assert title == "which-cluster: interrupted; of 2 simulated options, Cheap comes first with 195.0 points"
    assert drawn.axes[0].get_xlabel().endswith("\nnot drawn: 1 not simulated")
    certain = " ".join(draw_ranking(replace(open_, certain=1)).get_suptitle().split())
    assert certain == "which-cluster: Cheap comes first with 195.0 points"


def test_a_price_that_is_not_stated_has_no_ground_like_a_bar() -> None:
    """A ground of the bars' colour belongs to the figure on a hatched bar; elsewhere it would look like a price."""
    unknown = replace(entry("Unknown", 3, 10.0, 1.0), price=None, affordable=None, position=None, score=None)
    prices = draw_ranking(replace(ranking(), entries=(*ranking().entries, unknown))).axes[1]
    grounds = {text.get_text(): text.get_bbox_patch() is not None for text in prices.texts}
    assert grounds == {"295,000 ATS": False, "298,500 ATS": False, "no price stated": False, "500,000 ATS": True}


@pytest.mark.parametrize(("dearest", "behind"), [(400_000.0, False), (9e6, True)])
def test_the_line_of_the_budget_does_not_cross_prices(dearest: float, behind: bool) -> None:
    """Where the budget is a small part of the highest price, prices stand behind its line."""
    gold, *others = ranking().entries
    entries = (replace(gold, price=Money(dearest, "ATS")), *others)
    drawn = draw_ranking(replace(ranking(), entries=entries))
    drawn.draw_without_rendering()
    prices = drawn.axes[1]
    line = prices.lines[0].get_window_extent().x0
    ends = [(text.get_window_extent().x0, text.get_window_extent().x1) for text in prices.texts]
    assert all(begin > line if behind else end < line for begin, end in ends)


def test_prices_in_several_currencies_have_no_common_axis() -> None:
    """Prices in two currencies are written, but not drawn as bars; those in one currency are."""
    fine, cheap = ranking().entries[1], ranking().entries[3]
    other = replace(fine, price=Money(1000.0, "EUR"))
    for entries, lengths, label in (
        ((cheap, fine), [295_000.0, 298_500.5], "price (ATS)"),
        ((cheap, other), [0.0, 0.0], "price"),
    ):
        prices = draw_ranking(replace(ranking(), budget=None, entries=entries)).axes[1]
        assert ([bar.get_width() for bar in bars(prices)], prices.get_xlabel()) == (lengths, label)
        assert "295,000 ATS" in {text.get_text() for text in prices.texts}
