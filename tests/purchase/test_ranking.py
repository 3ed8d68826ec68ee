"""Rankings of small comparisons that are computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from clue.errors import DeadlockError, UsageError
from clue.machine import Machine
from clue.predict.application import Application
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Component, Criterion, Option, Scenario, Workload, rank_options
from clue.trace import Trace, TraceBuilder
from clue.units import Money
from tests.kernel.cases import machine


def traces(application: Application, ranks: int) -> Trace:
    """Return a program of 12 s divided evenly over its ranks; its first argument, if any, multiplies the time."""
    factor = float(application.arguments[0]) if application.arguments else 1.0
    trace = TraceBuilder(ranks)
    for rank in range(ranks):
        trace[rank].compute(12.0 * factor / ranks)
        trace.declare(rank, peak_memory=240_000_000 // ranks)
    return trace.build()


def workload(name: str = "job", *, share: float = 1.0, factor: str = "1", **fields: object) -> Workload:
    """Return a workload of one kernel."""
    kernel = Component(name, Application(arguments=(factor,), trace="built"), share)
    return Workload(name, (kernel,), **fields)  # type: ignore[arg-type]


def option(name: str, nodes: int, price: float | None = None, **node: Any) -> Option:
    """Return an option of equal nodes."""
    return Option(name, machine(nodes, **node), None if price is None else Money(price, "EUR"))


def scenario(*options: Option, workloads: tuple[Workload, ...] = (), **fields: object) -> Scenario:
    """Return a comparison of options, by default on one job that may use 1, 2 or 4 ranks."""
    default = (workload(ranks=(1, 2, 4)),)
    return Scenario("by hand", workloads or default, options, **fields)  # type: ignore[arg-type]


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let predictors start processes even for very little work."""
    monkeypatch.setattr("clue.predict.executors._ALONE", 0)
    monkeypatch.setattr("clue.predict.executors._WORTH_PROCESSES", 0)


def order(ranking_of: Scenario) -> list[tuple[str, int | None]]:
    """Return options with their positions, in the listed order."""
    return [(entry.option, entry.position) for entry in rank_options(ranking_of, ReplayPredictor(traces)).entries]


def test_a_ranking_needs_a_comparison_and_a_position() -> None:
    """Something other than a comparison, and the first 0 options, are refused with the value."""
    no_comparison: Any = machine(2)
    with pytest.raises(UsageError, match=r"^scenario must be a comparison, got a Machine$"):
        rank_options(no_comparison, ReplayPredictor(traces))
    with pytest.raises(UsageError, match=r"^top must be a whole number of at least 1, got 0$"):
        rank_options(scenario(option("five", 5)), ReplayPredictor(traces), top=0)
    wrong: Any = "3"
    with pytest.raises(UsageError, match=r"^top must be a whole number of at least 1, got '3'$"):
        rank_options(scenario(option("five", 5)), ReplayPredictor(traces), top=wrong)


@pytest.mark.parametrize("wrong", [None, traces, ReplayPredictor])
def test_a_ranking_needs_a_predictor(wrong: Any) -> None:
    """A source of traces, or the class of a predictor, predicts nothing."""
    with pytest.raises(UsageError, match=r"^predictor must be one such as clue\.ReplayPredictor\(traces\), got "):
        rank_options(scenario(option("five", 5)), wrong)


def test_a_predictor_needs_a_source_of_traces_and_workers() -> None:
    """A trace is no source of traces, nor is a function that returns the names of files."""
    predictor: Any = ReplayPredictor
    for wrong in (traces(Application(trace="built"), 1), {"job": "job.clue"}):
        with pytest.raises(UsageError, match="traces must be a function of an application and a number of ranks that"):
            predictor(wrong)
    with pytest.raises(
        UsageError, match=r"trace must be one that clue\.Trace\.open or a builder returned, got 'built'"
    ):
        rank_options(scenario(option("five", 5)), predictor(lambda application, _: application.trace))
    for workers in (0, -1, 1.5, "2"):
        with pytest.raises(UsageError, match=f"workers must be a whole number of at least 1, got {workers!r}"):
            predictor(traces, workers=workers)


def test_best_split_is_chosen_and_idle_processors_told() -> None:
    """On five nodes, 4 ranks take 3 s and leave one node idle."""
    (entry,) = rank_options(scenario(option("five", 5)), ReplayPredictor(traces)).entries
    (outcome,) = entry.workloads
    assert (outcome.ranks, outcome.side_by_side, outcome.turns, outcome.idle) == (4, 1, 1, 1)
    assert outcome.makespan == pytest.approx(3.0)


