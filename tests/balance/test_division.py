"""Shares by relative performance add up, follow speed, and are within one unit of what is due."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.balance import loads, shares, unit_load
from clue.errors import UsageError

VECTORS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30)


def test_unit_load_and_loads_of_a_round_example() -> None:
    """120 rows over performances 1, 2, 3: ul = 20; 20, 40 and 60 rows (equations 3 and 4)."""
    assert unit_load(120, [1, 2, 3]) == 20
    assert loads(120, [1, 2, 3]) == shares(120, [1, 2, 3]) == (20, 40, 60)


def test_loads_round_up_and_may_exceed_the_total() -> None:
    """100 over three equal ones: equation 4 hands out 34 each, 102 together; shares are 34, 33, 33."""
    assert loads(100, [1, 1, 1]) == (34, 34, 34)
    assert shares(100, [1, 1, 1]) == (34, 33, 33)


def test_the_paper_cluster() -> None:
    """4 intel, 4 bio, 6 taurus at 9, 6, 1: Σφ = 66; 660 rows are 90, 60 and 10 each."""
    vector = [9] * 4 + [6] * 4 + [1] * 6
    assert unit_load(660, vector) == 10
    assert shares(660, vector) == (90,) * 4 + (60,) * 4 + (10,) * 6


def test_what_is_left_goes_to_who_lost_most() -> None:
    """10 over 1, 2, 3: quotas 1.67, 3.33, 5; the one unit left goes to the first."""
    assert shares(10, [1, 2, 3]) == (2, 3, 5)


def test_fewer_units_than_processors() -> None:
    """2 units over 1, 1, 8: quotas 0.2, 0.2, 1.6; the fast one has both."""
    assert shares(2, [1, 1, 8]) == (0, 0, 2)


@pytest.mark.parametrize(("total", "vector"), [(1, []), (1, [0.0]), (1, [1.0, -1.0]), (-1, [1.0])])
def test_what_cannot_be_divided_is_refused(total: int, vector: list[float]) -> None:
    """Nobody to divide between, no performance, or less than nothing."""
    with pytest.raises(UsageError, match=r"balance: .* must be .*, got"):
        shares(total, vector)


@given(st.integers(0, 10**6), VECTORS)
def test_shares_add_up_within_one_unit_in_order_of_speed(total: int, vector: list[float]) -> None:
    """The three promises, for any vector."""
    given_out = shares(total, vector)
    unit = unit_load(total, vector)
    assert sum(given_out) == total
    assert all(abs(share - unit * phi) < 1 + 1e-9 for share, phi in zip(given_out, vector, strict=True))
    by_speed = [share for _, share in sorted(zip(vector, given_out, strict=True))]
    assert all(faster >= slower for slower, faster in pairwise(by_speed))


@given(st.integers(0, 10**6), VECTORS)
def test_loads_cover_the_total(total: int, vector: list[float]) -> None:
    """Equation 4 never leaves work over, and exceeds it by less than a unit each."""
    together = sum(loads(total, vector))
    assert total - 1e-6 <= together < total + len(vector) + 1e-6
