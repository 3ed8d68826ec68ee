"""Comparisons before simulation, as text."""

from __future__ import annotations

from clue.predict.application import Application
from clue.purchase import Component, Option, Scenario, Workload
from clue.report.scenario.text import scenario_text
from tests.report.cases import (
    BUDGET,
    machine,
    rendered,
    row,
)


def test_scenario_shows_workloads_and_options() -> None:
    """A comparison that was not simulated shows its workloads and options."""
    work = Workload("large", (Component("all", Application(trace="t")),), instances=None, ranks=(4, 6))
    scenario = Scenario("which", (work,), (Option("Mixed", machine(), BUDGET),), budget=BUDGET)
    text = rendered(scenario_text(scenario))
    assert row(text, "large") == "large all as many as fit 4, 6 1"
    assert row(text, "Mixed") == "Mixed mixed 3 6 300,000 ATS"


def test_a_single_option_that_is_not_shown_is_told_in_the_singular() -> None:
    """Of 101 options, one is not shown, and one generated option is beyond the budget."""
    options = tuple(Option(f"o{i}", machine(), BUDGET) for i in range(101))
    text = rendered(scenario_text(Scenario("which", (), options, budget=BUDGET, left_out=1)))
    assert "- and 1 more option\n- 1 generated option costs more than the budget and is left out" in text
