"""Rankings by the costs of options, and limits other than the budget: comparisons computed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clue.errors import UsageError
from clue.machine import Machine, NodeType
from clue.predict.application import Application
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Criterion, Entry, Limits, Option, Ranking, Scenario, rank_options
from clue.purchase.costs import Cloud, Costs, Electricity, Licence, Number, Part, Per, Tariff
from clue.purchase.limits import Miss, nobody_keeps
from clue.report.ranking.document import ranking_document
from clue.trace import Trace, TraceBuilder
from clue.units import MONTH, YEAR, Money
from tests.kernel.cases import machine
from tests.purchase.test_ranking import option, scenario, traces, workload

HOUR, KWH = 3600.0, 3.6e6


def powered(idle: float, busy: float, **more: Any) -> Costs:
    """Return costs of nodes that draw this power, at 0.5 and 400 g per kWh."""
    node = Part("node", Number(Per.NODE), idle=idle, busy=busy, rack_units=1)
    return Costs((node,), electricity=Electricity(0.5 / KWH, 0.4 / KWH), **more)


def costing(name: str, nodes: int, price: float, costs: Costs, **node: Any) -> Option:
    """Return an option of equal nodes with these costs."""
    return Option(name, machine(nodes, **node), Money(price, "EUR"), costs=costs)


def ranked(of: Scenario) -> Ranking:
    """Rank the options of a scenario."""
    return rank_options(of, ReplayPredictor(traces))


def scores(of: Scenario) -> dict[str, float | None]:
    """Return the score of each option that has a position, in order."""
    return {entry.option: entry.score for entry in ranked(of).entries if entry.position}


def reasons(of: Scenario) -> dict[str, str]:
    """Return the reasons of the options that have no position."""
    return {entry.option: entry.reason for entry in ranked(of).entries if entry.position is None}


def entry_of(of: Scenario, name: str) -> Entry:
    """Return an option's entry."""
    return next(entry for entry in ranked(of).entries if entry.option == name)


def by(criterion: Criterion, *options: Option, **fields: Any) -> Scenario:
    """Return a comparison over a year on one job, which may use 1, 2 or 4 ranks and takes 12 s on one."""
    return scenario(*options, criterion=criterion, service_life=YEAR, **fields)


def test_the_total_cost_is_that_of_the_life() -> None:
    """The price of 1,000 plus a year at 100 W: 876 kWh for 438."""
    dear, cheap = costing("steady", 1, 1000, powered(100, 100)), costing("none", 1, 1100, powered(0, 1e-9))
    found = scores(by(Criterion.TOTAL_COST, dear, cheap))
    assert list(found) == ["none", "steady"]
    assert found["steady"] == pytest.approx(1438.0)


def test_cost_energy_and_carbon_of_a_run() -> None:
    """Two nodes of 100 W idle and 300 W busy, busy half the time: 400 W; 6 s a run, so 2,628,000 runs a year.

    3,504 kWh are 1,752 and 1,401.6 kg; with the price of 876 a run costs 2,628 / 2,628,000 = 0.001.
    """
    one = costing("one", 2, 876, powered(100, 300, utilisation=0.5))
    assert scores(by(Criterion.COST_PER_RUN, one))["one"] == pytest.approx(0.001)
    assert scores(by(Criterion.ENERGY_PER_RUN, one))["one"] == pytest.approx(3504 / 2_628_000)
    assert scores(by(Criterion.CARBON_PER_RUN, one))["one"] == pytest.approx(1401.6 / 2_628_000)


def test_runs_a_month_are_what_a_cloud_is_paid_for() -> None:
    """1,000 runs of 3 s on four nodes, each billed for a minute: 60,000 s · 4 · 3.60 an hour = 240 a month."""
    cloud = Costs(cloud=Cloud(3.60 / HOUR, quantum=60.0))
    job = workload(ranks=(4,), demand=1000 / MONTH)
    asked = by(Criterion.TOTAL_COST, costing("cloud", 4, 0, cloud), workloads=(job,))
    assert scores(asked)["cloud"] == pytest.approx(12 * 240.0)
    per_run = by(Criterion.COST_PER_RUN, costing("cloud", 4, 0, cloud), workloads=(job,))
    assert scores(per_run)["cloud"] == pytest.approx(0.24)


