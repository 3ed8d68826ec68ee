"""Periods of sequences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.structure.alignment import period
from tests.properties import examples


@pytest.mark.parametrize(
    ("text", "length"),
    [("", 0), ("a", 1), ("aaa", 1), ("abab", 2), ("abcab", 3), ("aab", 3), ("abac", 4), ("x" + "a" * 99 + "xa", 100)],
)
def test_the_shortest_period_is_found(text: str, length: int) -> None:
    """The last repetition may be incomplete, and a period may be of any length."""
    assert period(text) == length


@given(st.lists(st.integers(0, 2), max_size=12))
@settings(deadline=None, max_examples=examples(200))
def test_no_shorter_sequence_makes_up_the_run(run: list[int]) -> None:
    """Repeated to the length of the run, its beginning of a period's length is the run; no shorter beginning is."""
    fitting = [each for each in range(1, len(run) + 1) if (run[:each] * len(run))[: len(run)] == run]
    assert period(run) == min(fitting, default=0)
