"""Variation of bursts around their mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import ModelError
from clue.models import Distribution


def test_recordings_are_pooled_relative_to_their_means() -> None:
    """1 and 3 s, and 10, 10 and 10 s become 0.5, 1, 1, 1 and 1.5, relative to their means."""
    distribution = Distribution.of([[1, 3], [10, 10, 10]])
    assert distribution.relative.tolist() == [0.5, 1, 1, 1, 1.5]
    assert distribution.samples == 5


def test_as_many_bursts_as_values_are_the_values_in_another_order() -> None:
    """With as many bursts as values, each value is drawn once, so the sum is kept; seeds change the order."""
    distribution = Distribution.of([[1, 2, 3, 4]])
    drawn = distribution.draw(np.full(4, 2.5), seed=3)
    assert sorted(drawn.tolist()) == pytest.approx([1, 2, 3, 4])
    assert drawn.tolist() == distribution.draw(np.full(4, 2.5), seed=3).tolist()
    assert {tuple(distribution.draw(np.full(4, 2.5), seed)) for seed in range(20)} != {tuple(drawn)}


def test_large_samples_are_kept_by_equal_parts() -> None:
    """4,096 values from 0 to 4,095 are kept as means of four; the mean stays 1."""
    distribution = Distribution.of([np.arange(4096.0)])
    assert len(distribution.relative) == 1024
    assert distribution.relative.mean() == pytest.approx(1)
    assert distribution.relative[[0, -1]] == pytest.approx([1.5 / 2047.5, 4093.5 / 2047.5])


def test_the_shortest_time_that_a_number_can_hold_is_a_time() -> None:
    """The mean of 0 and 5e-324 s would round to 0, but is kept as a time."""
    assert Distribution.of([[0, 5e-324]]).relative.tolist() == [0, 2]


@given(st.lists(st.lists(st.floats(0, 1e3), max_size=20), max_size=4), st.integers(0, 99), st.integers(0, 30))
def test_bursts_are_never_negative_and_means_hold(recordings: list[list[float]], seed: int, bursts: int) -> None:
    """Draws are never negative and the mean is 1; recordings without bursts give the mean for all."""
    distribution = Distribution.of(recordings)
    drawn = distribution.draw(np.full(bursts, 2.0), seed)
    assert distribution.relative.mean() == pytest.approx(1)
    assert drawn.shape == (bursts,)
    assert (drawn >= 0).all()
    if not any(map(any, recordings)):
        assert drawn.tolist() == [2.0] * bursts


@given(st.integers(1, 3000), st.integers(0, 2**32 - 1), st.data())
def test_each_draw_is_known_without_those_before_it(draws: int, seed: int, data: st.DataObject) -> None:
    """Draws are the same in any order, and with as many draws as values, each value is drawn once."""
    distribution = Distribution.of([np.arange(1.0, draws + 1)])
    whole = distribution.drawn(np.arange(draws), draws, seed)
    some = np.array(data.draw(st.lists(st.integers(0, draws - 1), max_size=9)), np.int64)
    assert distribution.drawn(some, draws, seed).tolist() == whole[some].tolist()
    if draws <= len(distribution.relative):
        assert sorted(whole) == distribution.relative.tolist()


def test_bursts_below_zero_are_refused() -> None:
    """A negative burst is refused."""
    with pytest.raises(ModelError, match="bursts: values must be finite and at least 0, got -1"):
        Distribution.of([[1, -1]])