def of_an_hour(_: Application, ranks: int) -> Trace:
    """Return a program that takes 61 min on 3 ranks, and 50 min on 4."""
    trace = TraceBuilder(ranks)
    for rank in range(ranks):
        trace[rank].compute(60.0 * {3: 61, 4: 50}[ranks])
    return trace.build()


#: As many runs at once as fit on twelve nodes: four in 61 min (3.93 an hour), or three in 50 min (3.6 an hour).
FILLING = workload(ranks=(3, 4), instances=None)
HOURLY, EXACT = (Costs(cloud=Cloud(1 / HOUR, quantum=quantum)) for quantum in (HOUR, 0.0))


@pytest.mark.parametrize(
    ("criterion", "costs", "demand", "score", "split"),
    [
        # Twelve nodes at 1 an hour: two hours for four runs are 6 a run, one hour for three is 4.
        (Criterion.COST_PER_RUN, HOURLY, None, 4.0, (3, 4)),
        (Criterion.COST_PER_RUN, EXACT, None, 12 * 61 / 60 / 4, (4, 3)),
        (Criterion.COST_PER_RUN, HOURLY, 100, 4.0, (3, 4)),
        (Criterion.TOTAL_COST, HOURLY, 100, 100 * 12 * 4, (3, 4)),
        # Of 730 hours a month, 2,700 runs take 750 by threes, but 686.25 by fours.
        (Criterion.TOTAL_COST, HOURLY, 2700, 2700 * 12 * 6, (4, 3)),
        (Criterion.THROUGHPUT, HOURLY, None, 4 * 60 / 61, (4, 3)),
        # A fixed cost of 24 an hour is shared by 4 runs in 61 min, or by 3 in 50 min: 6.1 + 6, or 6.67 + 4.
        (Criterion.COST_PER_RUN, replace(HOURLY, yearly={"staff": 24 * 8760.0}), None, 20 / 3 + 4, (3, 4)),
        # One of 240 an hour: 61 + 6, or 66.67 + 4.
        (Criterion.COST_PER_RUN, replace(HOURLY, yearly={"staff": 240 * 8760.0}), None, 67.0, (4, 3)),
    ],
)
def test_the_split_whose_runs_cost_least_is_chosen(
    criterion: Criterion, costs: Costs, demand: float | None, score: float, split: tuple[int, int]
) -> None:
    """By criteria of costs, begun quanta count in the choice of the split, if it leaves time for all runs."""
    job = FILLING if demand is None else replace(FILLING, demand=demand / MONTH)
    asked = by(criterion, costing("cloud", 12, 0, costs), workloads=(job,))
    (entry,) = rank_options(asked, ReplayPredictor(of_an_hour)).entries
    assert entry.score == pytest.approx(score)
    assert (entry.workloads[0].side_by_side, entry.workloads[0].ranks) == split


def test_a_cheaper_split_that_is_not_chosen_is_told() -> None:
    """Where money does not decide, or several workloads share the time, the fastest split is used: 6 instead of 4.

    The other split is not named if it costs as much, also where all is free, or if it cannot do 2,700 runs in a month.
    """
    job = replace(FILLING, demand=100 / MONTH)
    free = Costs(cloud=Cloud(0.0, quantum=HOUR))
    named = (("cloud", HOURLY), ("exact", EXACT), ("free", free))
    cloud, exact, free_cloud = (costing(name, 12, 0, costs) for name, costs in named)
    two = (job, replace(job, name="other"))
    in_total = by(Criterion.TOTAL_COST, cloud, exact, workloads=(FILLING,))
    for asked, why in (
        (by(Criterion.MAKESPAN, cloud, exact, workloads=(job,)), "money does not decide"),
        (by(Criterion.TOTAL_COST, cloud, exact, workloads=two), "runs a month of several workloads are stated"),
        (by(Criterion.TOTAL_COST, cloud, exact, workloads=(job,)), ""),
        (by(Criterion.MAKESPAN, cloud, exact, workloads=(FILLING,)), ""),
        (by(Criterion.MAKESPAN, exact, workloads=(job,)), ""),
        (by(Criterion.MAKESPAN, free_cloud, workloads=(job,)), ""),
        (by(Criterion.MAKESPAN, cloud, exact, workloads=(replace(job, demand=2700 / MONTH),)), ""),
        (in_total, ""),
        (
            replace(in_total, pareto=(Criterion.TOTAL_COST, Criterion.COST_PER_RUN)),
            "quanta do not count in the total cost",
        ),
    ):
        warnings = rank_options(asked, ReplayPredictor(of_an_hour)).warnings
        said = [each.partition(" on cloud: ")[2] for each in warnings if "highest throughput" in each]
        assert len(said) == bool(why)
        for each in said:
            assert each.startswith(
                f"it runs in the split with the highest throughput, as {why}; billed by begun quanta"
            )
            assert each.endswith("the split 3 × 4 may cost up to 33.3% less a run")


