"""The JSON document of a comparison."""

from __future__ import annotations

import json

from clue.predict.application import Application, Modelled
from clue.purchase import Component, Option, Scenario, Workload
from clue.report.scenario.document import scenario_document
from tests.report.cases import BUDGET, machine


def test_scenario_document_tells_what_would_be_compared() -> None:
    """The document has workloads and options by name, with programs, splits and prices."""
    work = Workload("large", (Component("all", Application(trace="large-{ranks}.clue")),), instances=None, ranks=(4, 6))
    scenario = Scenario("which", (work,), (Option("Mixed", machine(), BUDGET),), budget=BUDGET)
    document = json.loads(json.dumps(scenario_document(scenario), allow_nan=False))
    assert document["budget"] == {"amount": 300000, "currency": "ATS"}
    assert document["workloads"]["large"]["ranks"] == [4, 6]
    assert document["workloads"]["large"]["kernels"]["all"]["trace"] == "large-{ranks}.clue"
    assert document["options"]["Mixed"]["processors"] == 6


def test_scenario_document_tells_models_and_repeats() -> None:
    """A program by a model has its file and the size; one by several recordings has all of them."""
    model = Component("hpl", Application(modelled=Modelled("hpl.yaml", 9600.0)), 0.5)
    several = Component("heat", Application(trace="heat.clue", repeats=("heat.2.clue",)), 0.5)
    document = scenario_document(Scenario("which", (Workload("both", (model, several)),), ()))
    kernels = json.loads(json.dumps(document, allow_nan=False))["workloads"]["both"]["kernels"]
    assert kernels["hpl"]["model"] == {"path": "hpl.yaml", "size": 9600.0}
    assert (kernels["heat"]["model"], kernels["heat"]["repeats"]) == (None, ["heat.2.clue"])
