"""The Pareto front, compared with its definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clue.purchase.pareto import beaten, front

ROWS = st.integers(2, 3).flatmap(
    lambda columns: st.lists(st.lists(st.integers(0, 4).map(float), min_size=columns, max_size=columns), max_size=12)
)


def test_who_is_beaten_in_all_is_not_on_it() -> None:
    """The third row is as cheap as the first and slower, so it is beaten; the fourth is dearest but fastest."""
    assert front([[1.0, 5.0], [2.0, 4.0], [1.0, 6.0], [9.0, 1.0]]) == [0, 1, 3]


@given(ROWS)
def test_it_is_what_the_definition_says(rows: list[list[float]]) -> None:
    """The front is the set of rows that no other row beats; equal rows are on it together."""

    def beaten(row: list[float]) -> bool:
        return any(all(a <= b for a, b in zip(o, row, strict=True)) and o != row for o in rows)

    assert front(rows) == [i for i, row in enumerate(rows) if not beaten(row)]


@given(ROWS, ROWS)
def test_a_table_beats_rows_by_the_same_definition(rows: list[list[float]], others: list[list[float]]) -> None:
    """A row is beaten if another is as good in all columns and better in one; an equal row does not beat it."""
    by = [row for row in others if rows and len(row) == len(rows[0])]

    def beats(one: list[float], row: list[float]) -> bool:
        return all(a <= b for a, b in zip(one, row, strict=True)) and one != row

    width = len(rows[0]) if rows else 1
    found = beaten(np.array(rows).reshape(len(rows), width), np.array(by).reshape(len(by), width))
    assert found.tolist() == [any(beats(one, row) for one in by) for row in rows]


def test_of_nobody_there_is_no_front() -> None:
    """An empty table has an empty front."""
    assert front([]) == []