def test_a_quantum_that_the_total_cost_leaves_out_is_told() -> None:
    """Without a number of runs, a minute or none gives the total of nodes rented all year: 4 · 3.60 · 8,760."""
    said = (
        "cloud: its billing quantum, 60 s, counts in the cost of a run, but not in the total cost, which is the rent "
        "for all the time that it is in use: state runs_a_month or jobs to count every begun quantum"
    )
    for quantum, tariff, demand, warned in (
        (60.0, Tariff.ON_DEMAND, None, True),
        (0.0, Tariff.ON_DEMAND, None, False),
        (60.0, Tariff.RESERVED, None, False),
        (60.0, Tariff.ON_DEMAND, 1000 / MONTH, False),
    ):
        cloud = Costs(cloud=Cloud(3.60 / HOUR, tariff, quantum))
        asked = by(
            Criterion.TOTAL_COST, costing("cloud", 4, 0, cloud), workloads=(workload(ranks=(4,), demand=demand),)
        )
        assert (said in ranked(asked).warnings) == warned
        if demand is None:
            assert scores(asked)["cloud"] == pytest.approx(4 * 3.60 * 8760)


def test_prices_of_some_nodes_that_give_no_price_are_told() -> None:
    """Without a budget, nodes for 10 beside others without a price give an option no price, and a warning says why."""
    said = "some: it has no price, as some of its nodes state none (b): state its price, or one for each type"
    some, none = (
        Machine("two kinds", (NodeType("a", price=price), NodeType("b")), machine().network)
        for price in (Money(10, "EUR"), None)
    )
    cases: list[tuple[Machine, Money | None, bool]] = [
        (some, None, True),
        (none, None, False),
        (some, Money(30, "EUR"), False),
    ]
    for on, price, warned in cases:
        found = ranked(scenario(Option("some", on, price)))
        assert [entry.position for entry in found.entries] == [1]
        assert (said in found.warnings) == warned


def test_costs_that_are_left_out_without_a_price_are_told() -> None:
    """Staff for 99 a year do not count without a price, and a warning says so; power alone costs nothing."""
    said = (
        "one: its further costs are left out, as it has no price: state one (0 if the further costs contain everything)"
    )
    power = Costs((Part("node", Number(Per.NODE), idle=1.0, busy=2.0),))
    cases: list[tuple[Costs | None, Money | None, bool]] = [
        (Costs(yearly={"staff": 99.0}), None, True),
        (Costs(yearly={"staff": 99.0}), Money(0, "EUR"), False),
        (power, None, False),
        (None, None, False),
    ]
    for costs, price, warned in cases:
        found = ranked(scenario(Option("one", machine(4), price, costs)))
        assert (found.entries[0].cost is None) == (price is None)
        assert (said in found.warnings) == warned


def test_rent_that_nothing_limits_is_told() -> None:
    """A budget of 100 does not limit four nodes at 3.60 an hour each, 126,144 a year; a limit of total cost does."""
    said = (
        "cloud: the budget covers purchases, not its rent, nor what is paid for it in advance: limit both by "
        "total_cost under limits, or rank by total_cost"
    )
    cloud, budget = costing("cloud", 4, 0, Costs(cloud=Cloud(3.60 / HOUR))), Money(100, "EUR")
    cases: list[tuple[Criterion, Money | None, Limits, bool]] = [
        (Criterion.MAKESPAN, budget, Limits(), True),
        (Criterion.MAKESPAN, None, Limits(), False),
        (Criterion.TOTAL_COST, budget, Limits(), False),
        (Criterion.MAKESPAN, budget, Limits(total_cost=Money(126_145, "EUR")), False),
    ]
    for criterion, of, limits, warned in cases:
        asked = by(criterion, cloud, budget=of, limits=limits)
        assert list(scores(asked)) == ["cloud"]
        assert (said in ranked(asked).warnings) == warned
    assert not scores(by(Criterion.MAKESPAN, cloud, limits=Limits(total_cost=Money(126_143, "EUR"))))


