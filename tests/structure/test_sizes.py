"""Drawn sizes: their distribution is the recorded one, collectives share one size, and none is negative."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.structure.forms import Rule
from clue.structure.sizes import (
    DrawnLists,
    DrawnSizes,
    Draws,
    fault,
    is_common,
    is_named_once,
    is_sent,
    messages_of,
    shared,
    sums,
)
from clue.trace import Flag, Op

Integers = npt.NDArray[np.int64]
PLAIN = np.zeros(1, np.int64)


def integers(*values: int) -> Integers:
    """Return a column of integers."""
    return np.array(values, np.int64)


def draws(seed: int = 1) -> Draws:
    """Return draws of sizes n / 2, n and 3 n / 2, recorded equally often at two sizes on two numbers of ranks."""
    places = [(n, p) for n in (4, 8) for p in (2, 4)]
    v = {
        "example": np.repeat(np.arange(4), 3),
        "n": np.repeat([n for n, _ in places], 3),
        "P": np.repeat([p for _, p in places], 3),
    }
    sizes = np.concatenate([integers(n // 2, n, 3 * n // 2) for n, _ in places])
    return Draws.of(v, sizes, seed)


def calls(n: int, ranks: int, times: int, messages: int = 1) -> dict[str, Integers]:
    """Return the variables of repeated calls of all ranks, each with several messages, ordered by rank."""
    rank, i0, j = (each.ravel() for each in np.indices((ranks, times, messages)))
    rows = len(rank)
    return {"n": np.full(rows, n), "P": np.full(rows, ranks), "rank": rank, "i0": i0, "j": j, "peer": np.zeros_like(j)}


def test_sizes_are_drawn_as_often_as_they_were_recorded() -> None:
    """The mean is n, so 12 draws at n = 20 are four times each of 10, 20 and 30; the text gives the mean of 6 B."""
    v = calls(20, 2, 6)
    assert Counter(draws()(v, np.arange(12), 12).tolist()) == {10: 4, 20: 4, 30: 4}
    assert str(draws()) == "are drawn from 12 recorded (mean 6 B, 0.5 to 1.5 times that): no rule"


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 60), n=st.integers(1, 1000))
def test_each_draw_is_known_without_the_others(seed: int, count: int, n: int) -> None:
    """Draws are integers of at least 0 that depend only on seed and index; their mean is off by at most one draw."""
    v = calls(n, 1, count)
    made = draws(seed)(v, np.arange(count), count)
    assert made.dtype == np.int64 and (made >= 0).all()
    assert made[::-1].tolist() == draws(seed)(v, np.arange(count)[::-1], count).tolist()
    assert abs(made.mean() - n) <= 0.5 + n / count


def test_a_size_that_all_ranks_name_is_drawn_once_for_each_call() -> None:
    """Three broadcasts on four ranks have sizes n / 2, n and 3 n / 2 on all; each communicator has its own draws."""
    v = calls(20, 4, 3)
    together = DrawnSizes(True, (draws(),))(v, np.zeros(12, np.int64), np.ones(12, bool)).reshape(4, 3)
    assert (together == together[0]).all() and sorted(together[0].tolist()) == [10, 20, 30]
    halves = DrawnSizes(True, (draws(),))(v, np.repeat([0, 2], 6), np.ones(12, bool)).reshape(4, 3)
    assert (halves[0] == halves[1]).all() and (halves[2] == halves[3]).all()
    assert Counter(halves[[0, 2]].ravel().tolist()) == {10: 2, 20: 2, 30: 2}


def test_a_length_ahead_of_what_is_that_long_keeps_its_rule() -> None:
    """The first of two messages gives the length and has 8 B by its rule; messages to PROC_NULL are empty."""
    v = calls(20, 2, 3, messages=2)
    sent = np.ones(12, bool)
    sent[[0, 1]] = False
    sizes = DrawnSizes(False, (Rule.constant(8), draws()))(v, np.zeros(12, np.int64), sent)
    assert sizes[0::2].tolist() == [0, 8, 8, 8, 8, 8]
    assert sizes[1] == 0 and set(sizes[3::2].tolist()) <= {10, 20, 30}


def test_lists_add_up_to_what_a_rule_says() -> None:
    """Without a rule, lists are as drawn; with one, their sums follow the rule in the drawn proportion."""
    v, counts = calls(20, 3, 1), integers(3, 3, 3)
    free = DrawnLists(draws(), summed=True)(v, counts, None)
    bound = DrawnLists(draws(), summed=True)(v, counts, integers(90, 91, 0))
    assert sums(bound, counts).tolist() == [90, 91, 0]
    assert np.abs(bound - free * np.repeat([90, 91, 0] / sums(free, counts), 3)).max() <= 1
    assert DrawnLists(draws(), summed=False)(v, counts, integers(0, 0, 0)).tolist() == free.tolist()


def test_entries_are_shared_out() -> None:
    """8 in the proportion 1 : 1 : 2 is 2, 2, 4; 5 over two zeros is 2, 3; a row may have no entries."""
    assert shared(integers(1, 1, 2, 0, 0), integers(3, 0, 2), integers(8, 0, 5)).tolist() == [2, 2, 4, 2, 3]


@given(rows=st.lists(st.tuples(st.lists(st.integers(0, 10**9), min_size=1), st.integers(0, 10**12)), min_size=1))
def test_what_is_shared_out_is_neither_more_nor_less(rows: list[tuple[list[int], int]]) -> None:
    """Each row adds up to its total, no entry is negative, and each is within 1 B of its proportional part."""
    counts = integers(*(len(entries) for entries, _ in rows))
    totals = integers(*(total for _, total in rows))
    entries = np.concatenate([integers(*entries) for entries, _ in rows])
    made = shared(entries, counts, totals)
    assert (made >= 0).all()
    assert sums(made, counts).tolist() == totals.tolist()
    for part, (given_to, total) in zip(np.split(made, np.cumsum(counts)[:-1]), rows, strict=True):
        if sum(given_to):
            assert np.abs(part - np.array(given_to) * (total / sum(given_to))).max() <= 1.01


@pytest.mark.parametrize(
    ("op", "flags", "common", "why"),
    [
        (Op.ISEND, 0, False, ""),
        (Op.ALLTOALLV, 0, False, ""),
        (Op.GATHERV, Flag.PICKLED, False, ""),
        (Op.BCAST, 0, True, ""),
        (Op.REDUCE_SCATTER, 0, False, ""),
        (Op.REDUCE_SCATTER, Flag.BLOCK, True, ""),
        (Op.NEIGHBOR, 0, False, "they are not those of messages, or partners stand among them"),
        (Op.PACK, 0, False, "they are not those of messages, or partners stand among them"),
        (Op.SPAWN, 0, False, "they are not those of messages, or partners stand among them"),
        (Op.ISEND, Flag.PERSISTENT, False, "a persistent request has one size whenever it is started"),
        (Op.ALLTOALLV, Flag.IN_PLACE, False, "in place, any two ranks send each other as much"),
    ],
)
def test_what_can_be_drawn(op: Op, flags: int, common: bool, why: str) -> None:
    """Only message sizes can be drawn, and only where each size is sent and received once."""
    assert (fault(op, PLAIN | flags), is_common(op, PLAIN | flags)) == (why, common)


def test_messages_to_nobody_are_empty() -> None:
    """Sends to PROC_NULL have no bytes; collective calls have no partner."""
    assert is_sent(Op.SEND, integers(-1, 0)).tolist() == [False, True]
    assert is_sent(Op.ALLREDUCE, integers(-1, 0)).tolist() == [True, True]


def test_one_size_must_be_named_by_all_members() -> None:
    """Two ranks make three calls; a rank that misses a call or names another size breaks the rule."""
    v = calls(20, 2, 3) | {"example": np.zeros(6, np.int64), "s": np.full(6, 2)}
    comm, sizes = np.zeros(6, np.int64), integers(1, 2, 3, 1, 2, 3)
    assert is_named_once(v, comm, sizes)
    assert not is_named_once(v, comm, integers(1, 2, 3, 1, 2, 4))
    assert not is_named_once({name: column[:5] for name, column in v.items()}, comm[:5], sizes[:5])


def test_messages_are_told_apart_where_each_call_has_as_many() -> None:
    """Messages are numbered if all calls have the same small number of them; calls without messages do not count."""
    assert [messages_of(integers(*each)) for each in ((2, 2, 0), (1, 2), (9, 9), ())] == [2, 1, 1, 1]
