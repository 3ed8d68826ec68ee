"""Rankings by queues, by NERSC's figures and by weighted sums: comparisons computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from clue.errors import UsageError
from clue.machine import Machine, NodeType, Placement
from clue.predict.application import Application
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Criterion, Entry, Limits, Option, Ranking, Scenario, rank_options
from clue.purchase.queue.mix import JobClass, Mix, OfficeHours, Sharing
from clue.purchase.scenario import Layout
from clue.purchase.splits import Split, beside_copies
from clue.purchase.sustained import Reference, ReferenceSystem
from clue.trace import Trace, TraceBuilder
from clue.uncertainty import Sampling
from tests.kernel.cases import machine
from tests.purchase.test_ranking import option, scenario, traces, workload

#: A job every 10 s; it takes 3 s on four nodes and 6 s on two.
JOBS = Mix((JobClass("job", "job", 0.1),), jobs=600, replications=6)
FOUR, TWO = option("four", 4, 300), option("two", 2, 100)


def ranked(of: Scenario, **more: Any) -> Ranking:
    """Rank the options of a scenario."""
    return rank_options(of, ReplayPredictor(traces), **more)


def by(criterion: Criterion, *options: Any, **fields: Any) -> dict[str, float | None]:
    """Return the score of each option that has a position, in order."""
    asked = scenario(*(options or (TWO, FOUR)), criterion=criterion, **{"queue": JOBS, **fields})
    return {entry.option: entry.score for entry in ranked(asked).entries if entry.position}


def entries(**fields: Any) -> dict[str, Entry]:
    """Return the entries of both options, ranked by waiting time."""
    asked = scenario(FOUR, TWO, **{"criterion": Criterion.WAITING, "queue": JOBS, **fields})
    return {entry.option: entry for entry in ranked(asked).entries}


def test_jobs_wait_as_queueing_theory_says() -> None:
    """Each job uses all nodes: M/D/1. Load 0.3: 0.3 · 3 s / 1.4 = 0.643 s; load 0.6: 0.6 · 6 s / 0.8 = 4.5 s."""
    found = entries(queue=replace(JOBS, jobs=3000, replications=10))
    assert list(found) == ["four", "two"]
    for entry, expected in zip(found.values(), (0.9 / 1.4, 4.5), strict=True):
        assert entry.queue is not None and entry.queue.figures is not None and entry.queue.errors is not None
        assert entry.score == entry.queue.figures.waiting
        assert abs(entry.score - expected) < 4 * entry.queue.errors.waiting
    assert found["four"].queue is not None
    assert found["four"].queue.load == pytest.approx(0.3)
    assert found["four"].queue.capacity == pytest.approx(1.0)


def test_criteria_of_queues() -> None:
    """At most 1,200 jobs an hour on four nodes and 600 on two; about 2.8 and 0.8 nodes are idle on average."""
    assert by(Criterion.JOB_THROUGHPUT) == pytest.approx({"four": 1200.0, "two": 600.0})
    unused = by(Criterion.UNUSED_NODES)
    assert list(unused) == ["two", "four"]
    assert list(unused.values()) == pytest.approx([0.8, 2.8], rel=0.05)
    slow = by(Criterion.SLOWDOWN)
    assert list(slow) == ["four", "two"]
    assert min(each for each in slow.values() if each is not None) >= 1


def test_numbers_of_ranks_decide_how_many_nodes_a_job_takes() -> None:
    """Half of the jobs use one rank for 12 s, half four ranks for 3 s: each needs 12 of 40 node-seconds in 10 s.

    An option of two nodes cannot run jobs of four ranks.
    """
    both = replace(JOBS, classes=(replace(JOBS.classes[0], ranks={1: 1.0, 4: 1.0}),))
    found = entries(queue=both)
    queue = found["four"].queue
    assert queue is not None
    assert {ranks: (taken.nodes, taken.run) for ranks, taken in queue.takes[0].items()} == {1: (1, 12), 4: (4, 3)}
    assert queue.load == pytest.approx(0.3)
    assert found["two"].reason == "job class job must fit: 4 ranks need as many processors, the machine has 2"


@pytest.mark.parametrize("slow_first", [False, True])
@pytest.mark.parametrize("searched", [False, True])
def test_jobs_are_placed_as_is_best(slow_first: bool, searched: bool) -> None:
    """One rank gets the fast node (12 s) instead of the slow one (24 s), in any node order; two ranks take 12 s."""
    fast, slow = NodeType("fast"), NodeType("slow", performance_factor=2.0)
    nodes = (slow, fast) if slow_first else (fast, slow)
    mixed = Option("mixed", Machine("mixed", nodes, machine(2).network))
    ways: dict[str, Any] = {"layouts_searched": True} if searched else {"layouts": (Layout(), Layout(backwards=True))}
    jobs = replace(JOBS, classes=(JobClass("job", "job", 0.05, ranks={1: 0.5, 2: 0.5}),))
    (entry,) = ranked(
        scenario(mixed, workloads=(workload(ranks=(1, 2), **ways),), criterion=Criterion.WAITING, queue=jobs)
    ).entries
    assert entry.queue is not None
    assert {ranks: taken.run for ranks, taken in entry.queue.takes[0].items()} == {1: 12, 2: 12}


def test_a_queue_that_grows_without_end_has_no_position() -> None:
    """A job every 5 s takes 6 s on two nodes; that option has no position, and a warning names the load."""
    busy = replace(JOBS, classes=(JobClass("job", "job", 0.2),))
    found = entries(queue=busy)
    assert found["four"].position == 1
    assert found["two"].reason == (
        "load must be below what the policy lets nodes do, got 1.2 of 1: the queue grows without bound"
    )
    told = ranked(scenario(TWO, queue=busy))
    assert told.entries[0].position == 1 and told.entries[0].queue is not None
    assert told.entries[0].queue.figures is None
    assert any("the load is 1.2, and nodes can process 1 at most: the queue grows without bound" in each
               for each in told.warnings)  # fmt: skip


def test_nobody_may_be_able_to() -> None:
    """If every option's queue grows without bound, a warning names the nearest option."""
    busy = replace(JOBS, classes=(JobClass("job", "job", 0.5),))
    told = ranked(scenario(TWO, FOUR, queue=busy, criterion=Criterion.WAITING))
    assert all(entry.position is None for entry in told.entries)
    assert told.warnings[0] == (
        "load must be below what the policy lets nodes do: none of the options meets it; the nearest is four with "
        "1.5 of 1: the queue grows without bound"
    )


