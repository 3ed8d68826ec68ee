"""Intervals of samples: which samples their ends are, and how much they cover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.uncertainty import LEVEL, Spread


def test_ends_lie_at_tenths_of_one_more_than_the_number_of_samples() -> None:
    """Of the figures 1 to 24, the ends are 0.1 and 0.9 of 25, and the median is half of it."""
    spread = Spread.of(np.arange(1.0, 25.0))
    assert (spread.low, spread.median, spread.high) == pytest.approx((2.5, 12.5, 22.5))


def test_of_few_samples_all_lie_between_the_ends() -> None:
    """A tenth of 6 is below the first of 5 samples, so the ends are the first and the last."""
    spread = Spread.of([3.0, 1.0, 5.0, 4.0, 2.0])
    assert (spread.low, spread.median, spread.high) == (1.0, 3.0, 5.0)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)


@given(samples=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=130))
def test_four_of_five_samples_lie_between_the_ends(samples: list[float]) -> None:
    """Whatever their number, at least 80 % of the samples lie between the ends, as the text of a ranking says."""
    spread = Spread.of(samples)
    slack = 1e-9 * max(map(abs, samples))
    between = sum(spread.low - slack <= each <= spread.high + slack for each in samples)
    assert between >= LEVEL * len(samples) - 1e-9


@pytest.mark.parametrize("samples", [9, 20, 25])
def test_four_of_five_further_samples_lie_between_the_ends(samples: int) -> None:
    """The share of a uniform variable between the ends is the distance between them: 0.8 on average of 4000 cases."""
    found = [Spread.of(each) for each in np.random.default_rng(1).random((4000, samples))]
    covered = np.array([each.high - each.low for each in found])
    assert covered.mean() == pytest.approx(LEVEL, abs=5 * covered.std() / np.sqrt(4000))
