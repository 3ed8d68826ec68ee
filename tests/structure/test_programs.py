"""What is made of small recordings is what programs do at large ones, or it is refused by site: never another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.structure.rules import Search
from tests.structure.judging import EXACT, WRONG, judge, judge_there, learn
from tests.structure.programs import CASES, Case, between, first_larger, last_smaller
from tests.structure.stub import Comm

#: Programs of which every target must be exact.
KNOWN = (
    "ring", "ring_of_shares", "halo_line", "halo_null", "parity", "pipeline", "butterfly", "dissemination",
    "panels_by_column", "transpose", "master_turns", "gather_by_loop", "scatter_by_loop", "spread", "shared_function",
    "rows_and_columns", "remainder_last", "workers", "halves", "multigrid", "root_moves", "triangle",
    "faces_with_halo", "square_2d", "halo_2d_waitall", "cannon", "halving", "odd_even", "everybody_to_everybody",
    "sizes",
)  # fmt: skip
#: Programs that recordings do not determine everywhere, and such as follow no rule.
UNKNOWN = ("even_strips", "panels", "ranks_beyond", "odd_ends", "threshold", "triples")


@pytest.mark.parametrize("name", KNOWN)
def test_programs_are_exact_at_targets_that_nobody_recorded(name: str) -> None:
    """Nothing differs: rows, partners, tags, sizes, flags, requests, lists, communicators."""
    assert [(each.outcome, each.why) for each in judge(CASES[name])] == [(EXACT, "")] * len(CASES[name].targets)


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_recordings_do_not_determine_is_refused_by_site(name: str) -> None:
    """Rivals that fit all recordings and differ at the target, thresholds, groups without a rule."""
    verdicts = list(judge(CASES[name]))
    assert {each.outcome for each in verdicts} != {EXACT}
    for each in verdicts:
        assert each.outcome != WRONG, each.why
        assert each.outcome == EXACT or ("site programs.py:" in each.why and " must " in each.why)


@settings(max_examples=8, deadline=None)
@given(
    custom=st.sampled_from((first_larger, between, last_smaller)),
    element=st.integers(1, 64), header=st.integers(0, 32), block=st.sampled_from((8, 10, 16, 32)), by=st.integers(1, 2),
)  # fmt: skip
def test_templates_with_any_parameters_are_exact_or_refused(
    custom: Callable[[int, int, int], int], element: int, header: int, block: int, by: int
) -> None:
    """Elements, headers, blocks, distances and customs of rounding as they come."""

    def program(comm: Comm, n: int) -> None:
        mine = custom(n, comm.size, comm.rank)
        for _ in range(0, n, block):
            comm.sendrecv(element * mine + header, (comm.rank + by) % comm.size, (comm.rank - by) % comm.size)
        comm.gather(element * mine * n)

    case = Case(program)
    learned = learn(case)
    if not learned.refusals:
        for target in case.targets:
            assert judge_there(case, learned, *target).outcome != WRONG


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), most=st.sampled_from((2, 3, 10, 1000)), of=st.sampled_from(("P", "nP", "nPr")))
def test_chance_follows_no_rule(seed: int, most: int, of: str) -> None:
    """Random numbers by size, ranks or both must not be explained."""
    places = [(n, p, r) for n in (50, 77, 112) for p in (4, 6, 8, 16) for r in range(p)]
    n, p, r = (np.array(column, np.int64) for column in zip(*places, strict=True))
    key = {"P": p, "nP": n * 64 + p, "nPr": (n * 64 + p) * 64 + r}[of]
    _, which = np.unique(key, return_inverse=True)
    y = np.random.default_rng(seed).integers(0, most, which.max() + 1)[which]
    if len(np.unique(y)) > 1:
        found = Search({"n": n, "P": p, "rank": r, "s": p, "r": r}).rule(y)
        assert found is None, str(found)


def test_refusals_are_not_guesses() -> None:
    """Data-dependent sizes are refused where they are learned."""
    refusals = learn(replace(CASES["pairs_table"], recorded=((50, 4), (77, 4), (50, 6), (77, 6)))).refusals
    assert "Alltoallv entries of lists must follow a rule" in refusals[0]


def test_branches_of_an_if_are_taken_in_different_iterations() -> None:
    """Without any other call in the loop, call sites tell iterations apart by their branches."""
    assert EXACT in [each.outcome for each in judge(CASES["branches"])]
