"""The first options found with few simulations equal those of a ranking worked out in full."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.kernel import Candidate, makespans
from clue.kernel import Program as Compiled
from clue.machine import Curve, Link, Machine, Network, NodeType
from clue.predict.application import Application
from clue.predict.remembering import RememberingPredictor
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Component, Criterion, Option, Scenario, Workload, rank_options
from clue.purchase.costs import Cloud, Costs, Electricity, Number, Part, Per
from clue.purchase.queueing import QUEUED
from clue.purchase.sustained import Reference, ReferenceSystem
from clue.trace import ANY, Op, Trace, TraceBuilder
from clue.units import Money
from tests.kernel.cases import LINK, LOCAL_LINK
from tests.properties import examples
from tests.purchase.in_full import Outcome, all_outcomes, whole_ranking

SLOW = Link(Curve.line(0.5, 1e-4), Curve.line(0.1, 1e-4), 0.1)
NETWORKS = (Network(LINK, LOCAL_LINK), Network(SLOW, LOCAL_LINK))
TYPES = (NodeType("one"), NodeType("dual", processors=2, performance_factor=0.7), NodeType("old", performance_factor=3))
NODE = Part("node", Number(Per.NODE), idle=40, busy=100)
GRID = Electricity(1e-5, 1e-6)
#: Bought and rented, at full and half utilisation, billed by quanta of 4 s and by the second.
COSTS = (
    Costs((NODE,), electricity=GRID, cloud=Cloud(0.0)),
    Costs((NODE,), electricity=GRID, cloud=Cloud(1e-3), utilisation=0.5),
    Costs((NODE,), electricity=GRID, cloud=Cloud(3e-3, quantum=4.0), availability=0.9),
)


#: Criteria whose figures have bounds.
BOUNDED = [each for each in Criterion if each not in QUEUED and each is not Criterion.WEIGHTED]
_NAMES = ("w0", "w1", "1", "3")
#: Inputs of the criteria.
CRITERIA: Any = {
    "operations": {name: 3e12 + len(name) for name in _NAMES},
    "reference": ReferenceSystem(5, {name: Reference(2, 1000.0, 1.5) for name in _NAMES}),
    "weighted": {Criterion.POINTS: 2.0, Criterion.TOTAL_COST: 1.0, Criterion.SSP: 0.5},
}


@cache
def trace(application: Application, ranks: int) -> Trace:
    """Return a program that divides its seconds over its ranks; all others send this many KB to the first."""
    seconds, kilobytes = map(int, application.arguments)
    built = TraceBuilder(ranks)
    for rank in range(ranks):
        built[rank].compute(seconds / ranks)
        if rank:
            built[rank].send(0, kilobytes * 1000)
            built[0].recv(rank)
    return built.build()


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Draw options from few parts, so that they share runs and tie, and some workloads."""
    kernel = st.tuples(st.integers(1, 9), st.integers(0, 9))

    demand = draw(st.sampled_from((None, None, 0.01, 0.1)))

    def workload(name: str) -> Workload:
        kernels = draw(st.lists(kernel, min_size=1, max_size=2))
        return Workload(
            name,
            tuple(
                Component(f"k{i}", Application(arguments=tuple(map(str, of))), 1 / len(kernels))
                for i, of in enumerate(kernels)
            ),
            instances=draw(st.sampled_from((1, 2, 3, None))),
            ranks=tuple(draw(st.lists(st.sampled_from((1, 2, 3, 4)), min_size=1, max_size=3, unique=True))),
            weight=draw(st.sampled_from((1.0, 3.0))),
            deadline=draw(st.sampled_from((math.inf, math.inf, 6.05, 3.05))),
            demand=demand,
        )

    def option(i: int) -> Option:
        counts = draw(st.lists(st.tuples(st.sampled_from(TYPES), st.integers(1, 3)), min_size=1, max_size=2))
        nodes = tuple(node for node, n in counts for _ in range(n))
        machine = Machine(f"machine {i}", nodes, draw(st.sampled_from(NETWORKS)))
        return Option(f"option {i}", machine, Money(draw(st.integers(1, 4)), "EUR"), costs=draw(st.sampled_from(COSTS)))

    return Scenario(
        "drawn",
        tuple(workload(f"w{i}") for i in range(draw(st.integers(1, 2)))),
        tuple(option(i) for i in range(draw(st.integers(1, 8)))),
        criterion=draw(st.sampled_from((*BOUNDED, Criterion.WEIGHTED))),
        **CRITERIA,
        service_life=100.0,
    )


