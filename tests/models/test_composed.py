"""Composed times: sums, products, fewer ranks, and their crossings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.balance import shares, vector_at
from clue.errors import ModelError
from clue.models import Among, Loop, Series, Staged, Term, crossings, fit, spent


def line(constant: float, slope: float, name: str = "n", deviation: float = 0.0) -> Staged:
    """Return constant + slope × feature, measured from 1 to 10."""
    terms = (Term(), Term.parse(name)), (Term(),)
    return Staged(*terms, np.array([[constant], [slope]]), {name: (1.0, 10.0)}, deviation)


def test_sequences_add_and_loops_multiply() -> None:
    """2 + P (1 + 3 n) at n = 4 on 5 ranks: 2 + 5 × 13 = 67."""
    time = Series({"begin": line(2, 0), "loop": Loop(line(0, 1, "P"), line(1, 3))})
    assert time(4, 5) == 67
    parts = [(part.name, part.seconds) for part in spent("main", time, {"n": [4], "P": [5]})]
    assert parts == [("main/begin", 2), ("main/loop", 65)]


def test_workers_of_a_master() -> None:
    """12 n / (P - 1): on 5 ranks, 4 workers share 12 × 3."""
    work = Staged((Term.parse("n"),), (Term.parse("1/P"),), np.array([[12.0]]), {"n": (1, 9), "P": (2, 4)})
    time = Among(work, 1)
    assert time(3, 5) == 9
    assert time.inside({"n": [3, 3], "P": [5, 6]}).tolist() == [True, False]
    assert str(time) == "(12/P) n with P - 1 for P"


def test_intervals_add_up() -> None:
    """Parts may err in the same direction: 10 ± 1 and 20 ± 4 are 30 ± 5; four times that is 120 ± 20."""
    both = Series({"one": line(10, 0, deviation=0.1), "other": line(20, 0, deviation=0.2)})
    four = Loop(line(4, 0), both)
    assert [each[0] for each in both.predict({"n": [1]})] == pytest.approx([30, 25, 35])
    assert [each[0] for each in four.predict({"n": [1]})] == pytest.approx([120, 100, 140])


def test_what_takes_no_time_takes_none_however_often() -> None:
    """The number of iterations is 3 and may be any: a body of 0 s takes 0 s, and one of 2 s takes 6 s, 0 to any."""
    count = line(3, 0, deviation=math.inf)
    assert [each[0] for each in Loop(count, line(0, 0)).predict({"n": [1]})] == [0, 0, 0]
    assert [each[0] for each in Loop(count, line(2, 0)).predict({"n": [1]})] == [6, 0, math.inf]


def test_a_composed_time_holds_where_all_parts_do() -> None:
    """Parts hold for sizes from 1 to 10 and from 5 to 20, so the sum holds from 5 to 10."""
    wide = Staged((Term.parse("n"),), (Term(),), np.array([[1.0]]), {"n": (5.0, 20.0)})
    time = Series({"one": line(0, 1), "other": wide})
    assert time.inside({"n": [4, 5, 10, 11]}).tolist() == [False, True, True, False]


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=5), st.floats(1, 10))
def test_a_series_is_the_sum_of_its_parts(slopes: list[float], n: float) -> None:
    """The sum holds for any parts, also if they are nested."""
    parts = {str(i): line(0, slope) for i, slope in enumerate(slopes)}
    nested = Series({"all": Series(parts), "nothing": line(0, 0)})
    assert nested(n) == pytest.approx(sum(slopes) * n, rel=1e-12)


def test_any_time_may_be_a_part() -> None:
    """An ensemble of fitted formulas and a line add up: 2 n + 1 + n."""
    sizes = [1.0, 2.0, 4.0, 8.0]
    time = Series({"fitted": fit({"n": sizes}, [2 * n for n in sizes], ["n"]), "line": line(1, 1)})
    assert time(4) == pytest.approx(13, rel=1e-6)


def test_a_composed_time_is_a_performance_model_for_balance() -> None:
    """One kind takes 2 n and another n: relative performances are 1 and 2, and 9 rows are shared 3 to 6."""
    slow, fast = (Series({"work": line(0, slope)}) for slope in (2.0, 1.0))
    vector = vector_at([slow, fast], 5, 4)
    assert vector == (1, 2)
    assert shares(9, vector) == (3, 6)


def test_lines_cross_where_they_are_equal() -> None:
    """10 + n and 2 n cross at 10, as do 10 + P and 2 P; 1 + n and n do not cross."""
    assert crossings(line(10, 1), line(0, 2), 1, 100) == pytest.approx([10])
    assert crossings(line(10, 1, "P"), line(0, 2, "P"), 1, 100, along="P") == pytest.approx([10])
    assert crossings(line(1, 1), line(0, 1), 1, 100) == []


def test_what_makes_no_sense_is_refused() -> None:
    """Refused are no parts, an empty range, too few ranks, and a missing feature."""
    with pytest.raises(ModelError, match="composed: parts must be at least one, got none"):
        Series({})
    with pytest.raises(ModelError, match="n: range must begin above 0 and end above that, got 5 to 5"):
        crossings(line(1, 1), line(0, 1), 5, 5)
    with pytest.raises(ModelError, match="P: values must be above 1, got 1"):
        Among(line(1, 1), 1)(4, 1)
    with pytest.raises(ModelError, match="features: P must be given, got n"):
        Among(line(1, 1), 1).predict({"n": [1]})