def test_instances_run_side_by_side_as_far_as_processors_go_and_in_turns_beyond() -> None:
    """Three instances on four nodes: 1 rank each takes 12 s, 2 ranks 12 s in two turns, 4 ranks 9 s in three."""
    job = workload(ranks=(1, 2, 4), instances=3)
    (entry,) = rank_options(scenario(option("four", 4), workloads=(job,)), ReplayPredictor(traces)).entries
    (outcome,) = entry.workloads
    assert (outcome.side_by_side, outcome.ranks, outcome.turns) == (1, 4, 3)
    assert outcome.makespan == pytest.approx(9.0)
    assert outcome.throughput == pytest.approx(3 / 9.0)


def test_instances_that_fill_the_machine() -> None:
    """Six nodes run six one-rank instances in 12 s."""
    job = workload(ranks=(1,), instances=None)
    (entry,) = rank_options(scenario(option("six", 6), workloads=(job,)), ReplayPredictor(traces)).entries
    assert entry.workloads[0].side_by_side == 6
    assert entry.workloads[0].throughput == pytest.approx(0.5)


def test_points_add_up_over_workloads_and_kernels() -> None:
    """For each of two equal workloads, the faster option gets 100 points and the one at half its speed 50."""
    both = (workload("a", weight=0.5), workload("b", weight=0.5))
    ranking = rank_options(
        scenario(option("fast", 1), option("slow", 1, performance_factor=2.0), workloads=both),
        ReplayPredictor(traces),
    )
    assert [(e.option, e.score) for e in ranking.entries] == [("fast", 200.0), ("slow", 100.0)]


def test_kernels_share_the_points_of_their_workload() -> None:
    """Two kernels run one after the other, and each option is best at one of them."""
    kernels = tuple(Component(n, Application(arguments=("1",), trace=n), 0.5) for n in ("x", "y"))

    def by_region(application: Application, ranks: int) -> Trace:
        trace = TraceBuilder(ranks)
        trace[0].compute(10.0, str(application.trace))
        return trace.build()

    options = (
        option("good at x", 1, performance_factors={"y": 4.0}),
        option("good at y", 1, performance_factors={"x": 2.0}),
    )
    ranking = rank_options(scenario(*options, workloads=(Workload("w", kernels),)), ReplayPredictor(by_region))
    points = {e.option: [k.points for k in e.workloads[0].components] for e in ranking.entries}
    assert points == {"good at x": [50.0, 12.5], "good at y": [25.0, 50.0]}
    assert [e.workloads[0].makespan for e in ranking.entries] == [30.0, 50.0]


def test_weights_count_relative_to_their_mean() -> None:
    """Weights 3 and 1 give at most 150 and 50 points."""
    jobs = (workload("a", weight=3.0), workload("b", weight=1.0))
    (entry,) = rank_options(scenario(option("only", 1), workloads=jobs), ReplayPredictor(traces)).entries
    assert [outcome.points for outcome in entry.workloads] == [150.0, 50.0]


def test_unaffordable_options_come_last_without_position_and_are_not_scored_against() -> None:
    """The unaffordable option is faster, but points are relative to the affordable ones."""
    options = (option("dear", 4, 2000), option("cheap", 1, 500), option("fair", 2, 900))
    ranking = rank_options(scenario(*options, budget=Money(1000, "EUR")), ReplayPredictor(traces))
    assert [(e.option, e.position, e.affordable) for e in ranking.entries] == [
        ("fair", 1, True),
        ("cheap", 2, True),
        ("dear", None, False),
    ]
    assert ranking.entries[0].score == 100.0


def test_options_that_cannot_be_told_apart_share_a_position() -> None:
    """Options with equal scores get positions 1, 1, 3."""
    options = (option("a", 2), option("b", 2), option("c", 1))
    assert order(scenario(*options)) == [("a", 1), ("b", 1), ("c", 3)]


def test_memory_decides_what_is_feasible() -> None:
    """240 MB fit a node of 128 MB only when two or more nodes share them; one node alone is infeasible."""
    small = {"memory": 128e6}
    ranking = rank_options(scenario(option("one", 1, **small), option("two", 2, **small)), ReplayPredictor(traces))
    two, one = ranking.entries
    assert (two.option, two.workloads[0].ranks) == ("two", 2)
    assert one.position is None
    assert "1 rank needs 240 MB of memory on a node, a host has 128 MB" in one.reason


def test_memory_limits_instances_side_by_side() -> None:
    """A dual node of 300 MB holds one instance of 240 MB at a time: two turns."""
    job = workload(ranks=(1,), instances=2)
    (entry,) = rank_options(
        scenario(option("dual", 1, processors=2, memory=300e6), workloads=(job,)), ReplayPredictor(traces)
    ).entries
    assert (entry.workloads[0].side_by_side, entry.workloads[0].turns, entry.workloads[0].idle) == (1, 2, 1)