def test_the_nearest_is_the_one_whose_load_is_least_of_what_it_can_do() -> None:
    """Two jobs of three nodes every 5 s. One at a time runs on five nodes: 4 s · 0.4 / s · 3 / 5 = 0.96 of 0.6.

    On three faster nodes it takes 3.6 s: 1.44 of 1. So the five nodes lack more, although their load is lower.
    """
    busy = replace(JOBS, classes=(JobClass("job", "job", 0.4, ranks={3: 1.0}),), jobs=200, replications=2)
    options = option("five", 5, 500), option("three", 3, 300, performance_factor=0.9)
    told = ranked(scenario(*options, workloads=(workload(ranks=(3,)),), queue=busy, criterion=Criterion.WAITING))
    assert told.warnings[0] == (
        "load must be below what the policy lets nodes do: none of the options meets it; the nearest is three with "
        "1.44 of 1: the queue grows without bound"
    )


def test_limits_of_queues() -> None:
    """A limit on the mean wait, or a time limit of a job class below the run time, excludes an option."""
    found = entries(criterion=Criterion.POINTS, limits=Limits(waiting=2.0))
    assert found["four"].position == 1
    assert found["two"].reason.startswith("mean waiting must be at most 2 s, got 4.")
    late = entries(criterion=Criterion.POINTS, queue=replace(JOBS, classes=(replace(JOBS.classes[0], ranks={1: 1.0}),)),
                   workloads=(workload(ranks=(1, 4), deadline=4.0),))  # fmt: skip
    assert late["four"].reason == "job class job: a run must end within 4 s, got 12 s"
    short = replace(JOBS, classes=(replace(JOBS.classes[0], limit=5.0),))
    found = entries(criterion=Criterion.POINTS, queue=short)
    assert found["two"].reason == "job class job: a job must end within its time limit of 5 s, got 6 s"


