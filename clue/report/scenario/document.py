"""Comparisons before anything is simulated, as JSON documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clue.report.queue.document import jobs_document
from clue.report.shared.document import Document, fields, money, plain
from clue.units import MONTH

if TYPE_CHECKING:
    from clue.predict.application import Application
    from clue.purchase import Component, Scenario


def scenario_document(scenario: Scenario) -> Document:
    """Describe a comparison before anything is simulated: the workloads, and the options to buy."""
    return plain(
        {
            "scenario": scenario.name,
            "criterion": scenario.criterion.value,
            "budget": money(scenario.budget),
            "workloads": {
                each.name: {
                    "kernels": {component.name: _application(component) for component in each.components},
                    "instances": each.instances,
                    "ranks": list(each.ranks),
                    "weight": each.weight,
                    "memory": {str(ranks): nbytes for ranks, nbytes in each.memory.items()},
                    **fields(each, "order", "ranks_per_processor", "deadline"),
                    **({"placements": list(map(str, each.stated_layouts))} if each.places_in_several_ways else {}),
                    **({"placement_searched": True} if each.layouts_searched else {}),
                    "runs_a_month": None if each.demand is None else each.demand * MONTH,
                }
                for each in scenario.workloads
            },
            **({} if scenario.queue is None else {"jobs": jobs_document(scenario.queue)}),
            **fields(scenario, "service_life", "discount_rate"),
            "limits": asdict(scenario.limits) | {"total_cost": money(scenario.limits.total_cost)},
            "options": {
                each.name: {
                    "machine": each.machine.name,
                    "nodes": len(each.machine.nodes),
                    "processors": each.machine.processors,
                    "price": money(each.price),
                    "measured": {
                        workload: fields(measured, "skeleton", "place", "ranks", "seconds")
                        for workload, measured in each.measured.items()
                    },
                }
                for each in scenario.options
            },
            "left_out": scenario.left_out,
            "notes": list(scenario.notes),
        }
    )


def _application(component: Component) -> Document:
    application = component.application
    return {
        "script": None if application.script is None else str(application.script),
        "args": list(application.arguments),
        "inputs": [str(file) for file in application.inputs],
        "environment": list(application.environment),
        "trace": application.trace,
        **sources_document(application),
        "share": component.share,
    }


def sources_document(application: Application) -> Document:
    """Describe from what an application is predicted beside a trace: further recordings, smaller ones, or a model."""
    extrapolated, modelled = application.extrapolated, application.modelled
    return {
        "repeats": list(application.repeats),
        "extrapolate": None
        if extrapolated is None
        else {
            "traces": extrapolated.pattern,
            "size": extrapolated.size,
            "distributions": list(extrapolated.distributions),
        },
        "model": None if modelled is None else fields(modelled, "path", "size"),
    }
