"""Shares by relative performance add up, follow speed, and differ by less than one unit from the exact quota."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.balance import loads, shares, unit_load
from clue.errors import UsageError

VECTORS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30)


def test_unit_load_and_loads_of_a_round_example() -> None:
    """120 rows over performances 1, 2, 3: the unit load is 20, the loads are 20, 40 and 60 rows (equations 3 and 4)."""
    assert unit_load(120, [1, 2, 3]) == 20
    assert loads(120, [1, 2, 3]) == shares(120, [1, 2, 3]) == (20, 40, 60)


def test_loads_round_up_and_may_exceed_the_total() -> None:
    """100 over three equal processors: equation 4 gives 34 each, 102 in total; shares are 34, 33, 33."""
    assert loads(100, [1, 1, 1]) == (34, 34, 34)
    assert shares(100, [1, 1, 1]) == (34, 33, 33)


def test_the_paper_cluster() -> None:
    """4 intel, 4 bio and 6 taurus nodes at 9, 6 and 1 have Σφ = 66: of 660 rows they get 90, 60 and 10 each."""
    vector = [9] * 4 + [6] * 4 + [1] * 6
    assert unit_load(660, vector) == 10
    assert shares(660, vector) == (90,) * 4 + (60,) * 4 + (10,) * 6


def test_what_is_left_goes_to_who_lost_most() -> None:
    """10 over 1, 2, 3: the quotas are 1.67, 3.33 and 5; the remaining unit goes to the first, with the largest rest."""
    assert shares(10, [1, 2, 3]) == (2, 3, 5)


def test_fewer_units_than_processors() -> None:
    """2 units over 1, 1, 8: the quotas are 0.2, 0.2 and 1.6; the fast processor gets both."""
    assert shares(2, [1, 1, 8]) == (0, 0, 2)


@pytest.mark.parametrize(("total", "vector"), [(1, []), (1, [0.0]), (1, [1.0, -1.0]), (-1, [1.0])])
def test_what_cannot_be_divided_is_refused(total: int, vector: list[float]) -> None:
    """An empty vector, a performance that is not positive, and a negative total are refused."""
    with pytest.raises(UsageError, match=r"balance: .* must be .*, got"):
        shares(total, vector)


@pytest.mark.parametrize("total", [math.nan, math.inf])
def test_a_total_is_a_number(total: float) -> None:
    """A total that is no number gave a load that is none."""
    with pytest.raises(UsageError, match="balance: total must be at least 0 and finite, got"):
        unit_load(total, [1.0])


@given(st.integers(0, 10**6), VECTORS)
def test_shares_add_up_within_one_unit_in_order_of_speed(total: int, vector: list[float]) -> None:
    """For any vector, shares add up, differ from the quota by less than one unit, and are ordered by speed."""
    given_out = shares(total, vector)
    unit = unit_load(total, vector)
    assert sum(given_out) == total
    assert all(abs(share - unit * phi) < 1 + 1e-9 for share, phi in zip(given_out, vector, strict=True))
    by_speed = [share for _, share in sorted(zip(vector, given_out, strict=True))]
    assert all(faster >= slower for slower, faster in pairwise(by_speed))


@given(st.integers(0, 10**6), VECTORS)
def test_loads_cover_the_total(total: int, vector: list[float]) -> None:
    """Loads by equation 4 cover the total and exceed it by less than a unit per processor."""
    together = sum(loads(total, vector))
    assert total - 1e-6 <= together < total + len(vector) + 1e-6


@pytest.mark.parametrize("divide", [shares, loads])
def test_a_total_is_a_whole_number(divide: Callable[[float, list[float]], tuple[int, ...]]) -> None:
    """It may be a float or one of numpy's: 9 units over 1 and 2 are 3 and 6. Half a unit cannot be divided."""
    assert {divide(total, [1, 2]) for total in (9.0, np.int64(9), np.float32(9))} == {(3, 6)}
    with pytest.raises(UsageError, match=r"balance: total must be a whole number, got 5\.5$"):
        divide(5.5, [1, 2])
