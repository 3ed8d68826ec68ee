"""Figures of a validation, computed by hand: errors, order of machines, regret; and their words and pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from clue.machine import Parameter
from clue.report.validation.plot import draw_validation, plot_validation
from clue.report.validation.words import change, verdict
from clue.uncertainty import Character, Spread
from clue.validation import Compared, Order, Refit, Unchangeable, Validation
from clue.validation.figures import kendall_tau, mean_absolute_error, orders, percentile
from tests.report.pictures import bars, texts
from tests.validation.cases import in_turn, machine, measured

CASE = measured(in_turn(1, 1e-3, 8), machine(2), machine(2))


def compared(predicted: float, *runs: float, program: str = "p", size: str = "", on: str = "m") -> Compared:
    """Return a comparison of a predicted time with runs."""
    return Compared(replace(CASE, program=program, size=size, machine=on, runs=runs), predicted, Character(0.0, 0.0))


def test_median_spread_and_error() -> None:
    """Runs of 1, 2 and 5 s have the median 2 s and a spread of 2 s; a prediction of 1.5 s is 25 % too short."""
    each = compared(1.5, 5.0, 1.0, 2.0)
    assert (each.case.measured, each.case.spread, each.error) == (2.0, 2.0, -0.25)
    assert each.covered is None
    assert replace(each, interval=Spread(1.0, 1.5, 2.0)).covered == pytest.approx(2 / 3)


def test_single_run_has_the_spread_that_is_stated() -> None:
    """A single run has no spread, unless one is stated."""
    assert compared(1.0, 2.0).case.spread is None
    assert replace(CASE, runs=(2.0,), stated_spread=0.25).spread == 0.25


def test_mean_absolute_error() -> None:
    """Errors of -50 % and +50 % have a mean absolute error of 50 %."""
    assert mean_absolute_error([compared(1.0, 2.0), compared(3.0, 2.0)]) == 0.5


@pytest.mark.parametrize(("count", "expected"), [(1, 1.0), (2, 2.0), (9, 9.0), (10, 9.0), (11, 10.0), (20, 18.0)])
def test_percentile_is_the_smallest_value_that_nine_of_ten_do_not_exceed(count: int, expected: float) -> None:
    """The 90th percentile is the smallest value that 90 % do not exceed: of 1 to 10 it is 9."""
    assert percentile([float(each) for each in range(count, 0, -1)], 0.9) == expected


def test_order_of_machines_and_regret() -> None:
    """Predicted a < b < c, measured b < a < c: two of three pairs agree, and a takes 3 s where b takes 2 s."""
    cases = [compared(1.0, 3.0, on="a"), compared(2.0, 2.0, on="b"), compared(3.0, 4.0, on="c")]
    other = [compared(1.0, 1.0, program="q", on="a"), compared(1.0, 1.0, size="large")]
    (found,) = orders([*cases, *other])
    assert replace(found, tau=None, regret=0.0) == Order("p", "", 3, None, "a, 2 ranks", "b, 2 ranks", 0.0)
    assert (found.tau, found.regret) == (pytest.approx(1 / 3), pytest.approx(0.5))


def test_the_order_of_rows_does_not_decide_between_equal_predictions() -> None:
    """Of two machines predicted alike, measured 2 and 3 s, the prediction may choose either: the regret is 3 / 2 - 1.

    If both are measured alike, the chosen one is a best one.
    """
    cases = [compared(1.0, 2.0, on="a"), compared(1.0, 3.0, on="b"), compared(2.0, 4.0, on="c")]
    for rows in (cases, cases[::-1]):
        (found,) = orders(rows)
        assert (found.chosen, found.best, found.regret) == ("b, 2 ranks", "a, 2 ranks", 0.5)
    alike = [compared(2.0, 3.0, on="a"), compared(1.0, 3.0, on="b")]
    for rows in (alike, alike[::-1]):
        (found,) = orders(rows)
        assert (found.chosen, found.best, found.regret) == ("b, 2 ranks", "b, 2 ranks", 0.0)


def test_tau_of_all_ties_is_none() -> None:
    """If all predictions are equal, Kendall's tau is undefined."""
    assert kendall_tau([(1.0, 1.0), (1.0, 2.0)]) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_tau_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    """Kendall's tau-b equals scipy's."""
    found = kendall_tau(pairs)
    if found is None:
        assert len({x for x, _ in pairs}) == 1 or len({y for _, y in pairs}) == 1
    else:
        assert found == pytest.approx(kendalltau(*zip(*pairs, strict=True)).statistic, abs=1e-12)


