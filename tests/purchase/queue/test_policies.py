"""Start times of jobs: computed by hand, and the fast implementation compared with the one in SimPy."""

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
#: Submission time, nodes, run time, time limit.
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
    """Return jobs from rows of submission time, nodes, run time and limit."""
    submit, nodes, run, limit = (np.array(column) for column in zip(*rows, strict=True))
    floats = (column.astype(np.float64) for column in (submit, run, limit))
    when, run, limit = floats
    return Jobs(when, nodes.astype(np.int64), run, limit, np.zeros(len(rows), np.int64))


@pytest.mark.parametrize("start", [reference.start_times, fast.start_times])
def test_twelve_jobs_with_backfilling(start: Start) -> None:
    """Twelve jobs on ten nodes with backfilling; the table gives each job as (nodes, run time of limit).

    *First* is the job at the head of the queue, which waits for its nodes.

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
    """The same jobs: 3 waits for 2 at 10, 4 and 5 for the end of 2 at 15, 6 to 9 for the ends of 3 and 4 at 18.

    10 needs 5 nodes: 3 are free at 19, 4 at 20, and 6 at 22. 11 waits until 10 ends at 28, and 12 until 11 ends at 32.
    """
    found = start(jobs_of([*TWELVE]), NODES, Policy.FCFS)
    assert found.tolist() == [0, 10, 10, 15, 15, 18, 18, 18, 18, 22, 28, 32]


@st.composite
def queues(draw: st.DrawFn) -> tuple[Jobs, int]:
    """Draw jobs, many of them with equal submission times, and a number of nodes."""
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
    """Start times agree to the last bit, whether jobs are tried one by one or in blocks."""
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
    """Running jobs never use more nodes than there are, and no job starts before its submission."""
    jobs, nodes = drawn
    starts = fast.start_times(jobs, nodes, policy)
    assert (starts >= jobs.submit).all()
    for time in starts:
        running = (starts <= time) & (time < starts + jobs.run)
        assert jobs.nodes[running].sum() <= nodes


@given(queues())
def test_nobody_overtakes_where_who_comes_first_is_served_first(drawn: tuple[Jobs, int]) -> None:
    """Under FCFS, start times are in the order of submission."""
    jobs, nodes = drawn
    assert (np.diff(fast.start_times(jobs, nodes, Policy.FCFS)) >= 0).all()


@given(queues())
def test_the_first_in_the_queue_is_not_delayed_by_backfilling(drawn: tuple[Jobs, int]) -> None:
    """With exact limits, the first job that has to wait starts no later than without backfilling."""
    jobs, nodes = drawn
    exact = Jobs(jobs.submit, jobs.nodes, jobs.run, jobs.run, jobs.kind)
    served, backfilled = (fast.start_times(exact, nodes, policy) for policy in (Policy.FCFS, Policy.BACKFILL))
    waiting = np.flatnonzero(served > exact.submit)
    if len(waiting):
        assert backfilled[waiting[0]] <= served[waiting[0]]


def test_a_job_that_takes_all_nodes_gets_its_turn() -> None:
    """Eight nodes; two jobs of 4 and 3 nodes from 0 to 100, one of all 8 at 1, one-node jobs of 10 s at 2 and 95.

    The job submitted at 2 would end before 100, so it starts. The one at 95 would end at 105, so it waits for the large
    job.
    """
    rows: list[tuple[float, int, float, float]] = [(0, 4, 100, 100), (0, 3, 100, 100), (1, 8, 10, 10)]
    rows += [(2, 1, 10, 10), (95, 1, 10, 10)]
    assert fast.start_times(jobs_of(rows), 8, Policy.BACKFILL).tolist() == [0, 0, 100, 2, 110]