def test_a_deadline_is_of_a_run_and_a_time_limit_of_a_job() -> None:
    """Two instances in turn on one node take 12 s each: within a deadline of 15 s. The job takes 24 s: over 20 s."""
    both = workload(ranks=(1,), instances=2, deadline=15.0)
    jobs = replace(JOBS, classes=(JobClass("job", "job", 0.01),), jobs=200, replications=2)
    (entry,) = ranked(scenario(option("one", 1, 100), workloads=(both,), queue=jobs)).entries
    assert entry.position == 1 and entry.queue is not None
    assert entry.queue.takes[0][0].run == pytest.approx(24.0)
    short = replace(jobs, classes=(replace(jobs.classes[0], limit=20.0),))
    (entry,) = ranked(scenario(option("one", 1, 100), workloads=(both,), queue=short)).entries
    assert entry.reason == "job class job: a job must end within its time limit of 20 s, got 24 s"


def test_what_a_queue_leaves_out_is_said() -> None:
    """Warnings name what the queue ignores: contention between jobs, and nodes that differ."""
    told = ranked(scenario(FOUR, TWO, queue=JOBS))
    assert any("run times of jobs are those on an empty machine" in each for each in told.warnings)
    both = (NodeType("one"), NodeType("other"))
    mixed = replace(FOUR, machine=Machine("mixed", both, FOUR.machine.network))
    told = ranked(scenario(mixed, queue=JOBS))
    assert any("nodes differ, but are equal in the queue" in each for each in told.warnings)
    assert not any("queue" in each for each in ranked(scenario(FOUR)).warnings)


def test_a_curve_of_very_many_jobs_is_left_out() -> None:
    """Ten seconds between jobs are 60,480 a week, and 0.95 / 0.3 times as many at the last point: a warning says so."""
    busy = replace(JOBS, office_hours=OfficeHours(8 * 3600, 18 * 3600, 0.8))
    told = ranked(scenario(FOUR, queue=busy), thorough=True)
    assert told.entries[0].queue is not None and told.entries[0].queue.curve == ()
    assert any("mean waiting times at other loads are left out" in each for each in told.warnings)


def test_jobs_may_run_beside_copies_of_themselves() -> None:
    """With nothing shared, a two-rank job beside a copy on four nodes takes as long as alone."""
    asked = replace(JOBS, classes=(replace(JOBS.classes[0], ranks={2: 1.0}),), sharing=Sharing.COPIES)
    told = ranked(scenario(FOUR, queue=asked))
    queue = told.entries[0].queue
    assert queue is not None and queue.takes[0][2].nodes == 2 and queue.takes[0][2].run == pytest.approx(6.0)
    assert not any("empty machine" in each for each in told.warnings)


def message(application: Application, ranks: int) -> Trace:  # noqa: ARG001 - as others
    """Return a trace in which rank 0 sends a message to rank 1."""
    trace = TraceBuilder(ranks)
    trace[0].send(1, 1000)
    trace[1].recv(0)
    return trace.build()


def test_what_jobs_slow_each_other_is_said() -> None:
    """Alone: 11 ms to send, 102 ms on the way, 1 ms to receive; two transfers at once take twice the 113 ms each."""
    asked = replace(JOBS, classes=(replace(JOBS.classes[0], ranks={2: 1.0}),), sharing=Sharing.COPIES)
    shared = replace(FOUR, machine=machine(4, contention={1: 1.0, 2: 2.0}))
    job = workload(ranks=(2,))
    told = rank_options(scenario(shared, workloads=(job,), queue=asked), ReplayPredictor(message))
    queue = told.entries[0].queue
    assert queue is not None
    alone, beside = told.entries[0].workloads[0].makespan, queue.takes[0][2].run
    assert (alone, beside) == pytest.approx((0.114, 0.227))
    assert any("99% longer beside copies of themselves than alone" in each for each in told.warnings)