# --- words -----------------------------------------------------------------------------------------------------------


def refit(kind: str, multiplier: float, left: float, *, of: str = "", effect: float = 0.05, **more: object) -> Refit:
    """Return a refit of a parameter."""
    parameter = Parameter(kind, lambda machine, _: machine, of)
    explains, rival = bool(more.get("explains", False)), bool(more.get("rival", False))
    span = more.get("range")
    assert span is None or isinstance(span, tuple)
    at_limit = bool(more.get("at_limit", False))
    reach = 10 * effect
    return Refit(parameter, multiplier, span, (1.0,), left, effect, reach, reach > 0.01, at_limit, explains, rival)


def validation(*refits: Refit, **more: object) -> Validation:
    """Return a validation of two cases whose predictions are 20 % too short."""
    cases = (compared(0.8, 0.99, 1.0, 1.01, on="a"), compared(1.6, 1.98, 2.0, 2.02, on="b", program="q"))
    plain = Validation(cases, 0.2, 0.2, 0.2, 0.01, orders(cases), refits, (), ())
    return replace(plain, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "of", "multiplier", "expected"),
    [
        ("computation", "", 1.08, "computation taking 8.0% longer"),
        ("computation", "fast", 0.75, "computation on fast taking 25% less time"),
        ("computation", "", 2.5, "computation taking 2.5 times as long"),
        ("latency", "", 1.5, "latency 50% higher"),
        ("bandwidth", "within nodes", 0.8, "bandwidth within nodes 20% lower"),
        ("contention", "", 3.0, "contention 3 times as strong"),
        ("contention", "", 1.0001, "contention unchanged"),
    ],
)
def test_multipliers_in_words(kind: str, of: str, multiplier: float, expected: str) -> None:
    """Multipliers of parameters are described in words."""
    assert change(refit(kind, multiplier, 0.0, of=of)) == expected


def test_verdict_names_what_explains_and_what_cannot() -> None:
    """The verdict names the parameter that explains the error, and tells why the others do not."""
    found = list(
        verdict(
            validation(
                refit("computation", 1.25, 0.03, explains=True, rival=True, range=(1.2, 1.3)),
                refit("latency", 8.0, 0.15, at_limit=True),
                refit("bandwidth", 1.0, 0.2),
                refit("contention", 1.0, 0.2, effect=0.0),
            )
        )
    )
    assert found == [
        "The mean absolute error of 2 cases is 20%: predictions are too short in all cases.",
        "With computation taking 25% longer the error falls from 20% to 3.0% "
        "(multiplier 1.25; 1.2 to 1.3 with any one case left out).",
        "Latency alone cannot explain it: at best, latency 8 times as high (the end of what was tried), 15% is left.",
        "Bandwidth alone cannot explain it: its best value leaves no smaller error.",
        "No effect on any case, so nothing can be said of it: contention.",
    ]


def test_verdict_keeps_the_names_of_node_types() -> None:
    """A sentence that begins with a parameter keeps the capital letters of a node type."""
    better, same = refit("computation", 1.1, 0.15, of="oldXeon"), refit("computation", 1.0, 0.2, of="EPYC")
    found = list(verdict(validation(better, same)))
    assert found[1].startswith("Computation on oldXeon alone cannot explain it: at best, computation on oldXeon ")
    assert found[2] == "Computation on EPYC alone cannot explain it: its best value leaves no smaller error."


def test_verdict_says_what_cannot_be_told_apart() -> None:
    """The verdict names parameters that explain the error equally well, and one that could not be changed."""
    one = refit("latency", 1.5, 0.01, explains=True, rival=True)
    other = refit("bandwidth", 0.5, 0.012, explains=True, rival=True)
    found = list(
        verdict(
            validation(
                one,
                other,
                refit("computation", 1.1, 0.19, effect=0.0005),
                alike=((one.parameter, other.parameter),),
                unchangeable=(Unchangeable("contention", "no machine of these cases states contention"),),
            )
        )
    )
    assert found[3:] == [
        "These cases cannot tell which it is: latency and bandwidth leave as little error, as far as measured runs "
        "repeat.",
        "From a sixteenth to sixteen times of it no case changes by more than runs differ, so nothing can be said of "
        "it: computation.",
        "Contention was not refitted: no machine of these cases states contention.",
        "Alike in all cases, so that these cannot tell them apart: latency, bandwidth. Other sizes, numbers of "
        "ranks or machines could.",
    ]


