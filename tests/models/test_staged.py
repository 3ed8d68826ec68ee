"""Fits in one feature, then in another: closed forms, equivalences and refusals."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import ModelError
from clue.models import Staged, Term, fit_in_turn, over

POINTS = [(float(n), float(p)) for n, p in product((1, 2, 3, 4), (1, 2, 4))]
N, P = (np.array(column) for column in zip(*POINTS, strict=True))


def test_both_stages_by_hand() -> None:
    """(1 + 2/P) + (4/P) n^2: for P = 1, 2, 4 the coefficients are (3, 0, 4), (2, 0, 2) and (1.5, 0, 1)."""
    found = fit_in_turn({"n": N, "P": P}, 1 + 2 / P + 4 * N**2 / P)
    assert np.array(list(found.table.values())) == pytest.approx(
        np.array([[3, 0, 4], [2, 0, 2], [1.5, 0, 1]]), abs=1e-12
    )
    assert found.coefficients == pytest.approx(np.array([[1, 2], [0, 0], [0, 4]]), abs=1e-12)
    assert found(10, 8) == pytest.approx(1 + 0.25 + 50)
    assert found.deviation == pytest.approx(0, abs=1e-9)


def test_coefficients_may_be_below_0_and_so_may_times() -> None:
    """Plain least squares of n - 2 extrapolate to a negative time, which is reported unchanged."""
    found = fit_in_turn({"n": [3, 4, 3, 4], "P": [1, 1, 2, 2]}, [1, 2, 1, 2], ("1", "n"), ("1",))
    assert found(1) == pytest.approx(-1)
    assert not found.inside({"n": [1], "P": [1]})[0]
    assert found.inside({"n": [3.5], "P": [2]})[0]


def test_what_is_left_out_tells_the_interval() -> None:
    """A constant of 2 for times 1 and 3 on one and two ranks has leave-one-out errors of 200 and 67 %."""
    found = fit_in_turn({"n": [1, 1], "P": [1, 2]}, [1, 3], ("1",), ("1",))
    assert found.deviation == pytest.approx(math.sqrt((2**2 + (2 / 3) ** 2) / 2))
    middle, low, high = found.predict({"n": [1], "P": [1]})
    assert [middle[0], high[0] - middle[0], low[0]] == pytest.approx([2, 2 * found.deviation, 0])


def test_an_interval_is_symmetric_unless_it_would_begin_below_0() -> None:
    """A constant of 2.5 for times 2 and 3 has leave-one-out errors of 50 and 33 %; no time is below 0."""
    found = fit_in_turn({"n": [1, 1], "P": [1, 2]}, [2, 3], ("1",), ("1",))
    assert found.deviation == pytest.approx(math.sqrt((1 / 4 + 1 / 9) / 2))
    middle, low, high = found.predict({"n": [1], "P": [1]})
    assert [middle[0], high[0] - middle[0], middle[0] - low[0]] == pytest.approx([2.5, *[2.5 * found.deviation] * 2])


def test_too_few_values_to_leave_one_out_have_no_interval() -> None:
    """Two sizes for a line leave no point for an error, so the interval goes from 0 to infinity."""
    found = fit_in_turn({"n": [1, 2], "P": [1, 1]}, [1, 2], ("1", "n"), ("1",))
    assert [each[0] for each in found.predict({"n": [1], "P": [1]})] == pytest.approx([1, 0, math.inf])


@pytest.mark.parametrize(
    ("measured", "powers", "outer", "asked", "wanted"),
    [
        (((1, 2, 3), (1, 2, 4)), (3, -1), ("1", "1/P"), (4, 1), 58),
        (((1, 2, 3, 4), (1, 2)), (1, 2), ("1", "P"), (1, 4), 10),
    ],
)
def test_each_feature_needs_values_to_leave_out(
    measured: tuple[tuple[int, ...], tuple[int, ...]],
    powers: tuple[int, int],
    outer: tuple[str, str],
    asked: tuple[int, int],
    wanted: float,
) -> None:
    """The fits of n³/P at three sizes and of n P² on two numbers of ranks are 6n² - 11n + 6 over P, and n (3P - 2).

    They predict 58 instead of 64, and 10 instead of 16. The error at values of the other feature, 0, tells nothing.
    """
    n, p = (np.array(column, np.float64) for column in zip(*product(*measured), strict=True))
    found = fit_in_turn({"n": n, "P": p}, n ** powers[0] * p ** powers[1], outer=outer)
    said = found.predict({"n": [asked[0]], "P": [asked[1]]})
    assert [each[0] for each in said] == pytest.approx([wanted, 0, math.inf])


def test_no_time_has_no_width_beside_times_of_unknown_error() -> None:
    """A time of n is 0 s at n = 0, whatever its error, and at n = 2 from 0 to infinity."""
    found = Staged((Term.parse("n"),), (Term(),), np.array([[1.0]]), deviation=math.inf)
    assert [each.tolist() for each in found.predict({"n": [0, 2]})] == [[0, 2], [0, 0], [0, math.inf]]


def test_a_time_below_0_is_the_low_end_itself() -> None:
    """A line of n - 2 is -1 at n = 1, and so is the low end of its interval, whatever the error."""
    found = fit_in_turn({"n": [3, 4], "P": [1, 1]}, [1, 2], ("1", "n"), ("1",))
    assert [each[0] for each in found.predict({"n": [1], "P": [1]})] == pytest.approx([-1, -1, math.inf])


@given(st.lists(st.floats(0.1, 10), min_size=len(POINTS), max_size=len(POINTS)))
def test_in_turn_is_at_once_where_every_size_was_measured_on_all_ranks(seconds: list[float]) -> None:
    """On a full grid, the two stages equal the plain least squares of all products of their terms."""
    found = fit_in_turn({"n": N, "P": P}, seconds)
    columns = np.stack([inner * outer for inner in (N**0, N, N**2) for outer in (P**0, 1 / P)], axis=1)
    at_once, *_ = np.linalg.lstsq(columns, np.array(seconds), rcond=None)
    assert found.coefficients.ravel() == pytest.approx(at_once, abs=1e-7)


@given(st.lists(st.floats(0.1, 10), min_size=24, max_size=24))
def test_a_sum_of_fits_is_the_fit_of_the_sum(seconds: list[float]) -> None:
    """For plain fits, fitting the parts or their sum gives the same prediction."""
    one, other = np.array(seconds).reshape(2, 12)
    parts = [fit_in_turn({"n": N, "P": P}, each)(7, 3) for each in (one, other)]
    assert sum(parts) == pytest.approx(fit_in_turn({"n": N, "P": P}, one + other)(7, 3), rel=1e-6, abs=1e-6)


def test_a_formula_is_written_as_people_write_it() -> None:
    """Coefficients over the outer feature are in parentheses before the inner term."""
    terms = (Term.parse("1"), Term.parse("n^2")), (Term.parse("1"), Term.parse("1/P"))
    assert str(Staged(*terms, np.array([[1.0, -2.0], [0.0, 3.0]]))) == "1 - 2/P + (3/P) n^2"


@pytest.mark.parametrize(
    ("features", "seconds", "terms", "message"),
    [
        ({"n": [1, 2], "P": [1, 1]}, [1, 2], (("1", "n", "n^2"), ("1",)),
         "n: values must be at least 3 different ones for the terms 1, n, n^2, got 2 (1, 2)"),
        ({"n": [5, 5, 5], "P": [1, 2, 4]}, [1, 2, 3], (("1", "n"), ("1",)),
         "n: values must be at least 2 different ones for the terms 1, n, got 1 (5)"),
        ({"n": [1, 2], "P": [4, 4]}, [1, 2], (("1", "n"), ("1", "1/P")),
         "P: values must be at least 2 different ones for the terms 1, 1/P, got 1 (4)"),
        ({"n": [1, 2], "P": [1, 1]}, [1, -2], (("1", "n"), ("1",)),
         "seconds: values must be finite and at least 0, got -2"),
        ({"n": [1, 2]}, [1, 2], (("1", "n"), ("1",)), "features: P must be given, got n"),
        ({"n": [1, 2], "P": [1, 1]}, [1, 2], (("1", "n"), ("n",)),
         "terms: those fitted in turn must be over two features, got n for both"),
        ({"n": [1, 2], "P": [1, 1]}, [1, 2], (("1", "n/P"), ("1",)),
         "terms: those of a stage must be over one feature, got 1, n/P"),
    ],
)  # fmt: skip
def test_what_cannot_be_fitted_is_refused(
    features: dict[str, list[float]], seconds: list[float], terms: tuple[tuple[str, ...], tuple[str, ...]], message: str
) -> None:
    """The message names the feature, the number of values it needs, and the values it got."""
    with pytest.raises(ModelError) as caught:
        fit_in_turn(features, seconds, *terms)
    assert str(caught.value) == message


def test_the_second_stage_alone() -> None:
    """3 - 2/P passes through two points."""
    assert over("P", [1, 2], [[1.0], [2.0]]) == pytest.approx(np.array([[3, -2]]))


def test_a_feature_that_is_missing_is_named() -> None:
    """A model over n and P needs both features."""
    with pytest.raises(ModelError, match="features: P must be given, got n"):
        fit_in_turn({"n": N, "P": P}, N).seconds({"n": [1]})
