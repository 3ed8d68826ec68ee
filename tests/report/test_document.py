"""The JSON documents against the interface: keys, values and order."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from clue.machine import AlgorithmChoice, Contention, Curve, Flows, NoContention, Ports
from clue.machine.contention.topology import Torus
from clue.predict.application import Application
from clue.purchase import Component, Entry, Option, Scenario, Workload
from clue.report.machine.document import machine_document
from clue.report.ranking.document import ranking_document
from clue.report.result.document import result_document
from clue.report.scenario.document import scenario_document
from clue.report.trace.document import trace_document
from tests.report.cases import BUDGET, by_makespan, machine, ranking, result, trace


def test_result_has_the_keys_of_the_interface() -> None:
    """Every key that the interface names is there, with the figures of the result."""
    document = result_document(result())
    assert document["makespan"] == 4.0
    assert document["engine"] == "reference"
    assert document["warnings"] == ["pair: no contention is stated"]
    assert document["ranks"] == [
        {"rank": 0, "node": 0, "finish": 4.0, "compute": 2.0, "communicate": 1.0, "wait": 1.0},
        {"rank": 1, "node": 1, "finish": 3.0, "compute": 1.0, "communicate": 0.0, "wait": 2.0},
    ]


def test_result_tells_what_was_left_out_and_sent() -> None:
    """Beyond the interface a result tells regions, unmodelled calls and traffic."""
    document = result_document(result())
    assert document["compute_by_region"] == {"": 2.0, "solve": 1.0}
    assert document["unmodelled"] == [{"call": "Win.Put", "count": 3, "seconds": 0.5}]
    assert document["traffic"] == {"messages": 5, "nbytes": 4000}
    assert (document["instances"], document["ops"]) == (1, 7)


def test_result_without_traffic_has_none() -> None:
    """What was not counted is not in the document."""
    assert "traffic" not in result_document(replace(result(), traffic=None))


def test_ranking_has_the_keys_of_the_interface() -> None:
    """An option with a position has exactly the figures that the interface names, and more."""
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


def test_ranking_lists_by_position_then_those_that_cannot_run_then_the_unaffordable() -> None:
    """What has no position comes last, without that key and with its reason."""
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
    """Whether they are affordable is null, in the document and in the order of the table."""
    unknown = Entry("Unknown", "unknown", None, None, None, None, "no price is stated", ())
    known = ranking()
    with_it = replace(known, entries=(unknown, *known.entries))
    listed = ranking_document(with_it)["ranking"]
    assert isinstance(listed, list)
    assert [(each["option"], each["affordable"]) for each in listed[2:]] == [
        *(("Small", True), ("Unknown", None), ("Gold", False)),
    ]


def test_amounts_are_whole_where_they_are() -> None:
    """A price of 295000 is written as such, one with a fraction keeps it."""
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


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_becomes_null(figure: float) -> None:
    """JSON has no word for NaN and infinity."""
    document = result_document(replace(result(), makespan=figure, compute_by_region={"solve": figure}))
    assert json.loads(json.dumps(document, allow_nan=False))["makespan"] is None
    assert document["compute_by_region"] == {"solve": None}


def test_trace_document_counts_calls_not_rows() -> None:
    """A Sendrecv of three rows is one call, with the bytes and the time of all of them."""
    document = json.loads(json.dumps(trace_document(trace()), allow_nan=False))
    calls = {each["call"]: each for each in document["calls"]}
    assert calls["Sendrecv"] == {
        "call": "Sendrecv", "count": 2, "nbytes": 1000, "seconds": 0.012, "modelled": True
    }  # fmt: skip
    assert calls["Alltoallv"]["nbytes"] == 3 * 60
    assert document["unmodelled"] == [{"call": "Win.Put", "count": 1, "seconds": 0.5}]
    assert document["regions"] == [{"region": "solve", "bursts": 1, "seconds": 1.5, "flops": 3e9}]
    assert [each["ops"] for each in document["communicators"]] == [9, 0]
    assert document["ranks"][0]["peak_memory"] == 100_000_000


def test_machine_document_holds_every_parameter() -> None:
    """Curves, pairs, contention and changes are all there, and infinite thresholds are null."""
    choice = {"bcast": AlgorithmChoice(((1000.0, "binomial"), (float("inf"), "ring")))}
    mixed = replace(machine(), network=replace(machine().network, collectives=choice))
    document = json.loads(json.dumps(machine_document(mixed), allow_nan=False))
    assert (document["machine"], document["nodes"], document["processors"]) == ("mixed", 3, 6)
    assert document["node_types"]["pc"]["count"] == 2
    network = document["network"]
    assert network["between_nodes"]["send_delay"] == [{"nbytes": 0.0, "time": 10e-6, "per_byte": 1e-9}]
    assert network["between_nodes"]["eager_limit"] == 64_000
    assert [pair["between"] for pair in network["pairs"]] == [["pc", "big"], ["big", "pc"], ["big", "big"]]
    assert network["contention"] == {"model": "factor", "factors": [[1, 1.0], [4, 1.5]]}
    assert network["collectives"]["bcast"][1] == {"up_to": None, "algorithm": "ring"}
    assert document["changes"][0]["at"] == 10.0


def test_machine_document_holds_every_model_of_contention() -> None:
    """By name, with its parameters; a topology with the number of its links and its bisection."""

    def contention(given: Contention) -> object:
        document = machine_document(replace(machine(), network=replace(machine().network, contention=given)))
        return json.loads(json.dumps(document, allow_nan=False))["network"]["contention"]

    assert contention(NoContention()) == {"model": "none"}
    assert contention(Ports()) == {"model": "ports", "busy": None}
    busy = [{"nbytes": 0.0, "time": 1e-6, "per_byte": 1e-9}]
    assert contention(Ports(Curve.line(1e-6, 1e-9))) == {"model": "ports", "busy": busy}
    assert contention(Flows(Torus((2, 2), 1e9))) == {
        "model": "flows",
        "topology": "torus",
        "parameters": {"dimensions": [2, 2], "bandwidth": 1e9},
        "places": 4,
        "links": 8,
        "bisection": 2e9,
    }


def test_scenario_document_tells_what_would_be_compared() -> None:
    """Workloads and options are there by name, with programs, splits and prices."""
    work = Workload("large", (Component("all", Application(trace="large-{ranks}.clue")),), instances=None, ranks=(4, 6))
    scenario = Scenario("which", (work,), (Option("Mixed", machine(), BUDGET),), budget=BUDGET)
    document = json.loads(json.dumps(scenario_document(scenario), allow_nan=False))
    assert document["budget"] == {"amount": 300000, "currency": "ATS"}
    assert document["workloads"]["large"]["ranks"] == [4, 6]
    assert document["workloads"]["large"]["kernels"]["all"]["trace"] == "large-{ranks}.clue"
    assert document["options"]["Mixed"]["processors"] == 6
