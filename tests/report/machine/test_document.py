"""The JSON document of a machine."""

from __future__ import annotations

import json
from dataclasses import replace

from clue.machine import AlgorithmChoice, Contention, Curve, Flows, NoContention, Ports
from clue.machine.contention.topology import Torus
from clue.report.machine.document import machine_document
from tests.report.cases import machine


def test_machine_document_holds_every_parameter() -> None:
    """The document contains curves, pairs, contention and changes; infinite thresholds are null."""
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
    """The document names the contention model and its parameters; a topology also has its links and bisection."""

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
        "in_order": False,
        "places": 4,
        "links": 8,
        "bisection": 2e9,
    }
