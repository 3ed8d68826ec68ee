"""Random draws depend on the sample and on what is drawn, and on nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.uncertainty import Sample, Sampling
from clue.uncertainty.noise import log_deviation


def test_a_relative_deviation_is_that_of_the_log_normal_variable() -> None:
    """The deviation of exp(s z) relative to its mean is the stated one.

    Its mean is exp(s²/2), its variance (exp(s²) - 1) exp(s²).
    """
    for stated in (0.01, 0.1, 0.5, 2.0):
        square = log_deviation(stated) ** 2
        mean, variance = math.exp(square / 2), (math.exp(square) - 1) * math.exp(square)
        assert math.sqrt(variance) / mean == pytest.approx(stated, rel=1e-12)


@given(seed=st.integers(0, 2**64), number=st.integers(0, 10**6), name=st.text(max_size=5))
def test_the_same_thing_has_the_same_draw_in_a_sample(seed: int, number: int, name: str) -> None:
    """The same item has the same draw in a sample each time; another item, sample or seed has another draw."""
    sample = Sample(seed, number)
    drawn = sample.multiplier(0.1, "factor", name)
    assert drawn == Sample(seed, number).multiplier(0.1, "factor", name)
    others = [
        sample.multiplier(0.1, "factor", name, 1),
        Sample(seed, number + 1).multiplier(0.1, "factor", name),
        Sample(seed + 1, number).multiplier(0.1, "factor", name),
    ]
    assert drawn not in others


def test_without_noise_nothing_is_multiplied() -> None:
    """A deviation of 0 gives a multiplier of exactly 1."""
    assert Sample(0, 0).multiplier(0.0, "factor") == 1.0


def test_multipliers_have_median_1_and_the_deviation_stated() -> None:
    """4000 draws have a median of 1 and the stated deviation, within five standard errors."""
    logs = np.log([sample.multiplier(0.2, "factor") for sample in Sampling(4000, 7).each()])
    expected = log_deviation(0.2)
    assert abs(np.median(logs)) < 5 * 1.2533 * expected / math.sqrt(4000)
    assert abs(logs.std() - expected) < 5 * expected / math.sqrt(2 * 4000)