def test_stated_memory_takes_precedence_over_measured() -> None:
    """Declared needs of 100 MB a rank fit where the measured 240 MB would not."""
    job = workload(ranks=(1,), memory={1: 100e6})
    (entry,) = rank_options(scenario(option("one", 1, memory=128e6), workloads=(job,)), ReplayPredictor(traces)).entries
    assert entry.position == 1


@pytest.mark.parametrize(
    ("criterion", "scores"),
    [
        (Criterion.MAKESPAN, [("two", 6.0), ("one", 12.0)]),
        (Criterion.THROUGHPUT, [("two", 600.0), ("one", 300.0)]),
        (Criterion.COST_PER_RUN, [("one", 100 * 12 / 1200), ("two", 300 * 6 / 1200)]),
    ],
)
def test_criteria(criterion: Criterion, scores: list[tuple[str, float]]) -> None:
    """Times, rates per hour, and price by time over a service life of 1200 s."""
    compared = scenario(option("one", 1, 100), option("two", 2, 300), criterion=criterion, service_life=1200.0)
    ranking = rank_options(compared, ReplayPredictor(traces))
    assert [(e.option, pytest.approx(e.score)) for e in ranking.entries] == scores


def test_nothing_affordable_is_an_error_that_names_the_cheapest() -> None:
    """Zero affordable options cannot be ranked."""
    compared = scenario(option("a", 1, 500), option("b", 2, 900), budget=Money(100, "EUR"))
    with pytest.raises(UsageError, match="budget must afford at least one option, got 100 EUR: the cheapest costs 500"):
        rank_options(compared, ReplayPredictor(traces))


def test_currencies_must_agree() -> None:
    """A price in another currency is not compared by its number."""
    with pytest.raises(UsageError, match="price of a must be in ATS"):
        rank_options(scenario(option("a", 1, 500), budget=Money(100, "ATS")), ReplayPredictor(traces))


def test_a_budget_covers_a_price_but_for_rounding() -> None:
    """A sum of binary fractions that exceeds the budget by rounding is covered; an excess of a cent is not."""
    compared = scenario(
        option("as much", 1, 3 * 1000.49), option("a cent", 1, 3001.48), budget=Money(3001.47, "EUR")
    )  # fmt: skip
    entries = rank_options(compared, ReplayPredictor(traces)).entries
    assert [(entry.option, entry.position) for entry in entries] == [("as much", 1), ("a cent", None)]


def test_an_option_without_a_price_stands_apart_under_a_budget() -> None:
    """An unknown price is neither affordable nor not: such an option has no position and sets no standard.

    It is listed before the options over the budget.
    """
    compared = scenario(
        *(option("dear", 4, 200), option("unknown", 4), option("slow", 1, 100)), budget=Money(150, "EUR")
    )
    ranking = rank_options(compared, ReplayPredictor(traces))
    assert [(e.option, e.position, e.affordable, e.score) for e in ranking.entries] == [
        *(("slow", 1, True, 100.0), ("unknown", None, None, None), ("dear", None, False, None)),
    ]
    assert ranking.entries[1].reason.startswith("no price is stated, so it is unknown whether the budget covers it")


def test_an_option_without_a_price_is_ranked_like_any_other_without_a_budget() -> None:
    """Without a budget, an option without a price gets a position and counts as affordable."""
    ranking = rank_options(scenario(option("a", 1)), ReplayPredictor(traces))
    assert [(e.option, e.position, e.affordable) for e in ranking.entries] == [("a", 1, True)]


def test_nothing_is_ranked_where_no_price_is_stated() -> None:
    """Options without a price and options over the budget are listed; nothing is simulated, and nothing fails."""
    compared = scenario(option("unknown", 4), option("dear", 4, 200), budget=Money(100, "EUR"))
    ranking = rank_options(compared, ReplayPredictor(traces))
    assert [(e.option, e.position, e.affordable) for e in ranking.entries] == [
        *(("unknown", None, None), ("dear", None, False)),
    ]
    assert (ranking.simulations, ranking.certain) == (0, 0)


def test_a_service_life_may_be_as_short_as_numbers_are() -> None:
    """With the shortest service life possible, the cost of a run is infinite, and nothing fails."""
    compared = scenario(option("a", 1, 100), criterion=Criterion.COST_PER_RUN, service_life=5e-324)
    assert rank_options(compared, ReplayPredictor(traces)).entries[0].score == math.inf


