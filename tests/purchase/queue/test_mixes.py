"""Submitted jobs, figures measured from them, and queues that grow without bound: small cases computed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.purchase.queue.arrivals import Taken, draw_jobs
from clue.purchase.queue.figures import Counted, measure
from clue.purchase.queue.mix import JobClass, Mix, OfficeHours, Policy, Recorded
from clue.purchase.queue.replications import simulate_queue, with_curve
from tests.purchase.queue.test_policies import jobs_of

HOUR, DAY = 3600.0, 86400.0
WEEK = 7 * DAY
#: Per hour: two one-node jobs of 15 minutes, and one three-node job of 10 minutes.
SMALL, WIDE = JobClass("small", "small", 2 / HOUR), JobClass("wide", "wide", 1 / HOUR)
TAKES = ({0: Taken(1, 900.0)}, {0: Taken(3, 600.0)})


def mix(*classes: JobClass, **fields: object) -> Mix:
    """Return a mix, by default of both classes."""
    return Mix(classes or (SMALL, WIDE), **fields)  # type: ignore[arg-type]


# --- submitted jobs ---


def test_jobs_come_as_often_as_stated() -> None:
    """Two of three jobs are small, and three jobs arrive per hour."""
    jobs = draw_jobs(mix(jobs=20_000), TAKES, 0)
    assert (jobs.kind == 0).mean() == pytest.approx(2 / 3, abs=0.02)
    assert len(jobs) / jobs.submit[-1] == pytest.approx(3 / HOUR, rel=0.03)
    assert set(zip(jobs.kind.tolist(), jobs.nodes.tolist(), jobs.run.tolist(), strict=True)) == {
        (0, 1, 900.0),
        (1, 3, 600.0),
    }


def test_options_see_the_same_jobs() -> None:
    """The same jobs arrive at the same times on a machine twice as fast; a doubled rate halves the times."""
    slow, fast = (draw_jobs(mix(), [{0: Taken(1, run)}, {0: Taken(3, run)}], 4) for run in (100.0, 50.0))
    assert (slow.submit == fast.submit).all() and (slow.kind == fast.kind).all()
    assert draw_jobs(mix(), TAKES, 4, 2.0).submit == pytest.approx(slow.submit / 2)
    assert (draw_jobs(mix(), TAKES, 5).submit != slow.submit).all()


def test_time_limits_are_stated_or_overestimated() -> None:
    """Limits are four times the run time, or 20 minutes as stated; by default they equal the run time."""
    over, stated = replace(SMALL, overestimate=4.0), replace(WIDE, limit=1200.0)
    jobs = draw_jobs(mix(over, stated), TAKES, 0)
    assert set(jobs.limit[jobs.kind == 0]) == {3600.0} and set(jobs.limit[jobs.kind == 1]) == {1200.0}
    exact = draw_jobs(mix(), TAKES, 0)
    assert (exact.limit == exact.run).all()


def test_run_times_may_vary() -> None:
    """Run times vary around the prediction; limits follow the prediction but are never below the run time."""
    varied = replace(SMALL, variation=0.5, overestimate=2.0)
    jobs = draw_jobs(mix(varied, jobs=50_000), TAKES[:1], 0)
    assert jobs.run.mean() == pytest.approx(900, rel=0.01)
    assert jobs.run.std() == pytest.approx(450, rel=0.05)
    assert (jobs.limit == np.maximum(1800.0, jobs.run)).all()


def test_waits_grow_with_the_variation_of_run_times() -> None:
    """One node, load 1/2: load · run · (1 + variation²) / (2 · (1 - load)) (Pollaczek and Khinchine)."""
    for variation in (0.0, 1.0):
        one = mix(JobClass("one", "one", 0.5, variation=variation), jobs=5000, replications=20)
        found = simulate_queue(one, [{0: Taken(1, 1.0)}], 1)
        assert found.figures is not None and found.errors is not None
        assert abs(found.figures.waiting - 0.5 * (1 + variation**2)) < 4 * found.errors.waiting


def test_numbers_of_ranks_have_shares() -> None:
    """With shares of 3 to 1, three of four jobs use 8 ranks."""
    several = replace(SMALL, ranks={8: 3.0, 16: 1.0})
    jobs = draw_jobs(mix(several, jobs=8000), [{8: Taken(1, 40.0), 16: Taken(2, 25.0)}], 0)
    assert (jobs.nodes == 1).mean() == pytest.approx(0.75, abs=0.02)
    assert set(jobs.run[jobs.nodes == 2]) == {25.0}


def test_office_hours_hold_their_share() -> None:
    """Nine in ten jobs arrive between 8 and 18 on five days of the week, equally many on each day."""
    hours = OfficeHours(8 * HOUR, 18 * HOUR, 0.9)
    jobs = draw_jobs(mix(jobs=20_000, office_hours=hours), TAKES, 0)
    day, time = np.divmod(jobs.submit % WEEK, DAY)
    within = (day < 5) & (time >= 8 * HOUR) & (time < 18 * HOUR)
    assert within.mean() == pytest.approx(0.9, abs=0.01)
    assert np.bincount(day[within].astype(int)) / within.sum() == pytest.approx([0.2] * 5, abs=0.015)
    assert len(jobs) / jobs.submit[-1] == pytest.approx(3 / HOUR, rel=0.03)


@given(st.floats(0, 0.9), st.floats(0.01, 1), st.floats(0.01, 1))
def test_office_hours_are_a_distribution(begin: float, length: float, share: float) -> None:
    """Times and shares rise from zero to the whole week."""
    end = min(begin + length, 1.0)
    times, shares = zip(*OfficeHours(begin * DAY, end * DAY, share).knots, strict=True)
    assert (np.diff(times) >= 0).all() and (np.diff(shares) >= -1e-12).all()
    assert (times[0], shares[0]) == (0.0, 0.0) and (times[-1], shares[-1]) == (WEEK, 1.0)
    assert shares[-2] <= 1 + 1e-9


def test_listed_jobs_come_when_they_are_listed() -> None:
    """Jobs of two classes are submitted at their listed times, in order of time."""
    both = mix(replace(SMALL, rate=0.0, submitted=(5.0, 60.0)), replace(WIDE, rate=0.0, submitted=(0.0, 30.0)))
    jobs = draw_jobs(both, TAKES, 0)
    assert (jobs.submit.tolist(), jobs.kind.tolist()) == ([0, 5, 30, 60], [1, 0, 1, 0])


def test_recorded_jobs_take_what_is_predicted_or_what_was_recorded() -> None:
    """A job's overestimate of its time limit holds on any machine; a job of no class keeps its recorded figures.

    The first job asked for three times its run time; the second has no class.
    """
    recorded = Recorded(
        "sacct.txt",
        submit=np.array([0.0, 10.0]),
        kind=np.array([0, -1]),
        nodes=np.array([7, 2]),
        run=np.array([100.0, 50.0]),
        limit=np.array([300.0, 60.0]),
    )
    jobs = draw_jobs(mix(replace(SMALL, rate=0.0), recorded=recorded), TAKES[:1], 0)
    assert (jobs.nodes.tolist(), jobs.run.tolist(), jobs.limit.tolist()) == ([1, 2], [900, 50], [2700, 60])


# --- measured figures ---


def test_figures_by_hand() -> None:
    """Two nodes; jobs of one node at 0 (20 s), 0 (100 s), 10 (20 s), 40 (5 s) and 50 s (20 s); the first is left out.

    They start at 0, 0, 20, 40 and 50: one waits for 10 s. From 0 to 50 s one node works all the time, the other 20 + 20
    + 5 s of it: 95 of 100. Slowdowns: 1, 30 / 20, 1 (5 s count as 10) and 1; ends within 50 s: at 20, 40 and 45.
    """
    jobs = jobs_of([(0, 1, 20, 20), (0, 1, 100, 100), (10, 1, 20, 20), (40, 1, 5, 5), (50, 1, 20, 20)])
    found = measure(jobs, np.array([0.0, 0.0, 20.0, 40.0, 50.0]), 2, np.ones(5), Counted(slice(1, None), 0.0, 50.0))
    assert (found.waiting, found.median) == (2.5, 0.0)
    assert found.late == pytest.approx(0.85 * 10)  # between the third and the fourth of four
    assert found.slowdown == pytest.approx((1 + 1.5 + 1 + 1) / 4)
    assert (found.utilisation, found.unused) == pytest.approx((0.95, 0.1))
    assert found.throughput == pytest.approx(3 / 50)
    weighted = measure(
        jobs,
        np.array([0.0, 0.0, 20.0, 40.0, 50.0]),
        2,
        np.array([1.0, 1.0, 7.0, 1.0, 1.0]),
        Counted(slice(1, 9), 0.0, 50.0),
    )
    assert weighted.waiting == pytest.approx(7.0)


def test_jobs_that_come_at_once_are_measured_until_they_are_done() -> None:
    """Three jobs of 5 s on two nodes wait for 0, 0 and 5 s, and use 15 of 20 node-seconds in 10 s."""
    one = mix(JobClass("small", "small", submitted=(0.0, 0.0, 0.0)))
    found = simulate_queue(one, [{0: Taken(1, 5.0)}], 2)
    assert found.figures is not None and found.errors is None
    assert found.figures.waiting == pytest.approx(5 / 3)
    assert found.figures.utilisation == pytest.approx(0.75)
    assert (found.counted, found.left_out, found.replications) == (3, 0, 1)


def test_the_load_is_the_work_that_is_submitted() -> None:
    """Jobs of an hour need 2 · 900 + 3 · 600 of 4 · 3,600 node-seconds; the replications measure the same load."""
    found = simulate_queue(mix(), TAKES, 4)
    assert found.load == pytest.approx(0.25)
    assert found.figures is not None and found.errors is not None
    assert abs(found.figures.utilisation - 0.25) < 5 * found.errors.utilisation
    assert abs(found.figures.throughput - 3 / HOUR) < 5 * found.errors.throughput
    assert found.figures.unused == pytest.approx(4 * (1 - found.figures.utilisation))
    assert (found.counted, found.left_out, found.replications) == (4500, 500, 10)


def test_whole_weeks_count_with_office_hours() -> None:
    """Three jobs an hour are 504 a week: nine of about ten weeks count, and the utilisation equals the load."""
    busy = mix(office_hours=OfficeHours(8 * HOUR, 18 * HOUR, 0.9), jobs=5040)
    found = simulate_queue(busy, TAKES, 4)
    assert found.figures is not None and found.errors is not None
    assert 7 * 504 < found.counted < 10 * 504
    assert found.counted + found.left_out == 5040
    assert abs(found.figures.utilisation - 0.25) < 5 * found.errors.utilisation
    even = simulate_queue(mix(jobs=5040), TAKES, 4)
    assert even.figures is not None and found.figures.waiting > even.figures.waiting


def test_what_is_done_at_most_depends_on_the_policy() -> None:
    """Under FCFS, jobs of 3 nodes keep 3 of 4 nodes busy: 4 jobs of 900 s an hour; backfilling raises the capacity."""
    wide = [{0: Taken(3, 900.0)}]
    found = simulate_queue(mix(SMALL, policy=Policy.FCFS), wide, 4)
    assert found.capacity == pytest.approx(0.75)
    assert found.most == pytest.approx(4 / HOUR)
    mixed = [simulate_queue(mix(policy=policy), TAKES, 4).capacity for policy in Policy]
    assert mixed[0] < mixed[1] <= 1


@pytest.mark.parametrize(
    ("nodes", "kinds", "most", "capacity"),
    [
        (10, [(1, 6, HOUR), (2, 1, HOUR)], 3, 0.8),
        (200, [(1, 101, HOUR), (100, 1, 60.0)], 101, (101 + 100 / 60) / 200),
        (4096, [(1, 2049, HOUR), (99, 1, HOUR)], 100, (2049 + 99) / 4096),
        (9, [(2, 3, HOUR), (4, 4, HOUR)], 3, (4 * 4 + 2 * 3) / 2 / 9),
    ],
)
def test_small_jobs_do_not_hide_that_large_ones_run_one_by_one(
    nodes: int, kinds: list[tuple[int, int, float]], most: float, capacity: float
) -> None:
    """No policy runs jobs of more than half the nodes side by side: one an hour, with all small jobs that belong to it.

    Of jobs of 4 nodes two fit on 9. All small jobs could start before the large ones if they were all in the queue.
    """
    classes = [JobClass(str(i), str(i), jobs / HOUR) for i, (jobs, _, _) in enumerate(kinds)]
    found = simulate_queue(mix(*classes, jobs=500, replications=2), [{0: Taken(n, run)} for _, n, run in kinds], nodes)
    assert found.capacity <= capacity * (1 + 1e-12)
    assert found.most <= most / HOUR * (1 + 1e-12)
    if nodes != 9:  # there, small jobs leave gaps
        assert (found.capacity, found.most) == pytest.approx((capacity, most / HOUR))


def test_a_stated_job_that_fits_once_runs_once_at_a_time() -> None:
    """A job of an hour on 3 of 5 nodes: at most one an hour."""
    found = simulate_queue(mix(JobClass("a", "a", submitted=(0.0,))), [{0: Taken(3, HOUR)}], 5)
    assert found.most == pytest.approx(1 / HOUR)


def test_whole_weeks_contain_their_ends() -> None:
    """If all jobs come in office hours, utilisation and throughput are still those of whole weeks."""
    office = OfficeHours(8 * HOUR, 18 * HOUR, 1.0)
    one = JobClass("small", "small", 7 / HOUR)
    found = simulate_queue(mix(one, office_hours=office, jobs=5000), [{0: Taken(1, 360.0)}], 10)
    assert found.figures is not None and found.errors is not None
    assert abs(found.figures.utilisation - 0.07) < 5 * found.errors.utilisation
    assert abs(found.figures.throughput - 7 / HOUR) < 5 * found.errors.throughput


@pytest.mark.parametrize(("an_hour", "ends"), [(3.9, True), (4.1, False)])
def test_a_queue_without_end_has_no_figures(an_hour: float, ends: bool) -> None:
    """More than 4 jobs an hour exceed the capacity although the load is only 0.77; such a queue has no figures."""
    found = simulate_queue(mix(replace(SMALL, rate=an_hour / HOUR), jobs=500), [{0: Taken(3, 900.0)}], 4)
    assert (found.figures is not None) is ends
    assert found.load < 1


def test_replications_differ_and_agree() -> None:
    """Means for different seeds agree within the errors, and more replications have smaller errors."""
    few, other = (simulate_queue(mix(seed=seed, jobs=1000), TAKES, 2 + 1) for seed in (0, 1))
    many = simulate_queue(mix(jobs=1000, replications=60), TAKES, 3)
    assert few.figures and other.figures and few.errors and other.errors and many.errors
    apart = abs(few.figures.waiting - other.figures.waiting)
    assert 0 < apart < 4 * (few.errors.waiting + other.errors.waiting)
    assert many.errors.waiting < few.errors.waiting


def test_a_curve_has_whole_weeks_of_office_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a load of 0.95 each weekday brings 31.92 h of work for one node between 8 and 18 h, 7.92 h too many.

    Waits grow by 21.92 h within a day, and all is done at the weekend: 10.96 h + 2 · 7.92 h on average.
    """
    monkeypatch.setattr("clue.purchase.queue.replications._LOADS", (0.95,))
    one = JobClass("one", "one", 13_800 / WEEK)
    busy = mix(one, office_hours=OfficeHours(8 * HOUR, 18 * HOUR, 1.0), jobs=60_000, replications=1)
    queue = simulate_queue(busy, [{0: Taken(1, 0.475 * WEEK / 13_800)}], 1)
    ((load, waiting),) = with_curve(busy, queue).curve
    assert load == pytest.approx(0.95)
    assert waiting / HOUR == pytest.approx(26.8, rel=0.05)
    idle = simulate_queue(busy, [{0: Taken(1, 1.0)}], 1)
    assert with_curve(busy, idle).curve == ()


def test_a_curve_rises_with_the_load() -> None:
    """Waits rise with the load, up to 95 % of the capacity."""
    found = with_curve(mix(jobs=1000), simulate_queue(mix(jobs=1000), TAKES, 4))
    loads, waits = zip(*found.curve, strict=True)
    assert loads[-1] == pytest.approx(0.95 * found.capacity)
    assert waits[0] < waits[4] < waits[-1]
