"""Piecewise power laws through measured points."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.models import Term
from clue.models.lines import Lines, rising
from clue.models.points import Points


def through(sizes: list[float], seconds: list[float]) -> Lines:
    """Return the lines through times at these sizes."""
    return Lines.through(Points.of({"m": sizes}, seconds), Term.parse("m"), np.ones(len(sizes), bool))


def test_lines_are_straight_on_logarithmic_scales() -> None:
    """(1, 1) to (4, 16) is m^2, so 4 at 2; from there to (16, 16) the line is flat."""
    lines = through([1, 4, 16], [1, 16, 16])
    assert lines.at(np.array([1, 2, 4, 8, 16])) == pytest.approx([1, 4, 16, 16, 16])


def test_beyond_their_ends_they_go_on_as_they_do_over_a_factor_of_four() -> None:
    """Lines continue with their slope over a factor of four: m^2 below 1, flat beyond 16, and at most m^4."""
    lines = through([1, 4, 16], [1, 16, 16])
    assert lines.at(np.array([0.5, 64])) == pytest.approx([0.25, 16])
    assert through([1, 4], [1, 4**6]).at(np.array([8])) == pytest.approx([4**6 * 2**4])


def test_where_noise_makes_times_fall_their_mean_counts() -> None:
    """8 and 2, in falling order between 1 and 16, are replaced by their geometric mean, 4."""
    assert through([1, 2, 3, 4], [1, 8, 2, 16]).seconds == pytest.approx([1, 4, 4, 16])


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.1, 10)), min_size=1, max_size=12))
def test_pools_rise_and_keep_the_mean(values: list[tuple[float, float]]) -> None:
    """The result never falls and keeps the weighted sum; rising values stay unchanged."""
    given_, weights = np.array(values).T
    pooled = rising(given_, weights)
    assert (np.diff(pooled) >= 0).all()
    assert pooled @ weights == pytest.approx(given_ @ weights, abs=1e-9)
    assert rising(pooled, weights) == pytest.approx(pooled)


def test_many_sizes_are_put_together() -> None:
    """A thousand sizes on m^1.5 become 64 points on the same curve."""
    sizes = np.geomspace(1, 1e6, 1000)
    lines = through(sizes.tolist(), (sizes**1.5).tolist())
    assert len(lines.sizes) == 64
    assert lines.at(np.array([10.0, 1e5])) == pytest.approx([10**1.5, 1e5**1.5], rel=1e-3)
    assert math.isclose(sum(np.diff(lines.seconds) > 0), 63)
