"""Costs of options that a queue of jobs uses: cost sheets computed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clue.errors import UsageError
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Criterion, Entry, Option, Ranking, rank_options
from clue.purchase.costs import Cloud, Costs, Electricity, Number, Part, Per
from clue.purchase.outcome import OptionCost
from clue.purchase.queue.mix import JobClass, Mix, Policy, Recorded
from clue.purchase.queue.replications import simulate_queue
from clue.uncertainty import Sampling
from clue.units import Money
from tests.kernel.cases import machine
from tests.purchase.test_ranking import option, scenario, traces, workload

LIFE = 1000.0
#: A job every 10 s, on four ranks for 3 s: nodes work 9 of the 30 s up to the last submission, a utilisation of 0.3.
EVERY_TEN = Mix((JobClass("job", "job", ranks={4: 1.0}, submitted=(0.0, 10.0, 20.0, 30.0)),))
#: A node draws 100 W idle and 300 W busy; a MJ costs 1, and a GJ emits 1 kg.
POWER = Costs((Part("node", Number(Per.NODE), idle=100.0, busy=300.0),), electricity=Electricity(1e-6, 1e-9))


def rented(quantum: float = 0.0) -> Costs:
    """Return the costs of cloud nodes at 2 a second each."""
    return Costs(cloud=Cloud(2.0, quantum=quantum))


def option_with(costs: Costs, nodes: int = 4, price: float = 0.0, name: str = "four") -> Option:
    """Return an option of equal nodes with the given costs."""
    return Option(name, machine(nodes), Money(price, "EUR"), costs=costs)


def ranked(*options: Option, queue: Mix = EVERY_TEN, **fields: Any) -> Ranking:
    """Rank options by total cost over a life of 1,000 s."""
    asked = scenario(*options, **{"criterion": Criterion.TOTAL_COST, "service_life": LIFE, "queue": queue, **fields})
    return rank_options(asked, ReplayPredictor(traces))


def first(ranking: Ranking) -> tuple[Entry, OptionCost]:
    """Return the first option's entry and its costs."""
    entry = ranking.entries[0]
    assert entry.position == 1 and entry.cost is not None
    return entry, entry.cost


def test_power_follows_the_queue() -> None:
    """4 · (100 + 0.3 · 200) W for 1,000 s are 640 kJ, which cost 0.64; a tenth of a job a second: 6.4 kJ each."""
    entry, cost = first(ranked(option_with(POWER, price=10.0)))
    assert entry.queue is not None and entry.queue.figures is not None
    assert entry.queue.figures.utilisation == pytest.approx(0.3)
    assert cost.sheet.busy == pytest.approx(0.3)
    assert cost.sheet.energy == pytest.approx(640e3)
    assert entry.score == cost.sheet.total == pytest.approx(10.64)
    assert cost.per_run["job"].energy == pytest.approx(6400.0)
    assert cost.per_run["job"].cost == pytest.approx(10.64 / 100)
    by = {criterion: ranked(option_with(POWER, price=10.0), criterion=criterion).entries[0].score for criterion in
          (Criterion.COST_PER_RUN, Criterion.ENERGY_PER_RUN, Criterion.CARBON_PER_RUN)}  # fmt: skip
    assert by[Criterion.COST_PER_RUN] == pytest.approx(0.1064)
    assert by[Criterion.ENERGY_PER_RUN] == pytest.approx(6400 / 3.6e6)
    assert by[Criterion.CARBON_PER_RUN] == pytest.approx(6.4e-6)


def test_a_cloud_bills_what_jobs_use() -> None:
    """100 jobs on four nodes for 3 s cost 2,400, or 3,200 if billed in quanta of 4 s; idle nodes cost nothing."""
    assert first(ranked(option_with(rented())))[0].score == pytest.approx(2400.0)
    assert first(ranked(option_with(rented(4.0))))[0].score == pytest.approx(3200.0)
    assert first(ranked(option_with(rented(4.0), nodes=8)))[0].score == pytest.approx(3200.0)


