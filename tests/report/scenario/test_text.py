"""Comparisons before simulation, as text."""

from __future__ import annotations

from pathlib import Path

from clue.predict.application import Application, Extrapolated, Modelled
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


def test_scenario_names_what_its_workloads_run() -> None:
    """Each kernel has the command that clue would start, or the recordings or the model in its place."""
    heat = Path("programs/heat.py")
    parts = (
        Component("sweep", Application(heat, ("--n", "1000"))),
        Component("solve", Application(heat, trace="heat.clue")),
        Component("large", Application(extrapolated=Extrapolated("cg-{size}-{ranks}.clue", 4000))),
        Component("hpl", Application(modelled=Modelled("hpl.yaml", 9600.0))),
    )
    one = Workload("trace", (Component("trace", Application(trace="t-{ranks}.clue")),))
    text = rendered(scenario_text(Scenario("which", (Workload("work", parts), one), ())))
    assert "- work, sweep: programs/heat.py --n 1000, recorded on first use\n" in text
    assert "- work, solve: heat.clue, of programs/heat.py\n" in text
    assert "- work, large: cg-{size}-{ranks}.clue, extrapolated to size 4000\n" in text
    assert "- work, hpl: hpl.yaml at size 9600\n" in text
    assert "- trace: t-{ranks}.clue\n" in text


def test_a_single_option_that_is_not_shown_is_told_in_the_singular() -> None:
    """Of 101 options, one is not shown, and one generated option is beyond the budget."""
    options = tuple(Option(f"o{i}", machine(), BUDGET) for i in range(101))
    text = rendered(scenario_text(Scenario("which", (), options, budget=BUDGET, left_out=1)))
    assert "- and 1 more option\n- 1 generated option costs more than the budget and is left out" in text
