"""A comparison as text, before anything is simulated: the workloads, and the options to buy."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from clue.caveats import Count
from clue.report.shared.table import NONE, add_row, bullets, facts, heading, stack, table
from clue.report.shared.warnings import warnings_text
from clue.units import MONTH, count_of, format_exact, format_figure, format_number, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clue.predict.application import Application
    from clue.purchase import Scenario, Workload

#: Largest number of listed options.
_LISTED = 100


def scenario_text(scenario: Scenario) -> RenderableType:
    """Show a comparison: budget, criterion, workloads and options."""
    return stack(
        heading(scenario.name),
        facts((("budget", str(scenario.budget or "")), ("criterion", scenario.criterion.value))),
        _workloads(scenario),
        _programs(scenario),
        _jobs(scenario),
        _options(scenario),
        _not_shown(scenario),
        warnings_text(scenario.notes, "Notes"),
    )


def _workloads(scenario: Scenario) -> Table:
    shown = table("workload", "kernels", "instances", "ranks each", "weight", numbers=("weight",), title="Workloads")
    for workload in scenario.workloads:
        kernels = ", ".join(component.name for component in workload.components)
        ranks = ", ".join(map(format_number, workload.ranks))
        add_row(shown, workload.name, kernels, _instances(workload), ranks, f"{workload.weight:g}")
    return shown


def _programs(scenario: Scenario) -> Table:
    """List the program or recording of each kernel: whoever reads another person's file must see what it starts."""
    return bullets(
        f"{workload.title(component)}: {_program(component.application)}"
        for workload in scenario.workloads
        for component in workload.components
    )


def _program(application: Application) -> str:
    known, extrapolated, modelled = application.trace, application.extrapolated, application.modelled
    if extrapolated is not None:
        known = f"{extrapolated.pattern}, extrapolated to size {extrapolated.size}"
    elif modelled is not None:
        known = f"{modelled.path} at size {format_exact(modelled.size)}"
    if application.script is None:
        return str(known)
    command = shlex.join((str(application.script), *application.arguments))
    return f"{command}, recorded on first use" if known is None else f"{known}, of {command}"


def _jobs(scenario: Scenario) -> Table | None:
    mix = scenario.queue
    if mix is None or not mix.classes:
        return None
    shown = table("class", "workload", "jobs a month", "ranks", "time limit", numbers=("jobs a month",), title="Jobs")
    for each in mix.classes:
        listed = f"{len(each.submitted):,} listed" if each.submitted else NONE
        month = format_figure(each.rate * MONTH) if each.rate else listed
        ranks = ", ".join(f"{format_number(n)} ({share:g})" for n, share in each.ranks.items()) or "as in the ranking"
        limit = f"{each.overestimate:g} × run" if each.limit is None else format_time(each.limit)
        add_row(shown, each.name, each.workload, month, ranks, limit)
    return shown


def _instances(workload: Workload) -> str:
    return "as many as fit" if workload.instances is None else format_number(workload.instances)


def _not_shown(scenario: Scenario) -> RenderableType | None:
    more = len(scenario.options) - _LISTED
    told = [f"and {count_of(more, 'more option')}"] if more > 0 else []
    if scenario.left_out:
        cost = "generated option costs more than the budget and is|generated options cost more than the budget and are"
        told.append(f"{Count(scenario.left_out):{cost}} left out")
    return bullets(told) if told else None


def _options(scenario: Scenario) -> Table:
    numbers = ("nodes", "processors", "price")
    shown = table("option", "machine", *numbers, numbers=numbers, title="Options")
    for option in scenario.options[:_LISTED]:
        machine = option.machine
        add_row(shown, option.name, machine.name, len(machine.nodes), machine.processors, option.price or NONE)
    return shown
