"""Chunk sequences of self-scheduling: published examples, and complete distribution of the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.balance import factoring, guided, portion, self_scheduled, trapezoidal
from clue.errors import UsageError

TOTALS, WORKERS = st.integers(0, 20_000), st.integers(1, 64)


def test_self_scheduling_of_one_size() -> None:
    """10 rows in chunks of 4: 4, 4 and the remaining 2."""
    assert list(self_scheduled(10, 4)) == [4, 4, 2]
    assert list(self_scheduled(3)) == [1, 1, 1]


def test_guided_is_an_even_share_of_what_is_left() -> None:
    """Guided self-scheduling of 100 for 4 workers: 25, a quarter of 75 is 19, of 56 14, of 42 11, of 31 8, etc."""
    assert list(guided(100, 4)) == [25, 19, 14, 11, 8, 6, 5, 3, 3, 2, 1, 1, 1, 1]
    assert list(guided(100, 4, least=10)) == [25, 19, 14, 11, 10, 10, 10, 1]


def test_trapezoidal_shrinks_evenly() -> None:
    """Trapezoidal self-scheduling of 100 from 19 to 1: N = ⌈200 / 20⌉ = 10 chunks, 2 less each: 19, 17, …, 1."""
    assert list(trapezoidal(100, 4, first=19, last=1)) == [19, 17, 15, 13, 11, 9, 7, 5, 3, 1]


def test_trapezoidal_starts_at_half_an_even_share() -> None:
    """1000 for 4 workers: the first chunk is 1000 / 8 = 125."""
    assert next(trapezoidal(1000, 4)) == 125


def test_factoring_halves_by_rounds() -> None:
    """Factoring of 100 for 4 workers, as published: four times 13, 6, 3, 2 and 1.

    These are ⌈100/8⌉, ⌈48/8⌉, ⌈24/8⌉, ⌈12/8⌉ and ⌈4/8⌉.
    """
    assert list(factoring(100, 4)) == [13] * 4 + [6] * 4 + [3] * 4 + [2] * 4 + [1] * 4


def test_a_portion_is_by_performance_and_never_more_than_left() -> None:
    """A portion of unit 4 at φ = 2.3 has ⌈9.2⌉ = 10 rows, or the remaining 7."""
    assert portion(100, 4, 2.3) == 10
    assert portion(7, 4, 2.3) == 7


@pytest.mark.parametrize("make", [lambda: self_scheduled(1, 0), lambda: guided(1, 0), lambda: trapezoidal(1, 1, 1, 0)])
def test_counts_must_be_positive(make) -> None:  # type: ignore[no-untyped-def]
    """A chunk size of 0, no workers and a last chunk of 0 are refused."""
    with pytest.raises(UsageError, match=r"balance: \w+ must be at least 1, got 0"):
        list(make())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: self_scheduled(-1), "total must be at least 0, got -1"),
        (lambda: guided(-5, 3), "total must be at least 0, got -5"),
        (lambda: factoring(-5, 3), "total must be at least 0, got -5"),
        (lambda: trapezoidal(-5, 3), "total must be at least 0, got -5"),
        (lambda: trapezoidal(100, 4, first=-3), "first must be at least 1, got -3"),
        (lambda: self_scheduled(5.5), "total must be a whole number, got 5.5"),  # type: ignore[arg-type]
        (lambda: guided(5.5, 2), "total must be a whole number, got 5.5"),  # type: ignore[arg-type]
        (lambda: factoring(8, 2.5), "workers must be a whole number, got 2.5"),  # type: ignore[arg-type]
        (lambda: trapezoidal(100, 4, first=2.5), "first must be a whole number, got 2.5"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_divided_is_refused(make: Callable[[], Iterator[int]], said: str) -> None:
    """A negative total gave no chunks, a negative first chunk was taken for the last; half units were handed out."""
    with pytest.raises(UsageError, match=f"balance: {said}$"):
        list(make())


@pytest.mark.parametrize(
    ("left", "unit", "performance", "said"),
    [
        (-1, 1, 1, "left must be at least 0, got -1"),
        (5.5, 1, 1, "left must be a whole number, got 5.5"),
        (9, 0, 1, "unit must be a number > 0, got 0"),
        (9, 1, 0.0, "relative performance must be a number > 0, got 0.0"),
        (9, float("nan"), 1, "unit must be a number > 0, got nan"),
    ],
)
def test_a_portion_of_nothing_is_refused(left: int, unit: float, performance: float, said: str) -> None:
    """A program that asks until nothing is left would never end with portions of 0."""
    with pytest.raises(UsageError, match=f"balance: {said}$"):
        portion(left, unit, performance)
    assert portion(0, 0, 1) == 0


@pytest.mark.parametrize(
    ("unit", "performance"), [(1.0, float("nan")), (float("inf"), 1.0), (float("nan"), 1.0), (-1.0, 1.0)]
)
def test_of_nothing_any_portion_is_nothing(unit: float, performance: float) -> None:
    """Of 0 units any processor gets 0, also where no share can be computed."""
    assert portion(0, unit, performance) == 0


@given(TOTALS, WORKERS, st.integers(1, 50))
def test_all_work_is_handed_out(total: int, workers: int, least: int) -> None:
    """Each sequence adds up to the total, has no empty chunk, and never grows."""
    shrinking = (guided(total, workers, least), trapezoidal(total, workers, last=least), factoring(total, workers))
    for sequence in (self_scheduled(total, least), *shrinking):
        chunks = list(sequence)
        assert sum(chunks) == total
        assert all(chunk > 0 for chunk in chunks)
        assert all(a >= b for a, b in pairwise(chunks))
