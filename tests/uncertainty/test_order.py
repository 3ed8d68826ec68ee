"""Probabilities and positions of options, by hand for a few samples and as properties for any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clue.uncertainty import CERTAIN, probability_of_best, shared_positions

SCORES = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 12)), elements=st.integers(1, 5).map(float))


def samples(*shares: float) -> np.ndarray:
    """Return ten samples of options: the first always scores 1, another scores 2 in its share of samples, else 0.5."""
    return np.array([[1.0] * 10, *([2.0] * round(10 * s) + [0.5] * (10 - round(10 * s)) for s in shares)])


def test_the_best_of_each_sample_counts() -> None:
    """The option with the lowest score is best in two of four samples, shares the third and loses the fourth: 0.625."""
    scores = np.array([[1.0, 1.0, 1.0, 2.0], [2.0, 2.0, 1.0, 1.0]])
    assert probability_of_best(scores, higher_is_better=False).tolist() == [0.625, 0.375]
    assert probability_of_best(scores, higher_is_better=True).tolist() == [0.375, 0.625]


def test_who_has_the_worst_score_is_not_the_best() -> None:
    """In a sample in which all options have the worst score none is best, so probabilities add up to 1/2."""
    scores = np.array([[np.inf, np.inf], [3.0, np.inf]])
    assert probability_of_best(scores, higher_is_better=False).tolist() == [0.0, 0.5]
    assert probability_of_best(-scores, higher_is_better=True).tolist() == [0.0, 0.5]


def test_an_order_that_holds_in_nine_of_ten_samples_is_certain() -> None:
    """An order that holds in nine of ten samples is certain; in eight of ten the options share a position."""
    assert shared_positions(samples(0.9), higher_is_better=False) == [1, 2]
    assert shared_positions(samples(0.8), higher_is_better=False) == [1, 1]


def test_positions_are_numbered_as_if_none_were_shared() -> None:
    """Two options share the first position, so the next is third; each is compared with the first of its position."""
    assert shared_positions(samples(0.5, 1.0, 1.0), higher_is_better=False) == [1, 1, 3, 3]


def test_equal_options_share_a_position() -> None:
    """Equal options share a position and have equal probabilities of being best."""
    scores = np.ones((3, 5))
    assert shared_positions(scores, higher_is_better=True) == [1, 1, 1]
    assert probability_of_best(scores, higher_is_better=True).tolist() == pytest.approx([1 / 3] * 3)


@given(scores=SCORES, higher=st.booleans())
def test_what_positions_and_probabilities_promise(scores: np.ndarray, higher: bool) -> None:
    """Probabilities add up to 1; only options that are certainly worse than the first of a position start a new one."""
    assert probability_of_best(scores, higher_is_better=higher).sum() == pytest.approx(1.0)
    positions = shared_positions(scores, higher_is_better=higher)
    sign = 1 if higher else -1

    def better(a: int, b: int) -> float:
        return float((sign * scores[a] > sign * scores[b]).mean())

    for place, position in enumerate(positions):
        if position == place + 1:
            earlier = max((p for p in positions[:place]), default=None)
            assert earlier is None or better(earlier - 1, place) >= CERTAIN
        else:
            assert better(position - 1, place) < CERTAIN
