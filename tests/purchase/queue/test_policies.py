"""Who starts when: by hand, and the fast implementation held to the one in SimPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.purchase.queue import fast, reference
from clue.purchase.queue.jobs import Doubles, Jobs
from clue.purchase.queue.mix import Policy

NODES = 10
#: Submitted, nodes, run, time limit.
TWELVE = [
    (0, 6, 10, 10),
    (1, 6, 5, 8),
    (2, 4, 8, 8),
    (3, 2, 3, 3),
    (4, 3, 20, 20),
    (5, 2, 4, 4),
    (6, 1, 30, 30),
    (7, 1, 2, 3),
    (12, 1, 1, 1),
    (14, 5, 6, 6),
    (14, 4, 4, 5),
    (16, 4, 3, 3),
]
Start = Callable[[Jobs, int, Policy], Doubles]


def jobs_of(rows: list[tuple[float, int, float, float]]) -> Jobs:
    """Return jobs by when they are submitted, their nodes, run times and limits."""
    submit, nodes, run, limit = (np.array(column) for column in zip(*rows, strict=True))
    floats = (column.astype(np.float64) for column in (submit, run, limit))
    when, run, limit = floats
    return Jobs(when, nodes.astype(np.int64), run, limit, np.zeros(len(rows), np.int64))


@pytest.mark.parametrize("start", [reference.start_times, fast.start_times])
def test_twelve_jobs_with_backfilling(start: Start) -> None:
    """Ten nodes; job: nodes, run (limit where it differs). First is the first that waits.

    ====  ==============================================================================================  ======
    time  what happens                                                                                    free
    ====  ==============================================================================================  ======
    0     1 (6, 10) starts                                                                                4
    1     2 (6, 5 of 8) is first: it has its nodes at 10, and 4 are left over then                        4
    2     3 (4, 8) ends at 10: starts                                                                     0
    10    1 and 3 end: 2 starts until 18 at most, 4 (2, 3) starts; 5 (3, 20) is first: at 13, 1 over       2
          6 (2, 4) would end at 14, and 1 is over: waits; 7 (1, 30) takes the one that is over: starts    1
          8 (1, 2 of 3) ends at 13 at most: starts                                                        0
    12    8 ends early; 9 (1, 1) is submitted and ends at 13: starts                                      0
    13    4 and 9 end: 5 starts                                                                           0
    15    2 ends early: 6 starts until 19; 10 (5, 6) is first: at 19, 1 over                               4
          11 (4, 4 of 5) would end at 20 by its limit: waits, though it would be done at 19               4
    16    12 (4, 3) ends at 19: starts                                                                    0
    19    6 and 12 end: 10 starts; 11 is first                                                            1
    25    10 ends: 11 starts                                                                              2
    ====  ==============================================================================================  ======
    """
    found = start(jobs_of([*TWELVE]), NODES, Policy.BACKFILL)
    assert found.tolist() == [0, 10, 2, 10, 13, 15, 10, 10, 12, 19, 25, 16]


@pytest.mark.parametrize("start", [reference.start_times, fast.start_times])
def test_twelve_jobs_first_come_first_served(start: Start) -> None:
    """The same jobs: 3 waits for 2 at 10, 4 and 5 for the end of 2 at 15, 6 to 9 for those of 3 and 4 at 18.

    10 needs 5 nodes: at 19 there are 3, at 20 4, at 22 6. 11 waits for its end at 28, 12 for that of 11 at 32.
    """
    found = start(jobs_of([*TWELVE]), NODES, Policy.FCFS)
    assert found.tolist() == [0, 10, 10, 15, 15, 18, 18, 18, 18, 22, 28, 32]


@st.composite
def queues(draw: st.DrawFn) -> tuple[Jobs, int]:
    """Draw jobs, many of them at the same times, and how many nodes there are."""
    nodes = draw(st.integers(1, 12))
    time = st.integers(0, 40) | st.floats(0, 40)
    positive = st.integers(1, 12) | st.floats(0.1, 12)
    rows = draw(
        st.lists(st.tuples(time, st.integers(1, nodes), positive, st.integers(0, 3) | st.floats(0, 8)), min_size=1)
    )
    return jobs_of(sorted((when, n, run, run + over) for when, n, run, over in rows)), nodes


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("few", [0, 1, 24])
def test_fast_starts_jobs_when_the_reference_does(few: int, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, whether jobs are tried one by one or as columns."""
    monkeypatch.setattr(fast, "_FEW", few)
    monkeypatch.setattr(fast, "_BLOCK", 3)

    @given(queues())
    def check(drawn: tuple[Jobs, int]) -> None:
        jobs, nodes = drawn
        assert fast.start_times(jobs, nodes, policy).tolist() == reference.start_times(jobs, nodes, policy).tolist()

    check()


@pytest.mark.parametrize("policy", Policy)
@given(queues())
def test_nodes_are_never_taken_twice(policy: Policy, drawn: tuple[Jobs, int]) -> None:
    """Nor does a job start before it is submitted."""
    jobs, nodes = drawn
    starts = fast.start_times(jobs, nodes, policy)
    assert (starts >= jobs.submit).all()
    for time in starts:
        running = (starts <= time) & (time < starts + jobs.run)
        assert jobs.nodes[running].sum() <= nodes


@given(queues())
def test_nobody_overtakes_where_who_comes_first_is_served_first(drawn: tuple[Jobs, int]) -> None:
    """Start times do not fall."""
    jobs, nodes = drawn
    assert (np.diff(fast.start_times(jobs, nodes, Policy.FCFS)) >= 0).all()


@given(queues())
def test_the_first_in_the_queue_is_not_delayed_by_backfilling(drawn: tuple[Jobs, int]) -> None:
    """The first job that finds too few nodes starts no later than without it, where limits are what jobs take."""
    jobs, nodes = drawn
    exact = Jobs(jobs.submit, jobs.nodes, jobs.run, jobs.run, jobs.kind)
    served, backfilled = (fast.start_times(exact, nodes, policy) for policy in (Policy.FCFS, Policy.BACKFILL))
    waiting = np.flatnonzero(served > exact.submit)
    if len(waiting):
        assert backfilled[waiting[0]] <= served[waiting[0]]


def test_a_job_that_takes_all_nodes_gets_its_turn() -> None:
    """Eight nodes; two jobs of 4 and 3 from 0 to 100, one of all 8 at 1, small ones of 10 s at 2 and 95.

    The small one at 2 ends before 100: it starts. That at 95 would end at 105: it waits until the large one is done.
    """
    rows: list[tuple[float, int, float, float]] = [(0, 4, 100, 100), (0, 3, 100, 100), (1, 8, 10, 10)]
    rows += [(2, 1, 10, 10), (95, 1, 10, 10)]
    assert fast.start_times(jobs_of(rows), 8, Policy.BACKFILL).tolist() == [0, 0, 100, 2, 110]
