"""The time of many iterations, estimated from the slopes of a few: closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.steady.estimate import Late, Slopes, estimate
from clue.uncertainty import TAIL, student


def slopes(seconds: list[float], computing: list[float], known: list[float], *, coupled: bool = True) -> Slopes:
    """Return slopes of strata that represent 100 iterations each, of which a tenth is measured."""
    strata = len(seconds)
    return Slopes(
        np.array(seconds), np.array(computing), np.array(known), np.full(strata, 100.0), np.full(strata, 10.0), coupled
    )


def test_what_stays_or_falls_evenly_is_certain() -> None:
    """If slopes are constant or fall evenly, second differences are 0, and so is the interval.

    4 × 100 iterations of 2 s take 800 s; 100 each of 4, 3, 2 and 1 s take 1,000 s.
    """
    none = [0.0] * 4
    for seconds, total in (([2.0] * 4, 800.0), ([4.0, 3.0, 2.0, 1.0], 1000.0)):
        told = estimate([slopes(seconds, none, none)])
        assert (told.seconds, told.half) == (pytest.approx(total), pytest.approx(0.0))


def test_computation_that_was_not_measured_is_added() -> None:
    """Slopes differ as measured computation does, whose true mean is 1 s: an iteration takes 1.5 s, not 1.6 s."""
    computing = [1.0, 1.4, 1.0, 1.0]
    told = estimate([slopes([0.5 + each for each in computing], computing, [1.0] * 4)])
    assert told.seconds == pytest.approx(600.0)
    # The estimate was corrected by 100 × 0.4 s; the interval is half of that.
    assert told.half == pytest.approx(20.0)


def test_computation_that_explains_nothing_is_left_out() -> None:
    """If slopes are equal though computation is not, ranks wait for messages only, and computation corrects nothing."""
    told = estimate([slopes([2.0] * 4, [1.0, 1.4, 1.0, 1.4], [1.0] * 4)])
    assert (told.seconds, told.half) == (pytest.approx(800.0), pytest.approx(0.0))


def test_where_ranks_drift_apart_computation_always_counts() -> None:
    """If ranks are not coupled, the measured computation, 0.1 s per iteration too much, corrects the time by 40 s.

    All of the correction is uncertain.
    """
    told = estimate([slopes([2.1] * 4, [1.1] * 4, [1.0] * 4, coupled=False)])
    assert (told.seconds, told.half) == (pytest.approx(800.0), pytest.approx(40.0))


def test_the_interval_is_that_of_second_differences() -> None:
    """The interval follows from second differences, which are 0 and 3 for slopes 1, 1, 1, 4.

    The variance of an iteration is 3² / 6 / 2; that of the sum is 4 × 100² × 0.9 times as large. The two differences
    correlate by -2/3: 4 / (2 + 2 × 4/9) degrees of freedom.
    """
    none = [0.0] * 4
    told = estimate([slopes([1.0, 1.0, 1.0, 4.0], none, none)])
    assert told.half == pytest.approx(student(TAIL, 18 / 13) * (9 / 6 / 2 * 4 * 100**2 * 0.9) ** 0.5)


@pytest.mark.parametrize(("late", "apart"), [(2.5, 0.0), (2.7, 680.0)])
def test_a_later_slope_counts_if_it_differs_by_more_than_chance(late: float, apart: float) -> None:
    """Between strata with slopes of 1 s, a late slope of 2.5 s can be chance; 400 iterations at 2.7 s take 680 s more.

    Second differences of slopes 1, 1, 1, 4 give a variance of 9 / 6 / 2 for one stratum, and half of that for the late
    slope, which is measured over twice as many iterations: 1.5 standard deviations are 1.59 s.
    """
    seconds = [1.0, 1.0, 1.0, 4.0]
    one = replace(slopes(seconds, [0.0] * 4, [0.0] * 4), late=Late(late, 0.0, 1.5, 20))
    told = estimate([one])
    assert told.seconds == pytest.approx(700.0)
    assert told.out_of_step == pytest.approx(apart)


def test_what_falls_evenly_is_in_step() -> None:
    """Between strata with slopes 3 and 2 s, a late one is 2.5 s; at 2.4 s, 400 iterations would take 40 s less."""
    even = slopes([4.0, 3.0, 2.0, 1.0], [0.0] * 4, [0.0] * 4)
    for late, apart in ((2.5, 0.0), (2.4, 40.0)):
        told = estimate([replace(even, late=Late(late, 0.0, 1.5, 20))])
        assert (told.seconds, told.half) == (pytest.approx(1000.0), pytest.approx(apart))


def test_stretches_are_added() -> None:
    """The times of two loops add up, as do their variances; those of equal variance have twice the degrees of freedom.

    A loop without variance does not make the interval of another one narrower.
    """
    none = [0.0] * 4
    one = slopes([1.0, 1.0, 1.0, 4.0], none, none)
    told = estimate([one, one])
    assert told.seconds == pytest.approx(1400.0)
    assert told.half == pytest.approx(student(TAIL, 36 / 13) * (2 * 9 / 6 / 2 * 4 * 100**2 * 0.9) ** 0.5)
    even = slopes([1.0] * 4, none, none)
    assert estimate([one, even]).half == pytest.approx(estimate([one]).half)


@given(st.integers(3, 40), st.integers(0, 2**32 - 1))
def test_degrees_are_those_of_the_correlation_of_second_differences(strata: int, seed: int) -> None:
    """Degrees of freedom are m² / tr R² with R from the weights 1, -2, 1 of the differences; no slope matters."""
    weights = np.array([np.roll([1.0, -2.0, 1.0] + [0.0] * (strata - 3), i) for i in range(strata - 2)]) / 6**0.5
    correlation = weights @ weights.T
    seconds = np.random.default_rng(seed).random(strata).tolist()
    found = slopes(seconds, [0.0] * strata, [0.0] * strata).degrees
    assert found == pytest.approx((strata - 2) ** 2 / np.trace(correlation @ correlation))