def test_runs_cost_together_what_they_cost_each() -> None:
    """The costs of all runs add up to the total, with power that depends on use and a cloud that bills minutes."""
    jobs = (workload("a", ranks=(1,), demand=5000 / MONTH), workload("b", ranks=(4,), factor="3", demand=900 / MONTH))
    costs = powered(50, 400, cloud=Cloud(1 / HOUR, Tariff.SPOT, 60.0, 0.2), yearly={"staff": 99.0})
    asked = by(Criterion.TOTAL_COST, costing("o", 4, 700, costs), workloads=jobs, discount_rate=0.04)
    entry = entry_of(asked, "o")
    assert entry.cost is not None
    together = 12 * (5000 * entry.cost.per_run["a"].cost + 900 * entry.cost.per_run["b"].cost)
    assert together == pytest.approx(entry.score)


def test_without_costs_a_run_costs_its_share_of_the_price() -> None:
    """Without a cost sheet: 100 · 12 s / 1,200 s."""
    asked = scenario(option("one", 1, 100), criterion=Criterion.COST_PER_RUN, service_life=1200.0)
    assert scores(asked) == {"one": 100 * 12 / 1200}
    assert entry_of(asked, "one").cost is None


@pytest.mark.parametrize(
    ("criterion", "what"),
    [
        (Criterion.TOTAL_COST, "price"),
        (Criterion.ENERGY_PER_RUN, "power"),
        (Criterion.CARBON_PER_RUN, "power"),
    ],
)
def test_a_criterion_needs_its_figures(criterion: Criterion, what: str) -> None:
    """The message names the option that lacks the figure."""
    with pytest.raises(UsageError, match=f"by hand: {what} of a must be stated for the criterion {criterion.value}"):
        ranked(by(criterion, option("a", 1)))


def test_carbon_needs_that_of_electricity() -> None:
    """Power is not enough: the carbon emissions of electricity must be stated."""
    costs = Costs((Part("node", Number(Per.NODE), busy=1.0),))
    with pytest.raises(UsageError, match="carbon of electricity of a must be stated for the criterion carbon_per_run"):
        ranked(by(Criterion.CARBON_PER_RUN, costing("a", 1, 1, costs)))


# --- limits ---


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(power=1000), "power must be at most 1 kW, got 1.2 kW"),
        (Limits(cooling=500), "heat must be at most 500 W, got 1.2 kW"),
        (Limits(rack_units=3), "rack units must be at most 3, got 4"),
        (Limits(rack_units=3.5), "rack units must be at most 3.5, got 4"),
        (Limits(nodes=3), "nodes must be at most 3, got 4"),
        (Limits(memory_per_core=4e9), "memory per core must be at least 4 GB, got 2 GB"),
        (Limits(power=1000, nodes=2), "power must be at most 1 kW, got 1.2 kW; nodes must be at most 2, got 4"),
        (Limits(total_cost=Money(100, "EUR")), "total cost must be at most 100 EUR, got 5,756 EUR"),
    ],
)
def test_a_limit_bars_an_option(limits: Limits, reason: str) -> None:
    """An option that breaks a limit has no position, and the reason states the limit and its value."""
    wide = costing("wide", 4, 500, powered(300, 300), memory=2e9)
    slim = costing("slim", 1, 10, powered(1, 1), memory=8e9)
    asked = by(Criterion.MAKESPAN, wide, slim, limits=limits)
    assert reasons(asked) == {"wide": reason}
    assert list(scores(asked)) == ["slim"]


def test_a_limit_of_what_is_not_stated_is_not_kept() -> None:
    """A limit on a figure that is not stated excludes the option."""
    asked = by(Criterion.MAKESPAN, option("a", 1, 1), limits=Limits(power=1.0, rack_units=1.0))
    assert reasons(asked) == {
        "a": "power must be at most 1 W, got none stated; rack units must be at most 1, got none stated"
    }


def test_what_is_rented_takes_no_room_on_the_site() -> None:
    """Cloud nodes do not count for limits of the site, but still count for the number of nodes."""
    rented = costing("cloud", 4, 0, Costs(cloud=Cloud(1.0)))
    here = Limits(power=1.0, cooling=1.0, rack_units=1.0)
    assert list(scores(by(Criterion.MAKESPAN, rented, limits=here))) == ["cloud"]
    assert reasons(by(Criterion.MAKESPAN, rented, limits=Limits(nodes=3))) == {
        "cloud": "nodes must be at most 3, got 4"
    }


