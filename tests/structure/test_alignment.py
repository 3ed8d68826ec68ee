"""Ranks that skip iterations are aligned by the partners that they meet in the others."""

from __future__ import annotations

import numpy as np

from clue.structure import Example, Tables
from clue.trace.sites import UNKNOWN
from tests.structure.programs import CASES
from tests.structure.stub import Comm, Program, run


def _tables(program: Program, size: int, ranks: int) -> Tables:
    trace = run(program, size, ranks)
    sites = (UNKNOWN, *trace.head.sites)
    numbers = np.array([sites.index(site) for site in trace.head.sites], np.int64)
    return Tables.of(sites, [Example(size, ranks, trace, numbers[trace.ops.site])])


def _iterations(tables: Tables, call: str) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for part, rows in tables.parts.items():
        if part.call == call and part.which == 0:
            for _, rank, at in rows.keys:
                found.setdefault(rank, []).append(at)
    return {rank: sorted(set(each)) for rank, each in found.items()}


def test_odd_even_phases_are_those_in_which_partners_meet() -> None:
    """On four ranks, the first and the last rank skip every second phase."""
    tables = _tables(CASES["odd_even"].program, 50, 4)
    assert _iterations(tables, "Sendrecv")[0] == [0, 1]
    aligned = tables.aligned()
    assert aligned is not None
    assert _iterations(aligned, "Sendrecv") == {0: [0, 2], 1: [0, 1, 2, 3], 2: [0, 1, 2, 3], 3: [0, 2]}


def test_all_ranks_go_through_a_shared_loop_as_often() -> None:
    """A rank that skips iterations counts them without a call, so that all ranks have the same number."""
    aligned = _tables(CASES["odd_even"].program, 50, 4).aligned()
    assert aligned is not None
    (loop,) = aligned.shared
    assert aligned.loops[loop] == {(0, rank): 4 for rank in range(4)}


def test_steps_of_a_binomial_tree_are_counted_by_everybody() -> None:
    """Of five ranks, rank 2 receives in the second step and rank 4 in the third, each with its first call."""
    aligned = _tables(CASES["binomial"].program, 50, 5).aligned()
    assert aligned is not None
    assert _iterations(aligned, "Recv") == {1: [0], 2: [1], 3: [1], 4: [2]}
    assert _iterations(aligned, "Send") == {0: [0, 1, 2], 1: [1]}


def test_collective_calls_of_some_ranks_align_iterations() -> None:
    """Rank 2 takes part only in odd iterations, where it meets rank 1, which is in all iterations."""

    def program(comm: Comm, n: int) -> None:
        middle = comm.split(lambda rank: 0 if rank in (1, 2) else None)
        for i in range(n):
            if comm.rank < 2:
                comm.sendrecv(8, 1 - comm.rank, 1 - comm.rank)
            if middle is not None and i % 2:
                middle.barrier()

    aligned = _tables(program, 4, 4).aligned()
    assert aligned is not None
    assert _iterations(aligned, "Barrier") == {1: [1, 3], 2: [1, 3]}


def test_what_is_aligned_stays_as_it_is() -> None:
    """Ranks of a ring meet in every iteration, so there is nothing to align."""
    assert _tables(CASES["ring"].program, 50, 4).aligned() is None


def test_iterations_that_cannot_meet_stay_as_they_are() -> None:
    """Messages that are received in the iteration after they are sent cannot be aligned."""

    def program(comm: Comm, n: int) -> None:
        for i in range(n):
            if i > 0:
                comm.recv((comm.rank - 1) % comm.size)
            if i < n - 1:
                comm.send(8, (comm.rank + 1) % comm.size)

    assert _tables(program, 5, 3).aligned() is None