def test_a_job_on_a_part_of_the_nodes_bears_its_part() -> None:
    """Two of four nodes for 6 s give the same utilisation, and 8 s of each are billed.

    A job also pays a hundredth of the purchase price of 10.
    """
    two = replace(EVERY_TEN, classes=(replace(EVERY_TEN.classes[0], ranks={2: 1.0}),))
    entry, cost = first(ranked(option_with(rented(4.0), price=10.0), queue=two))
    assert cost.sheet.busy == pytest.approx(0.3)
    assert entry.score == pytest.approx(10.0 + 100 * 2 * 8 * 2.0)
    assert cost.per_run["job"].cost == pytest.approx(0.1 + 32.0)


def test_jobs_of_no_class_are_paid_for_too() -> None:
    """One of the recorded jobs has no class, but also uses all nodes for 3 s; the costs stay the same."""
    recorded = Recorded(
        "log", np.array([0.0, 10, 20, 30]), np.array([0, -1, 0, 0]), np.full(4, 4), np.full(4, 3.0), np.full(4, 3.0)
    )
    queue = replace(EVERY_TEN, classes=(replace(EVERY_TEN.classes[0], submitted=()),), recorded=recorded)
    entry, cost = first(ranked(option_with(rented(4.0)), queue=queue))
    assert entry.score == pytest.approx(3200.0)
    assert cost.per_run["job"].cost == pytest.approx(32.0)


def test_where_the_queue_grows_without_end_nodes_are_as_busy_as_they_can_be() -> None:
    """A job of 3 s on all nodes arrives every second: nodes are always busy and run 1,000 / 3 jobs."""
    busy = Mix((JobClass("job", "job", 1.0, ranks={4: 1.0}),), jobs=200, replications=2)
    told = ranked(option_with(POWER), queue=busy)
    entry, cost = first(told)
    assert cost.sheet.busy == pytest.approx(1.0)
    assert entry.score == pytest.approx(1.2)
    assert cost.per_run["job"].energy == pytest.approx(3600.0)
    assert any("costs are those of nodes as busy as they can be" in each for each in told.warnings)


def test_billed_quanta_of_run_times_that_vary() -> None:
    """The mean number of quanta is the sum over i of the share of jobs that run longer than i quanta."""
    varied = replace(EVERY_TEN, classes=(replace(EVERY_TEN.classes[0], variation=0.5),))
    entry, cost = first(ranked(option_with(rented(3.0)), queue=varied))
    deviation = np.log1p(0.25) ** 0.5
    draws = np.exp(deviation * np.random.default_rng(0).standard_normal(100_000) - deviation**2 / 2)
    ratio = np.ceil(draws).mean()
    assert entry.score == pytest.approx(cost.sheet.busy * LIFE * 8.0 * ratio, rel=0.02)


def test_begun_quanta_never_cost_less_than_the_time_itself() -> None:
    """Quanta of a millisecond cost as much as the time itself, however much run times vary."""
    varied = replace(EVERY_TEN, classes=(replace(EVERY_TEN.classes[0], variation=3.0),))
    fine, exact = (first(ranked(option_with(rented(quantum)), queue=varied))[0].score for quantum in (1e-3, 0.0))
    assert exact is not None and fine is not None
    assert fine == pytest.approx(exact, rel=1e-3) and fine >= exact


def test_a_class_without_recorded_jobs_is_paid_as_if_it_ran_alone() -> None:
    """All recorded jobs are of one class: a run of the other costs what one on all four nodes costs, 3 s of 2 each."""
    recorded = Recorded("log", np.array([0.0, 10]), np.array([0, 0]), np.full(2, 4), np.full(2, 3.0), np.full(2, 3.0))
    one = replace(EVERY_TEN.classes[0], submitted=())
    queue = replace(EVERY_TEN, classes=(one, replace(one, name="none", workload="none")), recorded=recorded)
    workloads = (workload("job", ranks=(4,)), workload("none", ranks=(4,)))
    _, cost = first(ranked(option_with(rented()), queue=queue, workloads=workloads))
    assert cost.per_run["none"].cost == pytest.approx(4 * 3.0 * 2.0)