def test_more_cores_than_a_licence_covers_bar_an_option() -> None:
    """An option with more cores than its licence covers has no position."""
    licensed = Costs(licences=(Licence("solver", "cores", ((2, 5.0),)),))
    asked = by(Criterion.TOTAL_COST, costing("four", 4, 1, licensed), costing("two", 2, 1, licensed))
    assert reasons(asked) == {"four": "cores (licence solver) must be at most 2, got 4"}
    assert scores(asked) == {"two": 6.0}


def test_a_deadline_is_of_one_run_and_decides_between_splits() -> None:
    """Four runs at once take 12 s each; a deadline of 7 s selects two ranks per run, in two turns."""
    job = workload(ranks=(1, 2, 4), instances=4, deadline=7.0)
    slowest = workload(ranks=(1, 2, 4), instances=4)
    four = option("four", 4, 1)
    assert entry_of(scenario(four, workloads=(slowest,)), "four").workloads[0].ranks == 1
    (outcome,) = entry_of(scenario(four, workloads=(job,)), "four").workloads
    assert (outcome.ranks, outcome.turns, outcome.makespan) == (2, 2, 12.0)


def test_an_option_that_misses_a_deadline_has_no_position() -> None:
    """The run takes 6 s on two nodes, beyond the deadline of 5 s."""
    job = workload(ranks=(1, 2, 4), deadline=5.0)
    asked = scenario(option("two", 2, 1), option("four", 4, 1), workloads=(job,))
    assert scores(asked) == {"four": 100.0}
    assert reasons(asked) == {"two": "job: a run must end within 5 s, got 6 s"}


def test_a_deadline_that_nobody_meets_names_the_nearest() -> None:
    """No option meets 2 s; the nearest is four nodes with 3 s."""
    job = workload(ranks=(1, 2, 4), deadline=2.0)
    ranking = ranked(scenario(option("two", 2, 1), option("four", 4, 1), workloads=(job,)))
    assert not any(entry.position for entry in ranking.entries)
    sentence = "job: a run must end within 2 s: none of the options meets it; the nearest is four with 3 s"
    assert sentence in ranking.warnings


def test_a_limit_that_nobody_keeps_names_the_nearest() -> None:
    """The nearest option has the least stated power; an option without stated power is not considered."""
    options = (option("unknown", 1, 1), costing("a", 4, 1, powered(9, 300)), costing("b", 3, 1, powered(9, 300)))
    ranking = ranked(by(Criterion.MAKESPAN, *options, limits=Limits(power=500)))
    assert ranking.warnings == (
        "power must be at most 500 W: none of the options meets it; the nearest is b with 900 W",
    )


@pytest.mark.parametrize(
    ("least", "said"), [(3.0, "the nearest may be a with at least 3 s"), (5.0, "the nearest is b with 4 s")]
)
def test_an_option_ruled_out_by_a_bound_may_be_the_nearest(least: float, said: str) -> None:
    """Option a takes 3 s at least, b takes 4 s: a may be the nearest, or not; with 5 s at least it is not."""
    limit = "time must be at most 2 s"
    missed = {"a": [Miss(limit, f"{least:g} s", least, bound=True)], "b": [Miss(limit, "4 s", 4.0)]}
    assert list(nobody_keeps(missed)) == [f"{limit}: none of the options meets it; {said}"]


def test_runs_a_month_have_to_fit_in_the_time() -> None:
    """220,000 runs of 12 s are 2,640,000 s of a month's 2,628,000 s; the option is available for 95 % of these."""
    job = workload(ranks=(1,), demand=220_000 / MONTH)
    one, two = (
        costing(name, 1, 1, Costs(availability=0.95), performance_factor=f) for name, f in (("a", 1.0), ("b", 0.5))
    )
    asked = by(Criterion.TOTAL_COST, one, two, workloads=(job,))
    assert reasons(asked) == {"a": "share of the time that the runs a month take must be at most 95.0%, got 100.5%"}
    assert list(scores(asked)) == ["b"]