def test_copies_stand_on_nodes_of_their_own() -> None:
    """The copy takes the next nodes of the same types; if there are too few, the job stays alone."""
    alone = Split(1, 3, 1, Placement((0, 0, 1)), 0)
    assert beside_copies(alone, machine(5)).placement.nodes == (0, 0, 1, 2, 2, 3)
    assert beside_copies(alone, machine(3)).placement == alone.placement
    small, large = NodeType("small"), NodeType("large")
    mixed = Machine("mixed", (small, large, small, large, large), machine(2).network)
    assert beside_copies(alone, mixed).placement.nodes == (0, 0, 1, 2, 2, 3)
    last = replace(alone, placement=Placement((4, 4, 3)))
    assert beside_copies(last, machine(5)).placement.nodes == (4, 4, 3, 2, 2, 1)
    assert beside_copies(last, machine(5)).side_by_side == 2
    assert beside_copies(last, mixed).placement == last.placement


# --- NERSC's figures ---


def test_sustained_system_performance() -> None:
    """12 Tflop in 3 s on four nodes: 1 Tflop/s per node, times 4; in 6 s on two nodes: 1 per node, times 2."""
    assert by(Criterion.SSP, operations={"job": 12e12}) == pytest.approx({"four": 4.0, "two": 2.0})


def test_scalable_system_improvement() -> None:
    """The reference took 24 s on five of its ten nodes: 5/4 · 4/10 · 24/3 = 4, and 5/2 · 2/10 · 24/6 = 2."""
    system = ReferenceSystem(10, {"job": Reference(5, 24.0)})
    assert by(Criterion.SSI, reference=system) == pytest.approx({"four": 4.0, "two": 2.0})


def test_weights_count_in_geometric_means() -> None:
    """The second workload takes three times as long and counts twice: (4 · (4/3)²)^(1/3)."""
    jobs = (workload(ranks=(4,)), workload("large", ranks=(4,), factor="3", weight=2.0))
    found = by(Criterion.SSP, FOUR, workloads=jobs, queue=None, operations={"job": 12e12, "large": 12e12})
    assert found["four"] == pytest.approx((4 * (4 / 3) ** 2) ** (1 / 3))


def test_a_speedup_below_one_is_said() -> None:
    """NERSC requires a speedup of at least 1; a warning says if it is lower."""
    system = ReferenceSystem(10, {"job": Reference(5, 1.5)})
    told = ranked(scenario(FOUR, criterion=Criterion.SSI, reference=system))
    assert any(
        "its speedup over the reference system is 0.5: NERSC requires at least 1" in each for each in told.warnings
    )


@pytest.mark.parametrize("top", [1, 2])
def test_bounds_find_the_first_by_nerscs_figures(top: int) -> None:
    """A run of 12 Tflop takes 12 s of a node in any split, so n nodes have an SSP of n; requested or not, six lead."""
    many = [option(f"n{n}", n) for n in (1, 2, 3, 4, 5, 6)]
    asked = scenario(*many, criterion=Criterion.SSP, operations={"job": 12e12})
    whole = [(f"n{n}", pytest.approx(float(n))) for n in (6, 5, 4, 3, 2, 1)]
    assert [(each.option, each.score) for each in ranked(asked, top=top).entries][:top] == whole[:top]
    assert [(each.option, each.score) for each in ranked(asked).entries] == whole


# --- weighted sums ---


def test_a_weighted_sum_by_hand() -> None:
    """Points: 100 and 50. Costs of a run: 300 · 3 and 100 · 6, shares 600 / 900 and 1. Together 83.3 and 75."""
    weights = {Criterion.POINTS: 1.0, Criterion.COST_PER_RUN: 1.0}
    found = by(Criterion.WEIGHTED, weighted=weights, queue=None)
    assert found == pytest.approx({"four": 50 + 100 / 3, "two": 75.0})
    heavy = {Criterion.POINTS: 1.0, Criterion.COST_PER_RUN: 3.0}
    assert list(by(Criterion.WEIGHTED, weighted=heavy, queue=None)) == ["two", "four"]


@pytest.mark.parametrize("top", [1, None])
def test_weighted_sums_have_queues_in_them(top: int | None) -> None:
    """A weighted sum may include a criterion of queues, and the entry reports the figures of all parts."""
    weights = {Criterion.SLOWDOWN: 1.0, Criterion.THROUGHPUT: 3.0}
    asked = scenario(TWO, FOUR, criterion=Criterion.WEIGHTED, weighted=weights, queue=JOBS)
    first = ranked(asked, top=top).entries[0]
    assert (first.option, first.score) == ("four", pytest.approx(100.0))
    assert first.parts[Criterion.THROUGHPUT] == pytest.approx(1200.0)
    assert 1 <= first.parts[Criterion.SLOWDOWN] < 2