# --- bounds of any quality ---


def bounds_of_quality(qualities: Sequence[float]) -> object:
    """Return a stand-in for the kernel's bounds: makespans times these factors in turn; a factor of 1 is exact."""
    asked = 0

    def contention_free(
        program: Compiled, candidates: Sequence[Candidate], _tell: object, **_: object
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        nonlocal asked
        seconds = makespans(program, candidates)
        factors = [qualities[(asked + i) % len(qualities)] for i in range(len(candidates))]
        asked += len(candidates)
        return seconds * factors, np.array(factors) == 1

    return contention_free


def compare(scenario: Scenario, top: int, found: dict[str, list[Outcome]] | None = None) -> int:
    """Compare the first options with the full ranking and return the number of simulations.

    *found* holds the outcomes for the full ranking, if they are known.
    """
    whole = whole_ranking(scenario, trace, found)
    ranking = rank_options(scenario, ReplayPredictor(trace), top=top)
    listed = [entry for entry in ranking.entries if entry.position is not None]
    assert [(entry.option, pytest.approx(entry.score, rel=1e-12)) for entry in listed] == whole[:top]
    higher = 1 if ranking.higher_is_better else -1
    later = {entry.option: entry.bound for entry in ranking.entries if entry.bound is not None}
    # An option that is not simulated may miss a limit without notice.
    assert later.keys() & dict(whole).keys() == {name for name, _ in whole[top:]}
    for name, true in whole[top:]:
        assert higher * true <= higher * later[name] + 1e-9 * abs(true)
    assert ranking.certain == len(listed)
    assert all(each.prediction is not None for entry in listed for w in entry.workloads for each in w.components)
    return ranking.simulations


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    scenario=scenarios(),
    top=st.integers(1, 8),
    qualities=st.lists(st.sampled_from((0.0, 0.3, 0.9, 1.0)), min_size=1),
    few=st.sampled_from((0, 2000)),
)
def test_the_first_are_those_of_the_whole_ranking_whatever_the_bounds(
    scenario: Scenario, top: int, qualities: list[float], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names, order and scores agree, ties included, and no later option is better than its bound."""
    monkeypatch.setattr("clue.purchase.search._FEW_RUNS", few)
    monkeypatch.setattr("clue.predict.replaying.contention_free", bounds_of_quality(qualities))
    compare(scenario, top)


@settings(max_examples=examples(30), deadline=None)
@given(scenario=scenarios(), top=st.integers(1, 4))
def test_the_first_are_those_of_the_whole_ranking_by_the_bounds_of_the_kernel(scenario: Scenario, top: int) -> None:
    """The same holds with the bounds that the kernel computes."""
    compare(scenario, top)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    scenario=scenarios(),
    criterion=st.sampled_from((Criterion.COST_PER_RUN, Criterion.TOTAL_COST)),
    top=st.integers(1, 4),
    qualities=st.lists(st.sampled_from((0.0, 0.3, 0.9, 1.0)), min_size=1),
)
def test_the_cheapest_splits_are_chosen_whatever_the_bounds(
    scenario: Scenario, criterion: Criterion, top: int, qualities: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same holds where all options are billed by quanta, and workloads fill them."""
    monkeypatch.setattr("clue.purchase.search._FEW_RUNS", 0)
    monkeypatch.setattr("clue.predict.replaying.contention_free", bounds_of_quality(qualities))
    filling = tuple(replace(each, instances=None, ranks=(1, 2, 3, 4)) for each in scenario.workloads)
    rented = tuple(replace(each, costs=COSTS[2]) for each in scenario.options)
    compare(replace(scenario, criterion=criterion, workloads=filling, options=rented), top)


def many(criterion: Criterion) -> Scenario:
    """Return 300 options of different speeds, for two workloads."""
    options = tuple(
        Option(
            f"{i}",
            Machine(f"{i}", (NodeType("host", performance_factor=1 + i / 100),) * 4, NETWORKS[0]),
            Money(100 + i, "EUR"),
            costs=COSTS[0],
        )
        for i in range(300)
    )
    workloads = tuple(Workload(n, (Component(n, Application(arguments=("8", n))),), ranks=(1, 2, 4)) for n in "13")
    return Scenario("many", workloads, options, criterion=criterion, **CRITERIA)


@cache
def outcomes_of_many() -> dict[str, list[Outcome]]:
    """Return the outcomes of these workloads on these options, which do not depend on the criterion."""
    return all_outcomes(many(Criterion.POINTS), trace)


@pytest.mark.long
@pytest.mark.parametrize("criterion", BOUNDED)
@pytest.mark.parametrize("quality", [0.9, 1.0])
def test_few_of_many_options_are_simulated(
    criterion: Criterion, quality: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounds within 10 % rule out most of 300 options, whose times differ by up to 4; exact ones all but the first."""
    monkeypatch.setattr("clue.predict.replaying.contention_free", bounds_of_quality([quality]))
    simulations = compare(many(criterion), 5, outcomes_of_many())
    assert simulations == 2 * 5 if quality == 1 else simulations < 300


@pytest.mark.long
def test_many_options_are_ranked_as_far_as_asked_for() -> None:
    """By default, the first twenty of more than a hundred options get positions; all do if all are requested."""
    ranking = rank_options(many(Criterion.POINTS), ReplayPredictor(trace))
    assert (ranking.first, sum(e.position is not None for e in ranking.entries)) == (20, 20)
    assert "not among the first 20" in ranking.entries[-1].reason
    ranking = rank_options(many(Criterion.MAKESPAN), ReplayPredictor(trace), top=300)
    assert ranking.first is None
    assert all(entry.position is not None for entry in ranking.entries)


def test_options_that_use_the_same_nodes_share_a_simulation() -> None:
    """A job of two ranks runs alike on clusters of 2 to 9 nodes: one simulation, eight first positions."""
    node = NodeType("host")
    options = tuple(Option(f"{n}", Machine(f"{n}", (node,) * n, NETWORKS[0])) for n in range(2, 10))
    job = Workload("job", (Component("job", Application(arguments=("8", "1"))),), ranks=(2,))
    ranking = rank_options(Scenario("alike", (job,), options), ReplayPredictor(trace))
    assert ranking.simulations == 1
    assert [entry.position for entry in ranking.entries] == [1] * 8
    assert [entry.workloads[0].idle for entry in ranking.entries] == list(range(8))


@pytest.mark.parametrize("counts", [(1, 2), (2, 1)])
def test_polls_on_a_machine_of_one_node_cost_what_they_do_within_it(counts: tuple[int, int]) -> None:
    """1000 polls without success take 0.1 s on a machine of one node; with a second node 1 s, in any order."""

    def polling(_: Application, ranks: int) -> Trace:
        built = TraceBuilder(ranks)
        for _poll in range(1000):
            built[0].add(Op.POLL, peer=ANY)
        return built.build()

    job = Workload("job", (Component("job", Application(arguments=("8", "1"))),), ranks=(2,))
    shared, equal = (NETWORKS[0], NETWORKS[0]), (NETWORKS[0], replace(NETWORKS[0]))
    replays = ReplayPredictor(polling)
    for networks, predictor in ((shared, replays), (equal, RememberingPredictor(replays))):
        options = tuple(
            Option(f"{n}", Machine(f"{n}", (NodeType("dual", processors=2),) * n, network))
            for n, network in zip(counts, networks, strict=True)
        )
        ranking = rank_options(Scenario("polls", (job,), options, criterion=Criterion.MAKESPAN), predictor)
        found = {entry.option: entry.score for entry in ranking.entries}
        assert found == {"1": pytest.approx(0.1), "2": pytest.approx(1.0)}


def test_options_that_differ_in_memory_and_price_share_a_simulation() -> None:
    """Memory, price and type names do not matter; other speeds or ranks that share a node need their own simulation."""
    kinds = (
        NodeType("small", memory=1e9),
        NodeType("large", memory=2e9, price=Money(9, "EUR")),
        NodeType("dual", processors=2),
        NodeType("slow", performance_factor=2),
    )
    options = tuple(Option(kind.name, Machine(kind.name, (kind,) * 2, NETWORKS[0])) for kind in kinds)
    job = Workload("job", (Component("job", Application(arguments=("8", "1"))),), ranks=(2,))
    ranking = rank_options(Scenario("alike", (job,), options, criterion=Criterion.MAKESPAN), ReplayPredictor(trace))
    assert ranking.simulations == 3
    positions = {entry.option: entry.position for entry in ranking.entries}
    assert positions == {"dual": 1, "small": 2, "large": 2, "slow": 4}


def test_of_options_with_one_score_the_cheaper_comes_first() -> None:
    """Options with equal scores share the position, but the cheaper is listed first."""
    node = NodeType("host")
    prices = {"dear": 3, "cheap": 1, "fair": 2}
    options = tuple(Option(n, Machine(n, (node,), NETWORKS[0]), Money(p, "EUR")) for n, p in prices.items())
    job = Workload("job", (Component("job", Application(arguments=("8", "1"))),))
    ranking = rank_options(Scenario("alike", (job,), options), ReplayPredictor(trace))
    assert [(entry.option, entry.position) for entry in ranking.entries] == [("cheap", 1), ("fair", 1), ("dear", 1)]


def test_a_bound_of_nothing_rules_nothing_out() -> None:
    """A machine with changing parameters has no bound, so it is simulated and can win."""
    node = NodeType("host")
    faster = Machine("later", (NodeType("host", performance_factor=0.1),), NETWORKS[0])
    options = (
        Option("steady", Machine("steady", (node,), NETWORKS[0])),
        Option("changing", Machine("changing", (node,), NETWORKS[0], changes=((1.0, faster),))),
    )
    job = Workload("job", (Component("job", Application(arguments=("9", "0"))),))
    ranking = rank_options(
        Scenario("two", (job,), options, criterion=Criterion.MAKESPAN), ReplayPredictor(trace), top=1
    )
    assert [(entry.option, entry.score) for entry in ranking.entries[:1]] == [("changing", pytest.approx(1.8))]
    assert ranking.entries[1].bound is not None and math.isfinite(ranking.entries[1].bound)


def test_a_workload_without_weight_rules_nothing_out() -> None:
    """Without a bound of the time, that of the throughput is infinite, also of a workload that does not count."""
    faster = Machine("later", (NodeType("host", performance_factor=0.1),), NETWORKS[0])
    options = (
        Option("steady", Machine("steady", (NodeType("host"),), NETWORKS[0])),
        Option("changing", Machine("changing", (NodeType("host"),), NETWORKS[0], changes=((1.0, faster),))),
    )
    jobs = (
        Workload("job", (Component("job", Application(arguments=("9", "0"))),)),
        Workload("other", (Component("other", Application(arguments=("8", "0"))),), weight=0.0),
    )
    ranking = rank_options(
        Scenario("two", jobs, options, criterion=Criterion.THROUGHPUT), ReplayPredictor(trace), top=1
    )
    # 1 s of the job at first, the other 8 s in 0.8 s: 3,600 s / 1.8 s.
    assert [(entry.option, entry.score) for entry in ranking.entries[:1]] == [("changing", pytest.approx(2000.0))]


def test_placement_decides_what_is_shared() -> None:
    """Machines with the same nodes in another order place ranks differently, so they are simulated separately."""
    one, dual = TYPES[0], TYPES[1]
    options = (
        Option("one first", Machine("a", (one, dual), NETWORKS[0])),
        Option("dual first", Machine("b", (dual, one), NETWORKS[0])),
    )
    job = Workload("job", (Component("job", Application(arguments=("8", "1"))),), ranks=(2,))
    first, second = rank_options(Scenario("two", (job,), options), ReplayPredictor(trace)).entries
    assert (first.option, second.option) == ("dual first", "one first")
    assert first.score == 100.0 > (second.score or 0.0)
