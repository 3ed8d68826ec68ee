"""The JSON document of a ranking; its keys are an interface."""

from __future__ import annotations

import json
from dataclasses import replace

from clue.purchase import Criterion, Entry
from clue.purchase.costs import Sheet
from clue.purchase.outcome import OptionCost
from clue.report.ranking.document import ranking_document
from clue.units import YEAR
from tests.report.cases import by_makespan, ranking


def test_ranking_has_the_keys_of_the_interface() -> None:
    """An option with a position has the keys of the interface."""
    document = json.loads(json.dumps(ranking_document(ranking())))
    assert document["scenario"] == "which-cluster"
    assert document["criterion"] == "points"
    assert document["warnings"] == ["Cheap: curve from published values"]
    first = document["ranking"][0]
    assert first["position"] == 1
    assert first["option"] == "Cheap"
    assert first["price"] == {"amount": 295000, "currency": "ATS"}
    assert first["affordable"] is True
    assert first["score"] == 195.0
    large = first["workloads"]["large"]
    assert (large["makespan"], large["instances"], large["ranks"], large["points"]) == (16.0, 3, 6, 146.25)
    assert (large["side_by_side"], large["turns"], large["idle"], large["throughput"]) == (3, 2, 2, 6 / 16)
    assert large["kernels"]["cholesky"]["makespan"] == 8.0


def test_figures_have_the_units_and_the_period_that_the_text_tells() -> None:
    """The front has the units of its criteria; costs have their period of two years, and the discount rate."""
    cost = OptionCost(Sheet({"purchase": 1e5}, 0.5, None, None), "ATS", {}, {}, 0, 0.0, None, ())
    first = replace(ranking().entries[3], cost=cost, figures={Criterion.TOTAL_COST: 1e5, Criterion.WAITING: 60.0})
    units = {Criterion.TOTAL_COST: "ATS", Criterion.WAITING: "s"}
    asked = replace(ranking(), entries=(first,), pareto=("Cheap",), units=units, life=2 * YEAR, discount_rate=0.03)
    document = ranking_document(asked)
    assert document["criteria"] == {"total_cost": {"unit": "ATS"}, "waiting": {"unit": "s"}}
    assert (document["service_life"], document["discount_rate"]) == (63_072_000.0, 0.03)
    assert not {"criteria", "service_life", "discount_rate"} & ranking_document(ranking()).keys()


def test_ranking_lists_by_position_then_those_that_cannot_run_then_the_unaffordable() -> None:
    """Options without a position come last; they have a reason but no position key."""
    listed = ranking_document(ranking())["ranking"]
    assert isinstance(listed, list)
    assert [each["option"] for each in listed] == ["Cheap", "Fine", "Small", "Gold"]
    small, gold = listed[2:]
    assert "position" not in small
    assert "position" not in gold
    assert (small["affordable"], small["reason"]) == (True, "large: a rank needs 900 MB")
    assert (gold["affordable"], gold["reason"]) == (False, "costs more than the budget")
    assert small["price"] is None


def test_options_of_unknown_price_come_before_those_over_the_budget() -> None:
    """For an option without a price, *affordable* is null, and it is listed before those over the budget."""
    unknown = Entry("Unknown", "unknown", None, None, None, None, "no price is stated", ())
    known = ranking()
    with_it = replace(known, entries=(unknown, *known.entries))
    listed = ranking_document(with_it)["ranking"]
    assert isinstance(listed, list)
    assert [(each["option"], each["affordable"]) for each in listed[2:]] == [
        *(("Small", True), ("Unknown", None), ("Gold", False)),
    ]


def test_amounts_are_whole_where_they_are() -> None:
    """Whole amounts are written without a fraction; other amounts keep theirs."""
    listed = ranking_document(ranking())["ranking"]
    assert isinstance(listed, list)
    assert json.dumps([each["price"]["amount"] for each in listed[:2]]) == "[295000, 298500.5]"


def test_points_are_null_where_they_do_not_count() -> None:
    """A ranking by another criterion has no points and no budget."""
    document = ranking_document(by_makespan())
    listed = document["ranking"]
    assert isinstance(listed, list)
    assert document["budget"] is None
    assert listed[0]["workloads"]["large"]["points"] is None
