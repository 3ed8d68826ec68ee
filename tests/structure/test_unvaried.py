"""Numbers that are equal in all recordings; groups and conditions that several rules explain."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from clue.structure.atoms import variable
from clue.structure.forms import ZERO, Comparison, Predicate, Rule, Sum, UndeterminedError
from clue.structure.groups import members_of, rivals
from clue.structure.unvaried import check, unvaried

_PLANE, _NONE = frozenset({"plane"}), frozenset[str]()
_RECORDED = ((50, 4), (77, 6), (112, 8))


def _times(coefficient: int) -> Rule:
    return Rule((Sum(((Fraction(coefficient), (variable("n"),)),)),))


def test_what_is_the_same_in_all_recordings() -> None:
    """Grids on 4, 6 and 8 ranks are 2 x 2, 2 x 3 and 2 x 4, cubes 2 x 2 x 1, 3 x 2 x 1 and 2 x 2 x 2."""
    found = {each.number.name: (each.recorded, each.used) for each in unvaried(_RECORDED, _PLANE)}
    assert found == {"p": (2, True), "b": (2, False)}
    others = {each.number.name: each.recorded for each in unvaried(((40, 3), (64, 4)), _NONE)}
    assert others == {"c": 1, "ceil(P / 2)": 2, "log2 P": 2, "log2 n": 6}


@pytest.mark.parametrize(
    ("rules", "may"),
    [
        ({"count": [Rule.constant(2)]}, True),
        ({"count": [Rule.constant(1)]}, True),  # the rows except the first
        ({"count": [], "rows": [Rule.constant(1)]}, False),
        ({"count": [], "nbytes": [_times(16)]}, True),  # 8 n p
        ({"count": [], "nbytes": [_times(9)]}, False),
        ({"count": [], "nbytes": [Rule((Sum(((Fraction(1, 2), (variable("n"),)),)),))]}, True),  # n / p
        ({"count": [], "flags": [Rule.constant(2)]}, False),
        (
            {"count": [], "rows": [
                Rule((), (Predicate((Comparison(variable("rank"), "==", ZERO, 1),)),), Rule.constant(0), _times(3))
            ]},
            True,  # the last row
        ),
    ],
)  # fmt: skip
def test_what_may_depend_on_the_rows_of_a_grid(rules: dict[str, list[Rule]], may: bool) -> None:
    """Constants, products, fractions and the last row may stand for the rows of a grid, if the program uses one.

    A target whose grid has two rows, too, is not refused.
    """
    numbers = unvaried(_RECORDED, _PLANE)
    check(numbers, 224, 10, rules, _NONE)
    check(unvaried(_RECORDED, _NONE), 224, 9, {"count": []} | {k: v for k, v in rules.items() if k != "count"}, _NONE)
    if may:
        with pytest.raises(UndeterminedError, match="p is 2 in all recordings and 3 there"):
            check(numbers, 224, 9, rules, _NONE)
    else:
        check(numbers, 224, 9, rules, _NONE)


def test_a_row_of_a_grid_depends_on_its_sides() -> None:
    """Communication along a row of a grid depends on the grid, although no other rule uses it."""
    with pytest.raises(UndeterminedError, match="p is 2"):
        check(unvaried(_RECORDED, _NONE), 224, 9, {"count": []}, _PLANE)


def test_a_grid_of_two_dimensions_may_have_a_third_one() -> None:
    """Grids on 2, 3, 4 and 6 ranks are 2 x 1, 3 x 1, 2 x 2 and 3 x 2, cubes the same x 1; on 8 ranks 2 x 2 x 2."""
    rules = {"count": [Rule.constant(5)], "nbytes": [_times(8)]}
    numbers = unvaried(((50, 2), (77, 3), (50, 4), (112, 6)), _PLANE)
    check(numbers, 224, 9, rules, _PLANE)  # 3 x 3 x 1
    with pytest.raises(UndeterminedError, match="c is 1 in all recordings and 2 there"):
        check(numbers, 224, 8, rules, _NONE)
    check(unvaried(((50, 2), (77, 3), (50, 4), (112, 6), (50, 8)), _PLANE), 224, 16, rules, _NONE)
    check(unvaried(((50, 2), (77, 3), (50, 4), (112, 6)), _NONE), 224, 8, rules, _NONE)


def test_logarithms_are_numbers_of_iterations() -> None:
    """Three iterations on 6 and 8 ranks may be log2 P, which is four on 16 ranks; sizes may not."""
    numbers = unvaried(((50, 6), (77, 8)), _NONE)
    check(numbers, 224, 16, {"count": [Rule.constant(5)], "nbytes": [Rule.constant(3)]}, _NONE)
    with pytest.raises(UndeterminedError, match="log2 P is 3 in all recordings and 4 there"):
        check(numbers, 224, 16, {"count": [Rule.constant(3)]}, _NONE)


def test_rows_of_a_grid_and_halves() -> None:
    """Rows and halves have the same members on 6 ranks, but not on 9.

    A duplicate is a communicator of all ranks, but a split may be a row of a 1 x 3 grid.
    """
    kinds = ("row of p × q", "half")
    assert rivals(kinds, "Split") == kinds
    assert rivals(("all", "row of p × q"), "Dup") == ("all",)
    assert rivals(("all", "row of p × q"), "Split") == ("all", "row of p × q")
    assert members_of(kinds, 6, 4) == (3, 4, 5)
    with pytest.raises(UndeterminedError, match="row of p × q and half fit all recordings alike"):
        members_of(kinds, 9, 4)


def test_conditions_may_differ_where_both_cases_are_equal() -> None:
    """The conditions differ for rank 2 only, which matters if the other case is 3, but not if it is 2, as P / 2 is."""
    rank, ranks = variable("rank"), variable("P")
    conditions = tuple(Predicate((Comparison(rank, "<", ZERO, bound),)) for bound in (2, 3))
    half = Rule((Sum(((Fraction(1, 2), (ranks,)),)),))
    rule = Rule((), conditions, half, Rule.constant(2))
    v = {"P": np.full(4, 4), "rank": np.arange(4), "n": np.full(4, 9)}
    assert rule(v).tolist() == [2, 2, 2, 2]
    other = Rule((), conditions, half, Rule.constant(3))
    with pytest.raises(UndeterminedError, match="rank < 2 and rank < 3 fit"):
        other(v)
    assert other({name: column[[0, 1, 3]] for name, column in v.items()}).tolist() == [2, 2, 3]