@pytest.mark.parametrize("budget", [None, Money(500, "EUR")])
def test_cost_per_run_needs_prices(budget: Money | None) -> None:
    """Without a price there is no cost, whether there is a budget or not."""
    compared = scenario(option("a", 1), option("b", 1, 100), criterion=Criterion.COST_PER_RUN, budget=budget)
    with pytest.raises(UsageError, match="price of a must be stated"):
        rank_options(compared, ReplayPredictor(traces))


def test_trace_of_another_size_is_refused() -> None:
    """A trace for two ranks is refused for a run of one rank."""
    with pytest.raises(UsageError, match="trace must have 1 rank, got 2"):
        rank_options(scenario(option("a", 2), workloads=(workload(),)), ReplayPredictor(lambda p, _: traces(p, 2)))


def test_progress_counts_up() -> None:
    """Progress of reading traces, of placing and bounding, and of comparing rises towards its total."""
    seen: dict[str, list[tuple[int, int]]] = {}
    rank_options(
        scenario(*(option(name, 4) for name in "abc")),
        ReplayPredictor(traces),
        lambda what, done, total: seen.setdefault(what.split()[-1].rstrip(":"), []).append((done, total)),
    )
    assert seen.pop("compared")[-1] == (3, 3)
    assert all(done < total for steps in seen.values() for done, total in steps)
    assert all(steps == sorted(steps) for steps in seen.values())


def test_ranks_may_share_processors_if_the_workload_says_so() -> None:
    """Two ranks per processor: four ranks of 3 s on two processors take 6 s, as long as two ranks of 6 s."""
    job = workload(ranks=(4,), ranks_per_processor=2)
    dual: Machine = machine(1, processors=2)
    (entry,) = rank_options(
        replace(scenario(workloads=(job,)), options=(Option("dual", dual),)), ReplayPredictor(traces)
    ).entries
    assert entry.workloads[0].makespan == pytest.approx(6.0)


def test_processes_do_not_change_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options simulated in two other processes come back with the same scores, in the same order."""
    compared = scenario(option("one", 1), option("four", 4), option("two", 2))
    alone = rank_options(compared, ReplayPredictor(traces))
    at_once(monkeypatch)
    spread = rank_options(compared, ReplayPredictor(traces, workers=2))
    assert [(e.option, e.score) for e in spread.entries] == [(e.option, e.score) for e in alone.entries]


def test_deadlock_in_another_process_is_still_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The information about blocked ranks is kept when the error crosses the process boundary."""

    def stuck(_: Application, ranks: int) -> Trace:
        trace = TraceBuilder(ranks)
        trace[0].recv(0)
        return trace.build()

    at_once(monkeypatch)
    compared = scenario(option("a", 1), option("b", 1), workloads=(workload(),))
    with pytest.raises(DeadlockError) as caught:
        rank_options(compared, ReplayPredictor(stuck, workers=2))
    assert caught.value.blocked[0].waits_for == "recv from rank 0, tag 0, on communicator 0"


def test_splits_that_cannot_win_are_skipped_unless_asked_for() -> None:
    """On four nodes, 4 ranks take 3 s, and fewer cannot win; a thorough ranking tries all of them."""
    compared = scenario(option("four", 4))
    (entry,) = rank_options(compared, ReplayPredictor(traces)).entries
    assert [outcome.ranks for outcome in entry.tried] == [4]
    (entry,) = rank_options(compared, ReplayPredictor(traces), thorough=True).entries
    assert [(o.ranks, pytest.approx(o.makespan)) for o in entry.tried] == [(1, 12.0), (2, 6.0), (4, 3.0)]


def test_programs_are_not_recorded_at_ranks_that_no_option_has_processors_for() -> None:
    """With at most two nodes, no trace of four ranks is needed."""
    asked: list[int] = []

    def asking(application: Application, ranks: int) -> Trace:
        asked.append(ranks)
        return traces(application, ranks)

    rank_options(scenario(option("one", 1), option("two", 2)), ReplayPredictor(asking))
    assert asked == [1, 2]


def test_scores_that_differ_by_rounding_alone_are_a_tie() -> None:
    """12 s at 3 EUR cost as much as 36 s at 1 EUR, except for rounding: both are first, the cheaper cluster before."""
    options = option("fast", 1, 3.0), option("slow", 1, 1.0, performance_factor=3.0)
    asked = scenario(*options, workloads=(workload(ranks=(1,), factor="0.1"),), criterion=Criterion.COST_PER_RUN)
    for service_life in (7.0, 11.0, 13.0, 1e6):
        ranking = rank_options(replace(asked, service_life=service_life), ReplayPredictor(traces))
        assert [(entry.option, entry.position) for entry in ranking.entries] == [("slow", 1), ("fast", 1)]