def test_break_even_of_jobs() -> None:
    """The own nodes cost 600; fully busy, they run 1/3 job a second, for which the cloud bills 4 · 2 a second."""
    options = option_with(Costs(), price=600.0, name="own"), option_with(rented(), nodes=8, name="cloud")
    (found,) = ranked(*options).answers.break_even
    assert found.cloud_busy == pytest.approx(8000.0)
    assert found.utilisation == pytest.approx(600 / 8000)


def test_break_even_may_be_more_than_the_queue_allows() -> None:
    """First come, first served, jobs of three nodes keep four nodes busy for 3/4 of the time; 6,800 / 8,000 is more."""
    threes = Mix((JobClass("job", "job", 0.1, ranks={3: 1.0}),), Policy.FCFS, jobs=200, replications=2)
    options = option_with(Costs(), price=6800.0, name="own"), option_with(rented(), nodes=8, name="cloud")
    (found,) = ranked(*options, queue=threes, workloads=(workload(ranks=(3,)),)).answers.break_even
    assert found.utilisation == pytest.approx(0.85)
    assert found.capacity == pytest.approx(0.75)
    assert not found.is_within_reach


@pytest.mark.parametrize("top", [1, None])
def test_the_order_by_cost_is_that_of_the_sheets(top: int | None) -> None:
    """Options that were not simulated count as unused, so no cheaper option is ruled out."""
    options = [option_with(POWER, nodes, 0.1 * nodes, f"n{nodes}") for nodes in (4, 5, 6, 8)]
    found = rank_options(
        scenario(*options, criterion=Criterion.TOTAL_COST, service_life=LIFE, queue=EVERY_TEN),
        ReplayPredictor(traces),
        top=top,
    )
    # An idle node costs 0.1, plus its 100 J a second.
    expected = [(f"n{n}", 0.1 * n + 1e-3 * (100 * n + 0.3 * 4 * 200)) for n in (4, 5, 6, 8)]
    got = [(each.option, each.score) for each in found.entries if each.position]
    assert got == [(name, pytest.approx(score)) for name, score in expected[:top]]


def test_use_is_said_once() -> None:
    """Jobs conflict with a stated utilisation and with runs a month; both together are refused."""
    with pytest.raises(UsageError, match=r"utilisation of four must be left out with jobs, got both \(jobs and 0.5\)"):
        ranked(option_with(replace(POWER, utilisation=0.5)))
    with pytest.raises(UsageError, match="runs a month of job must be left out with jobs, got both"):
        ranked(option_with(POWER), workloads=(workload(ranks=(4,), demand=0.1),))


def test_samples_of_costs_say_what_they_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices are drawn, but the queue is simulated once per option, also for a weighted sum; a warning says so."""
    simulated: list[int] = []

    def counted(mix: Mix, takes: Any, nodes: int) -> Any:
        simulated.append(nodes)
        return simulate_queue(mix, takes, nodes)

    monkeypatch.setattr("clue.purchase.queueing.simulate_queue", counted)
    costs = replace(POWER, deviations={"electricity.price": 0.1})
    asked = scenario(option_with(costs), option("more", 8, 1.0), criterion=Criterion.TOTAL_COST, queue=EVERY_TEN)
    weighted = replace(asked, criterion=Criterion.WEIGHTED, weighted={Criterion.TOTAL_COST: 1.0})
    for each in (asked, weighted):
        simulated.clear()
        told = rank_options(each, ReplayPredictor(traces), sampling=Sampling(30))
        assert any("options are as busy as in the queue of typical runs" in warning for warning in told.warnings)
        assert sorted(simulated) == [4, 8]