def test_only_so_many_positions_are_filled_by_options_that_keep_the_limits() -> None:
    """The two cheapest of five options miss the deadline; the next two get positions 1 and 2."""
    job = workload(ranks=(1, 2, 3, 4), deadline=5.0)
    options = [option(f"{n}", n, price) for price, n in enumerate((1, 2, 3, 4, 5), start=1)]
    asked = scenario(*options, workloads=(job,), criterion=Criterion.TOTAL_COST, service_life=YEAR)
    ranking = rank_options(asked, ReplayPredictor(traces), top=2)
    assert [(e.option, e.position) for e in ranking.entries if e.position] == [("3", 1), ("4", 2)]


# --- the front ---


def test_the_front_is_of_options_that_nobody_beats() -> None:
    """Two nodes at the price of four are slower, so they are not on the front."""
    options = (option("one", 1, 100), option("two", 2, 400), option("four", 4, 400), option("none", 4))
    asked = scenario(*options, criterion=Criterion.POINTS, pareto=(Criterion.COST_PER_RUN, Criterion.MAKESPAN))
    with pytest.raises(UsageError, match="price of none must be stated for the criterion cost_per_run"):
        ranked(asked)
    asked = scenario(*options[:3], pareto=(Criterion.TOTAL_COST, Criterion.MAKESPAN, Criterion.POINTS))
    ranking = ranked(asked)
    assert ranking.pareto == ("four", "one")
    units = {Criterion.TOTAL_COST: "EUR", Criterion.MAKESPAN: "s", Criterion.POINTS: "points"}
    assert ranking.units == units
    document = ranking_document(ranking)
    assert document["pareto"] == ["four", "one"]
    first = document["ranking"][0]  # type: ignore[index]
    assert first["criteria"] == {"total_cost": 400.0, "makespan": 3.0, "points": 100.0}


def test_points_on_the_front_are_those_of_a_ranking_by_points() -> None:
    """Points on the front do not depend on the criterion of the ranking."""
    options = (option("one", 1, 100), option("four", 4, 400))
    pareto = (Criterion.POINTS, Criterion.TOTAL_COST)
    for criterion in Criterion.POINTS, Criterion.MAKESPAN:
        ranking = ranked(scenario(*options, criterion=criterion, pareto=pareto))
        figures = {entry.option: entry.figures[Criterion.POINTS] for entry in ranking.entries}
        assert figures == {"one": 25.0, "four": 100.0}


def test_the_document_has_the_cost() -> None:
    """The document contains the total, the currency and every cost item."""
    costs = powered(100, 100, yearly={"staff": 50.0})
    document = ranking_document(ranked(by(Criterion.TOTAL_COST, costing("a", 1, 1000, costs))))
    cost = document["ranking"][0]["cost"]  # type: ignore[index]
    assert cost["total"] == pytest.approx(1488.0)
    assert (cost["currency"], cost["purchase"], cost["staff"]) == ("EUR", 1000, 50.0)
    assert (cost["energy"], cost["kwh"], cost["carbon"]) == pytest.approx((438.0, 876.0, 350.4))
    assert (cost["power"], cost["rack_units"], cost["racks"], cost["busy"]) == (100.0, 1.0, 0, 1.0)
    share = 12 / YEAR
    run = {"cost": 1488 * share, "kwh": 876 * share, "carbon": 350.4 * share}
    assert cost["per_run"]["job"] == pytest.approx(run)
    assert cost["parts"] == {"node": 1}


def test_what_is_paid_up_to_the_end_of_each_year() -> None:
    """1,000 at once, 438 a year for two and a half years at 3 %; at the end, a tenth of the price is left."""
    asked = by(Criterion.TOTAL_COST, costing("one", 1, 1000, powered(100, 100, residual=0.1)))
    asked = replace(asked, service_life=2.5 * YEAR, discount_rate=0.03)
    cost = entry_of(asked, "one").cost
    assert cost is not None
    first, second = 438 / 1.03, 438 / 1.03**2
    end = 1000 + first + second + (0.5 * 438 - 100) / 1.03**2.5
    wanted = [(0.0, 1000.0), (1.0, 1000 + first), (2.0, 1000 + first + second), (2.5, end)]
    assert [year for year, _ in cost.by_year] == [year for year, _ in wanted]
    assert [paid for _, paid in cost.by_year] == pytest.approx([paid for _, paid in wanted])
    assert cost.by_year[-1][1] == cost.sheet.total
    for_ever = entry_of(replace(asked, service_life=51 * YEAR), "one").cost
    assert for_ever is not None and for_ever.by_year == ()