def test_a_weighted_sum_where_nobody_keeps_a_limit() -> None:
    """If no option meets the deadline, no option has a position, and nothing fails."""
    job = workload(ranks=(1, 2, 4), deadline=1.0)
    asked = scenario(TWO, FOUR, workloads=(job,), criterion=Criterion.WEIGHTED, weighted={Criterion.POINTS: 1.0})
    assert all(entry.position is None for entry in ranked(asked).entries)


def test_the_best_by_one_criterion_alone_has_all_its_points() -> None:
    """A weighted sum of one criterion gives the order of that criterion, and 100 to the first option."""
    for criterion in (Criterion.MAKESPAN, Criterion.WAITING, Criterion.COST_PER_RUN, Criterion.POINTS):
        alone, summed = by(criterion), by(Criterion.WEIGHTED, weighted={criterion: 2.0})
        assert list(alone) == list(summed)
        assert next(iter(summed.values())) == pytest.approx(100.0)


def test_the_front_may_have_weighted_sums_and_queues() -> None:
    """The front combines a weighted sum with a criterion of queues."""
    weights = {Criterion.POINTS: 1.0}
    asked = scenario(TWO, FOUR, pareto=(Criterion.WEIGHTED, Criterion.UNUSED_NODES), weighted=weights, queue=JOBS)
    found = ranked(asked)
    assert set(found.pareto or ()) == {"two", "four"}
    assert {each.option: each.figures[Criterion.WEIGHTED] for each in found.entries} == pytest.approx(
        {"four": 100.0, "two": 50.0}
    )


# --- refused input ---


@pytest.mark.parametrize(
    ("criterion", "what"),
    [
        (Criterion.WAITING, "jobs"),
        (Criterion.SSP, "operations of job"),
        (Criterion.SSI, "reference of job"),
        (Criterion.WEIGHTED, "weights of criteria"),
    ],
)
def test_a_criterion_needs_its_figures(criterion: Criterion, what: str) -> None:
    """The message names the missing input and the criterion."""
    with pytest.raises(UsageError, match=f"by hand: {what} must be stated for the criterion {criterion.value}"):
        ranked(scenario(FOUR, criterion=criterion))


def test_samples_have_no_queues() -> None:
    """Samples by a criterion of queues are refused, as each sample would need its own queue simulation."""
    with pytest.raises(UsageError, match="samples must be of criteria without a queue, got waiting"):
        ranked(scenario(FOUR, criterion=Criterion.WAITING, queue=JOBS), sampling=Sampling(30))


def test_an_interrupted_ranking_has_queues_of_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interrupt, scores are finite, but no position is certain."""
    from clue.purchase.search import Search  # noqa: PLC0415 - what is interrupted

    def interrupted(self: Search, *, thorough: bool = False) -> None:  # noqa: ARG001 - as it is
        self.settle(self.attempts[:1])
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "run", interrupted)
    weights = {Criterion.POINTS: 1.0, Criterion.WAITING: 1.0}
    found = ranked(scenario(TWO, FOUR, criterion=Criterion.WEIGHTED, weighted=weights, queue=JOBS))
    assert found.interrupted and found.certain == 0
    assert found.entries[0].score is not None and math.isfinite(found.entries[0].score)


def test_classes_of_jobs_wait_on_their_own() -> None:
    """Jobs take 3 s on four nodes: a at 0, b at 1 s (waits 2 s), b at 20 s (waits 0 s); b waits 1 s on average."""
    classes = (JobClass("a", "job", 0.0, submitted=(0.0,)), JobClass("b", "job", 0.0, submitted=(1.0, 20.0)))
    queue = entries(queue=Mix(classes), criterion=Criterion.JOB_THROUGHPUT)["four"].queue
    assert queue is not None and queue.figures is not None
    assert {name: of.waiting for name, of in queue.by_class.items()} == {"a": 0.0, "b": pytest.approx(1.0)}
    assert {name: of.slowdown for name, of in queue.by_class.items()} == {"a": 1.0, "b": 1.0}
    assert queue.figures.waiting == pytest.approx(2 / 3)
