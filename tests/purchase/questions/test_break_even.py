"""The utilisation above which owning is cheaper than renting, computed by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from clue.predict.replaying import ReplayPredictor
from clue.purchase import Criterion, Option, Workload, rank_options
from clue.purchase.costs import Cloud, Costs, Electricity, Number, Part, Per, Tariff
from clue.purchase.questions.answers import BreakEven
from clue.purchase.questions.break_even import crossing
from clue.report.answers.text import break_even_sentence
from clue.units import MONTH, YEAR, Money
from tests.kernel.cases import machine
from tests.purchase.test_ranking import scenario, traces, workload

HOUR, KWH = 3600.0, 3.6e6
#: 100 W while it is busy, at 0.5 a kWh: 438 a year.
OWN = Costs((Part("node", Number(Per.OPTION), busy=100.0),), electricity=Electricity(0.5 / KWH))


def rented(quantum: float = 0.0, **more: Any) -> Costs:
    """Return the costs of cloud nodes at 3.60 an hour each."""
    return Costs(cloud=Cloud(3.60 / HOUR, quantum=quantum, **more))


def answers(own: Costs, cloud: Costs, *workloads: Workload, price: float = 1000) -> tuple[BreakEven, ...]:
    """Compare one node, by default for 1,000, with two cloud nodes that run a job twice as fast: 12 s and 6 s."""
    options = (
        Option("own", machine(1), Money(price, "EUR"), costs=own),
        Option("cloud", machine(2), Money(0, "EUR"), costs=cloud),
    )
    jobs = workloads or (workload(ranks=(1, 2)),)
    asked = scenario(*options, workloads=jobs, criterion=Criterion.TOTAL_COST, service_life=YEAR)
    return rank_options(asked, ReplayPredictor(traces)).answers.break_even


def test_two_lines_meet() -> None:
    """Own: 1,000 + 438 u. The cloud does the runs of u years in u / 2 years: 2 · 3.60 · 8,760 · u / 2 = 31,536 u."""
    (found,) = answers(OWN, rented())
    assert (found.own, found.cloud, found.currency) == ("own", "cloud", "EUR")
    assert (found.own_fixed, found.cloud_fixed) == (1000.0, 0.0)
    assert found.own_busy == pytest.approx(438.0)
    assert found.cloud_busy == pytest.approx(31_536.0)
    assert found.utilisation == pytest.approx(1000 / (31_536 - 438))
    assert found.cheaper_below == "cloud"
    assert found.is_within_reach


def test_both_cost_the_same_there() -> None:
    """At the break-even utilisation, both options cost the same."""
    (found,) = answers(OWN, rented())
    assert found.utilisation is not None
    own = found.own_fixed + found.utilisation * found.own_busy
    assert own == pytest.approx(found.cloud_fixed + found.utilisation * found.cloud_busy)


def test_a_run_is_billed_in_quanta() -> None:
    """A run of 6 s is billed for 60 s: the rent is ten times as high."""
    (found,) = answers(OWN, rented(quantum=60.0))
    assert found.utilisation == pytest.approx(1000 / (315_360 - 438))


def test_runs_a_month_decide_what_both_do() -> None:
    """The short job (12 s) runs twice as often as the long one (24 s): each takes half of the busy time."""
    jobs = (
        workload("short", ranks=(1, 2), demand=200 / MONTH),
        workload("long", factor="2", ranks=(1, 2), demand=100 / MONTH),
    )
    (found,) = answers(OWN, rented(), *jobs)
    assert found.cloud_busy == pytest.approx(31_536.0)
    (found,) = answers(OWN, rented(quantum=20.0), *jobs)
    # Per 48 s of the own node: two runs of 6 s and one of 12 s, each billed for 20 s.
    assert found.cloud_busy == pytest.approx(63_072 * 60 / 48)


def test_without_runs_a_month_time_is_shared_by_weight() -> None:
    """The first job gets a third of the time, the second two thirds; the cloud runs both twice as fast."""
    jobs = (workload("short", ranks=(1, 2)), workload("long", factor="2", ranks=(1, 2), weight=2.0))
    (found,) = answers(OWN, rented(quantum=24.0), *jobs)
    # Per second of the own node: 1/36 runs billed for 24 s, and 2/72 runs billed for 24 s.
    assert found.cloud_busy == pytest.approx(63_072 * (24 / 36 + 48 / 72))


def test_who_is_never_cheaper_is_said() -> None:
    """The cloud always wins at nearly no price; the own node if the cloud also pays for storage, or if it is free."""
    (found,) = answers(OWN, Costs(cloud=Cloud(1e-9)))
    assert (found.utilisation, found.cheaper_below) == (None, "cloud")
    assert break_even_sentence(found) == "cloud is cheaper than own however much it is used."
    (found,) = answers(OWN, rented(storage=200.0))
    assert (found.utilisation, found.cheaper_below) == (None, "own")
    (found,) = answers(OWN, rented(), price=0)
    assert break_even_sentence(found) == "own is cheaper than cloud however much it is used."


def test_what_lies_out_of_reach_is_said() -> None:
    """The nodes can be busy for 2.8 % of the time at most, so a break-even at 3.2 % is out of reach."""
    busy = Costs(OWN.parts, electricity=OWN.electricity, utilisation=0.028)
    (found,) = answers(busy, rented())
    assert not found.is_within_reach
    assert break_even_sentence(found) == (
        "own and cloud cost the same, 1,014 EUR, where runs keep own busy for 3.2% of its life; cloud is cheaper "
        "below, which is always: it can be busy for 2.8% at most."
    )


def test_reserved_nodes_do_no_more_runs_than_they_can() -> None:
    """A run takes 6 s on two own nodes, for 1,000, and 12 s on one reserved node, at 8 cents an hour for a year.

    That is 700.80, less than 1,000 at any use, but the reserved node is busy all year when the own ones are for half.
    """
    reserved = Costs(cloud=Cloud(0.08 / HOUR, Tariff.RESERVED))
    options = (
        Option("own", machine(2), Money(1000, "EUR"), costs=Costs()),
        Option("cloud", machine(1), Money(0, "EUR"), costs=reserved),
    )
    jobs = (workload(ranks=(1, 2)),)
    asked = scenario(*options, workloads=jobs, criterion=Criterion.TOTAL_COST, service_life=YEAR)
    (found,) = rank_options(asked, ReplayPredictor(traces)).answers.break_even
    assert (found.cloud_fixed, found.covered) == pytest.approx((700.8, 0.5))
    assert found.is_limited
    assert break_even_sentence(found) == (
        "cloud is cheaper than own however much it is used. Where runs keep own busy for more than 50.0% of its life, "
        "the reserved nodes of cloud cannot do all of them."
    )


def test_nodes_that_do_all_runs_are_not_limited() -> None:
    """Reserved nodes that are twice as fast do all runs of the own one; of nodes billed by use more are rented."""
    (found,) = answers(OWN, Costs(cloud=Cloud(0.08 / HOUR, Tariff.RESERVED)))
    assert found.covered == pytest.approx(2.0)
    assert not found.is_limited
    (found,) = answers(OWN, rented())
    assert found.covered == math.inf


def test_without_a_cloud_there_is_nothing_to_ask() -> None:
    """There is no answer without a cloud option, or without an option that is bought."""
    assert answers(OWN, OWN) == ()
    assert answers(rented(), rented()) == ()


@pytest.mark.parametrize(
    ("lines", "meeting"),
    [((10.0, 1.0, 0.0, 2.0), 10.0), ((0.0, 2.0, 10.0, 1.0), 10.0), ((1.0, 1.0, 0.0, 1.0), None),
     ((0.0, 1.0, 10.0, 2.0), None), ((5.0, 1.0, 5.0, 2.0), None), ((5.0, 2.0, 5.0, 1.0), None)],
)  # fmt: skip
def test_where_lines_meet(lines: tuple[float, float, float, float], meeting: float | None) -> None:
    """Two lines meet at a utilisation above 0, or one of them is below at any utilisation."""
    assert crossing(*lines) == meeting