def test_verdict_counts_both_signs() -> None:
    """The verdict counts predictions that are too long and too short."""
    cases = (compared(1.2, 1.0), compared(0.8, 1.0))
    assert next(iter(verdict(validation(compared=cases)))) == (
        "The mean absolute error of 2 cases is 20%: 1 predicted too long, 1 too short."
    )


def test_exact_predictions_are_neither_too_long_nor_too_short() -> None:
    """Predictions of 1 s for a run of 1 s, and of 1.2 s and 0.8 s, are exact, too long and too short."""
    cases = (compared(1.0, 1.0), compared(1.2, 1.0), compared(0.8, 1.0))
    said = next(verdict(validation(compared=cases, error=0.4 / 3)))
    assert said == "The mean absolute error of 3 cases is 13%: 1 predicted too long, 1 too short, 1 exactly."


@pytest.mark.parametrize(("times", "unit"), [(1e3, "ms"), (1e6, "us")])
def test_verdict_asks_for_the_unit_of_times_a_thousand_times_too_long(times: float, unit: str) -> None:
    """If all measured times are about 1000 or a million times too long, the verdict asks for their unit."""
    cases = (compared(0.8, 0.9 * times), compared(0.5, 0.6 * times))
    said = list(verdict(validation(compared=cases, error=0.999)))
    assert said[1].startswith(f"All measured times are about {times:,.0f} times") and f"if these are {unit}" in said[1]
    mixed = (*cases, compared(0.5, 0.6))
    assert not any("All measured times" in text for text in verdict(validation(compared=mixed, error=0.7)))


def test_verdict_says_where_the_spread_of_runs_is_assumed() -> None:
    """With one run per case, the verdict says that the spread of runs is assumed."""
    cases = (compared(1.004, 1.0), compared(0.996, 1.0))
    assert next(iter(verdict(validation(compared=cases, error=0.004, noise=0.005)))) == (
        "The mean absolute error of 2 cases is 0.4%, within the 0.5% by which runs are assumed to differ, as each case "
        "has one: nothing is left to explain."
    )


def test_verdict_says_that_equal_runs_are_assumed_to_differ() -> None:
    """Three equal runs of a case differ by 0 %, so the 0.5 % by which runs differ at least are an assumption."""
    cases = (compared(1.004, 1.0, 1.0, 1.0), compared(0.996, 1.0, 1.0, 1.0))
    assert next(iter(verdict(validation(compared=cases, error=0.004, noise=0.005)))) == (
        "The mean absolute error of 2 cases is 0.4%, within the 0.5% by which runs are assumed to differ at least: "
        "nothing is left to explain."
    )


def test_verdict_where_nothing_explains_or_nothing_is_wrong() -> None:
    """The verdict says if no parameter alone explains the error, and if the error is within the spread of runs."""
    assert list(verdict(validation(refit("latency", 1.5, 0.18))))[-1].startswith(
        "No parameter alone explains the error"
    )
    right = validation(refit("latency", 1.0, 0.004), error=0.004)
    assert list(verdict(right)) == [
        "The mean absolute error of 2 cases is 0.4%, within the 1.0% by which runs differ: nothing is left to explain."
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def test_picture_shows_cases_diagonal_and_refits(tmp_path: Path) -> None:
    """The picture has markers of programs, the 10 % band, the diagonal, and a bar per refit with its multiplier."""
    found = validation(refit("computation", 1.25, 0.03), refit("latency", 2.0, 0.15))
    drawn = draw_validation(found, "a $title$")
    words = texts(drawn)
    for expected in ("p", "q", "within 10%", "predicted = measured", "as described", "computation\n× 1.25", "15.0%"):
        assert expected in words
    left, right = drawn.axes
    assert left.get_xlim() == left.get_ylim()
    assert [bar.get_width() for bar in bars(right)] == [0.2, 0.03, 0.15]
    assert plot_validation(found, tmp_path, "a").read_bytes().startswith(b"\x89PNG")


def test_picture_has_room_for_intervals() -> None:
    """The axes of the picture contain the whole intervals."""
    wide = replace(compared(1.0, 1.0), interval=Spread(0.1, 1.0, 20.0))
    low, high = draw_validation(validation(compared=(wide,)), "a").axes[0].get_ylim()
    assert low < 0.1 and high > 20.0


def test_picture_without_refits_has_one_panel() -> None:
    """Without refits the picture has one panel."""
    assert len(draw_validation(validation(), "a").axes) == 1
