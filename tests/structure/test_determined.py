"""A target is exact or refused by site for any recordings, and a suggested recording decides the question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from math import isqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clue.structure import Generator, decided
from clue.structure.forms import UndeterminedError
from clue.structure.rules import Search
from tests.properties import examples
from tests.structure.judging import EXACT, REFUSED, WRONG, Verdict, judge_there, learn
from tests.structure.programs import CASES, NOBODY, Case, Places, between, dims2, first_larger
from tests.structure.stub import Comm

pytestmark = pytest.mark.long

#: Numbers of ranks that a user may record: powers of two, grids with two rows, with three columns, and so on.
RECORDED = ((4, 6, 8), (4, 8, 16), (2, 4, 8), (4, 8), (3, 6, 9), (6, 8), (2, 3, 5), (4, 6, 8, 9), (2, 4, 6, 8, 12))
#: Numbers of ranks of the targets, with grids of all kinds.
RANKS = (5, 7, 9, 10, 12, 16, 18, 25, 27, 36, 37)
SIZES = (20, 30, 44)
_Number = Callable[[int, int], int]


def _places(ranks: Sequence[int], sizes: Sequence[int] = SIZES) -> Places:
    return tuple(product(sizes, ranks))


def _judged(case: Case) -> list[Verdict]:
    learned = learn(case)
    if learned.refusals:
        return [Verdict(REFUSED, each) for each in learned.refusals]
    return [judge_there(case, learned, *target) for target in case.targets if target not in case.recorded]


def _assert_exact_or_refused(case: Case) -> None:
    for each in _judged(case):
        assert each.outcome != WRONG, each.why
        assert each.outcome == EXACT or ("site " in each.why and " must " in each.why), each.why


#: Numbers of iterations: constants, rows or columns of a grid, numbers of ranks, sizes.
COUNTS: dict[str, _Number] = {
    "2": lambda *_: 2,
    "3": lambda *_: 3,
    "rows": lambda _, ranks: dims2(ranks)[0],
    "columns": lambda _, ranks: dims2(ranks)[1],
    "columns - 1": lambda _, ranks: dims2(ranks)[1] - 1,
    "2 columns": lambda _, ranks: 2 * dims2(ranks)[1],
    "P - 1": lambda _, ranks: ranks - 1,
    "log2 P": lambda _, ranks: (ranks - 1).bit_length(),
    "ceil(P / 2)": lambda _, ranks: -(-ranks // 2),
    "n / 10": lambda n, _: n // 10,
}
#: Sizes of messages in bytes.
BYTES: dict[str, _Number] = {
    "8": lambda *_: 8,
    "16 n": lambda n, _: 16 * n,
    "8 n columns": lambda n, ranks: 8 * n * dims2(ranks)[1],
    "8 n² / P": lambda n, ranks: 8 * (n * n // ranks),
    "8 n² / (P P)": lambda n, ranks: 8 * (n * n // (ranks * ranks)),
    "8 (n + P)": lambda n, ranks: 8 * (n + ranks),
    "n (n + 1) / 2": lambda n, _: n * (n + 1) // 2,
}


@settings(max_examples=examples(40), deadline=None)
@given(
    recorded=st.sampled_from(RECORDED), count=st.sampled_from(sorted(COUNTS)), nbytes=st.sampled_from(sorted(BYTES)),
    along=st.sampled_from(("all", "row", "column")), last=st.booleans(),
)  # fmt: skip
def test_loops_roots_and_sizes_on_grids_are_exact_or_refused(
    recorded: tuple[int, ...], count: str, nbytes: str, along: str, last: bool
) -> None:
    """A program on the most square grid, along all ranks, rows or columns, with its root first or last."""

    def program(comm: Comm, n: int) -> None:
        _, columns = dims2(comm.size)
        row, column = comm.split(lambda r: r // columns), comm.split(lambda r: r % columns)
        assert row is not None
        assert column is not None
        row.allreduce(8 * first_larger(n, columns, comm.rank % columns))
        column.allreduce(8)
        group = {"all": comm, "row": row, "column": column}[along]
        for _ in range(COUNTS[count](n, comm.size)):
            group.bcast(BYTES[nbytes](n, comm.size), group.size - 1 if last else 0)

    _assert_exact_or_refused(Case(program, _places(recorded), _places(RANKS, (44, 88))))


# On 2, 4 and 6 ranks, half of the ranks equals the rounded-up logarithm.
@example(recorded=(2, 4, 6), count="2", nbytes="8", periodic=False)
# On 2, 3, 4 and 6 ranks, it equals half of the ranks, rounded up.
@example(recorded=(2, 3, 4, 6), count="ceil(P / 2)", nbytes="8", periodic=True)
@settings(max_examples=examples(30), deadline=None)
@given(
    recorded=st.lists(st.integers(2, 16), min_size=2, max_size=5, unique=True).map(sorted).map(tuple),
    count=st.sampled_from(("2", "3", "P - 1", "log2 P", "ceil(P / 2)", "n / 10")),
    nbytes=st.sampled_from(("8", "16 n", "8 n² / P", "8 n² / (P P)", "8 (n + P)", "n (n + 1) / 2")),
    periodic=st.booleans(),
)  # fmt: skip
def test_lines_and_rings_are_exact_or_refused(
    recorded: tuple[int, ...], count: str, nbytes: str, periodic: bool
) -> None:
    """Any numbers of ranks, neighbours in a line or ring, and shares between bounds."""

    def program(comm: Comm, n: int) -> None:
        up, down = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        if not periodic:
            up, down = (up if comm.rank else NOBODY), (down if comm.rank < comm.size - 1 else NOBODY)
        for _ in range(COUNTS[count](n, comm.size)):
            comm.sendrecv(8 * between(n, comm.size, comm.rank), up, down)
        comm.bcast(BYTES[nbytes](n, comm.size), comm.size // 2)

    _assert_exact_or_refused(Case(program, _places(recorded), _places(RANKS, (44, 88))))


@pytest.mark.parametrize("ranks", RECORDED)
@pytest.mark.parametrize("name", ["two_dim_owner", "rows_and_columns", "sizes", "triples", "halves"])
def test_any_recorded_numbers_of_ranks_will_do_or_do_not(name: str, ranks: tuple[int, ...]) -> None:
    """Programs on grids, in groups of three or in halves, and with many forms of sizes, from various recordings."""
    case = CASES[name]
    sizes = sorted({size for size, _ in case.recorded})
    _assert_exact_or_refused(
        replace(case, recorded=_places(ranks, sizes), targets=_places((9, 12, 16, 25), sizes[-1:]))
    )


@pytest.mark.parametrize("ranks", [(2, 3, 4, 6), (3, 4, 6), (4, 6), (4, 9), (4, 6, 8)])
@pytest.mark.parametrize("name", ["halo_3d", "torus_3d"])
def test_grids_of_three_dimensions_are_exact_or_refused(name: str, ranks: tuple[int, ...]) -> None:
    """On most small numbers of ranks, the third dimension has one rank, as if there were only two."""
    _assert_exact_or_refused(
        replace(CASES[name], recorded=_places(ranks, (48, 72, 120)), targets=_places((8, 12, 16, 27), (240,)))
    )


@pytest.mark.parametrize("ranks", [(4, 6, 8), (2, 4, 8)])
def test_reflectors_are_exact_or_refused(ranks: tuple[int, ...]) -> None:
    """Loops over the rows of a grid that has always two rows, and over rows shared with at most one other rank."""
    _assert_exact_or_refused(replace(CASES["reflectors"], recorded=_places(ranks, (8, 14, 22))))


@pytest.mark.parametrize("name", ["cannon", "square_2d", "cholesky"])
def test_square_grids_are_exact_or_refused(name: str) -> None:
    """Programs on square grids are recorded on two or three square numbers of ranks."""
    for ranks in ((4, 9), (1, 4, 9), (4, 9, 16)):
        squares = tuple(each for each in (4, 9, 16, 25, 36) if isqrt(each) ** 2 == each)
        _assert_exact_or_refused(
            replace(CASES[name], recorded=_places(ranks, (50, 77, 112)), targets=_places(squares, (150,)))
        )


def test_the_recording_that_tells_two_from_the_rows_of_a_grid() -> None:
    """Grids on 4, 6 and 8 ranks have two rows, but one on 5 ranks: recordings there determine the target."""
    case = replace(CASES["rows_and_columns"], recorded=_places((4, 6, 8), (50, 77)), targets=((77, 16),))
    learned = learn(case)
    assert not learned.refusals
    generator = Generator(learned.structure, 77, 16)
    generator.make()
    assert {each.decided for each in decided(learned.structure, generator, case.recorded)} == {(50, 5)}
    assert "p is 2 in all recordings and 4 there" in generator.refusals[0].why
    more = replace(case, recorded=(*case.recorded, (50, 5), (77, 5)))
    assert [each.outcome for each in _judged(more)] == [EXACT]


def test_as_many_functions_as_numbers_of_ranks_explain_nothing() -> None:
    """On 2, 4 and 8 ranks, 1 / P is 7/8 - 7/32 P + 1/64 P²; this sum must not replace n² / P."""
    n, p = (np.array(column, np.int64) for column in zip(*product((48, 72, 112), (2, 4, 8)), strict=True))
    v = {"n": n, "P": p, "rank": 0 * n, "s": p, "r": 0 * n}
    assert (64 * n * n // p == 56 * n * n - 14 * n * n * p + n * n * p * p).all()
    found = Search(v).rule(64 * n * n // p)
    assert found is None or str(found).startswith("64·")


def test_a_rule_as_short_as_the_samples_has_longer_rivals() -> None:
    """On 2, 3, 4 and 6 ranks, log2 P and ceil(P / 2) are 1, 2, 2 and 3; both are 3 on 5 ranks, but 3 and 4 on 8."""
    n, p = (np.array(column, np.int64) for column in zip(*product((48, 72, 112), (2, 3, 4, 6)), strict=True))
    v = {"n": n, "P": p, "rank": 0 * n, "s": p, "r": 0 * n}
    for times, more in ((1, 0), (2, -1)):
        rule = Search(v).rule(times * -(-p // 2) + more)
        assert rule is not None
        there = {name: np.array([value]) for name, value in (("n", 112), ("P", 8), ("rank", 0), ("s", 8), ("r", 0))}
        with pytest.raises(UndeterminedError, match="fit all recordings alike and differ there"):
            rule(there)
        five = np.array([5])
        assert rule(there | {"P": five, "s": five}).tolist() == [3 * times + more]


def test_a_sum_does_not_replace_a_number_with_one_exception() -> None:
    """P phases of which the last one of 2 ranks has no calls: 3 ⌈P / 2⌉ - q says the same, but 20 for 16 ranks.

    Without the exception the number is P, and there it is right on all numbers of ranks.
    """
    n, p = (np.array(column, np.int64) for column in zip(*product((48, 72, 112), (2, 3, 4, 6, 8, 10)), strict=True))
    v = {"n": n, "P": p, "rank": 0 * n, "s": p, "r": 0 * n}
    assert Search(v).rule(np.where(p == 2, 1, p)) is None
    assert str(Search(v).rule(p)) == "P"
