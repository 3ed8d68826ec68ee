"""JSON documents: what ``--json`` prints. Plain dictionaries, lists, text and finite numbers; no files.

The keys of :func:`result_document` and :func:`ranking_document` are an interface: keys may be added, none
removed. Times are in seconds of virtual time, sizes in bytes. A figure that is not known or not finite is
``null``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from clue.machine import ColdStart, Curve, SpeedCurve
from clue.units import MONTH

if TYPE_CHECKING:
    from clue.machine import Link, Machine, NodeType
    from clue.purchase import Component, ComponentOutcome, Entry, Ranking, Scenario, WorkloadOutcome
    from clue.purchase.outcome import OptionCost
    from clue.recording import Repeated
    from clue.result import Result
    from clue.steady import Steady
    from clue.trace import Trace
    from clue.uncertainty import ModelError, Sampled, Sampling, Spread
    from clue.units import Money

Document = dict[str, object]
#: Up to here every whole number is one that a float can hold.
_WHOLE = 2.0**53
_JOULES_PER_KWH = 3.6e6


def result_document(result: Result, sampled: Sampled | None = None) -> Document:
    """Describe a simulation: makespan, engine, warnings, and the figures of every rank; its interval, if sampled."""
    document: Document = {
        "makespan": result.makespan,
        "engine": result.engine,
        "warnings": list(result.warnings),
        "ranks": [fields(each, "rank", "node", "finish", "compute", "communicate", "wait") for each in result.ranks],
        "compute_by_region": dict(result.compute_by_region),
        "unmodelled": [fields(each, "call", "count", "seconds") for each in result.unmodelled],
        "instances": result.instances,
        "ops": result.ops,
    }
    if result.traffic is not None:
        document["traffic"] = {
            "messages": int(result.traffic.messages.sum()),
            "nbytes": int(result.traffic.nbytes.sum()),
        }
    if sampled is not None:
        document["uncertainty"] = {
            **_sampling(sampled.sampling),
            "makespan": interval(sampled.spread),
            "model_error": sampled.reach,
            "reasons": list(sampled.reasons),
        }
    return _plain(document)


def steady_document(steady: Steady) -> Document:
    """Describe of what part a simulation was: its ops, the interval, and why it is the whole, if it is."""
    from clue.uncertainty import LEVEL  # noqa: PLC0415 - numpy

    return {
        "ops": steady.result.ops,
        "of": steady.of,
        "loops": [fields(each, "name", "iterations", "simulated") for each in steady.loops],
        "level": LEVEL,
        "low": None if steady.why else steady.low,
        "high": None if steady.why else steady.high,
        "why": steady.why or None,
    }


def fields(of: object, *names: str) -> Document:
    """Return the fields of a value whose keys are their own names, in this order."""
    return {name: getattr(of, name) for name in names}


def _sampling(sampling: Sampling) -> Document:
    from clue.uncertainty import LEVEL  # noqa: PLC0415 - numpy

    parts = {} if sampling.noise else {"noise": False}  # only what replays of a part may be off by
    return {**fields(sampling, "samples", "seed"), **parts, "level": LEVEL}


def _error(error: ModelError | None) -> Document:
    return {} if error is None else {"model_error": fields(error, "source", "date", "cases", "programs")}


def interval(spread: Spread) -> Document:
    """Describe an interval: 10th percentile, median and 90th percentile of samples."""
    return fields(spread, "low", "median", "high")


def ranking_document(ranking: Ranking) -> Document:
    """Describe a ranking: options by position, then those that have none, with the reason.

    ``affordable`` is ``null`` where nobody knows whether the budget covers an option, because its price is not stated;
    such options come before those over the budget, which come last.
    """
    return _plain(
        {
            "scenario": ranking.scenario,
            "criterion": ranking.criterion.value,
            **fields(ranking, "unit", "higher_is_better"),
            "budget": _money(ranking.budget),
            "ranking": [_entry(each) for each in sorted(ranking.entries, key=place)],
            # Where only so many positions were asked for; the others come without one, with what bounds their score.
            **({} if ranking.pareto is None else {"pareto": list(ranking.pareto)}),
            **fields(ranking, "first", "left_out", "interrupted", "certain", "engine", "engine_reason"),
            **(
                {} if ranking.sampling is None else {"uncertainty": _sampling(ranking.sampling) | _error(ranking.error)}
            ),
            "warnings": list(ranking.warnings),
        }
    )


def place(entry: Entry) -> tuple[bool, int, int]:
    """Order by position; after the last, those that cannot run, those without a price, then those over the budget."""
    return entry.position is None, (True, None, False).index(entry.affordable), entry.position or 0


def _entry(entry: Entry) -> Document:
    document: Document = {} if entry.position is None else {"position": entry.position}
    document |= {
        **fields(entry, "option", "machine"),
        "price": _money(entry.price),
        **fields(entry, "affordable", "score"),
        "workloads": {each.workload: _workload(each) for each in entry.workloads},
    }
    if entry.cost is not None:
        document["cost"] = _cost(entry.cost)
    if entry.figures:
        document["criteria"] = {criterion.value: figure for criterion, figure in entry.figures.items()}
    if entry.reason:
        document["reason"] = entry.reason
    if entry.bound is not None:
        document["bound"] = entry.bound
    if entry.spread is not None:
        document["uncertainty"] = {"score": interval(entry.spread), "best": entry.best}
    return document


def _cost(cost: OptionCost) -> Document:
    """Describe what an option costs over the service life: amounts today, by item."""
    sheet = cost.sheet
    return {
        "total": sheet.total,
        "currency": cost.currency,
        **sheet.items,
        "per_run": {
            workload: {"cost": run.cost, "kwh": _kwh(run.energy), "carbon": run.carbon}
            for workload, run in cost.per_run.items()
        },
        "busy": sheet.busy,
        "parts": dict(cost.parts),
        **fields(cost, "power", "racks", "rack_units"),
        "kwh": _kwh(sheet.energy),
        "carbon": sheet.carbon,
        "sources": [fields(each, "of", "source", "date") for each in cost.sources],
    }


def _kwh(joules: float | None) -> float | None:
    return None if joules is None else joules / _JOULES_PER_KWH


def _workload(outcome: WorkloadOutcome) -> Document:
    return {
        "makespan": outcome.makespan,
        # The paper's high-level parallelism: what runs at a time, not all there is to run.
        "instances": outcome.side_by_side,
        **fields(outcome, "ranks", "points", "side_by_side", "turns", "idle", "throughput"),
        "kernels": {each.name: _component(each) for each in outcome.components},
        **({} if outcome.spread is None else {"uncertainty": {"makespan": interval(outcome.spread)}}),
    }


def _component(outcome: ComponentOutcome) -> Document:
    prediction = outcome.prediction
    return {
        "makespan": outcome.makespan,
        "points": outcome.points,
        "turn": None if prediction is None else prediction.makespan,
        "ops": None if prediction is None else prediction.ops,
        "compute_by_region": {} if prediction is None else dict(prediction.compute_by_region),
        # What no simulation told: a model, or a skeleton that was run.
        **({} if prediction is None or prediction.simulated else {"by": prediction.engine}),
    }


def scenario_document(scenario: Scenario) -> Document:
    """Describe a comparison before anything is simulated: what has to run, what could be bought."""
    return _plain(
        {
            "scenario": scenario.name,
            "criterion": scenario.criterion.value,
            "budget": _money(scenario.budget),
            "workloads": {
                each.name: {
                    "kernels": {component.name: _application(component) for component in each.components},
                    "instances": each.instances,
                    "ranks": list(each.ranks),
                    "weight": each.weight,
                    "memory": {str(ranks): nbytes for ranks, nbytes in each.memory.items()},
                    **fields(each, "order", "ranks_per_processor", "deadline"),
                    "runs_a_month": None if each.demand is None else each.demand * MONTH,
                }
                for each in scenario.workloads
            },
            **fields(scenario, "service_life", "discount_rate"),
            "limits": asdict(scenario.limits) | {"total_cost": _money(scenario.limits.total_cost)},
            "options": {
                each.name: {
                    "machine": each.machine.name,
                    "nodes": len(each.machine.nodes),
                    "processors": each.machine.processors,
                    "price": _money(each.price),
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
        "extrapolate": None
        if application.extrapolated is None
        else {
            "traces": application.extrapolated.pattern,
            "size": application.extrapolated.size,
            "distributions": list(application.extrapolated.distributions),
        },
        "share": component.share,
    }


def recordings_document(recorded: Repeated) -> Document:
    """Describe a trace and, where it was recorded several times, the other recordings."""
    if not recorded.repeats:
        return trace_document(recorded.trace)
    return trace_document(recorded.trace) | _plain(
        {
            "repeats": [str(path) for path in recorded.repeats],
            "computing": list(recorded.computing),
            "spread": recorded.spread,
        }
    )


def sites_document(trace: Trace) -> Document:
    """Describe where in the program a trace's calls come from; the frames of a site are outermost first."""
    from clue.report.profile import profile_sites  # noqa: PLC0415 - numpy

    return {
        "trace": trace.name,
        "program": trace.head.program,
        "ops": len(trace.ops),
        "sites": [
            {
                "site": each.number,
                "name": each.site.name,
                "frames": [
                    {
                        **fields(frame, "file", "function", "line", "at"),
                        "loops": list(frame.loops),
                        "branches": [{"line": line, "else": bool(which)} for line, which in frame.branches],
                    }
                    for frame in each.site.frames
                ],
                "calls": list(each.calls),
                **fields(each, "count", "nbytes", "compute", "seconds"),
            }
            for each in profile_sites(trace)
        ],
        "notes": list(trace.head.notes),
    }


def trace_document(trace: Trace) -> Document:
    """Describe a trace: program, computer, calls, regions, communicators and ranks, as recorded."""
    from clue.report.profile import (  # noqa: PLC0415 - numpy
        profile_calls,
        profile_communicators,
        profile_regions,
        rank_spans,
    )
    from clue.trace.speed import speeds  # noqa: PLC0415 - numpy

    head, calls = trace.head, profile_calls(trace)
    return _plain(
        {
            "trace": trace.name,
            "program": head.program,
            "arguments": list(head.arguments),
            **fields(head, "recorded", "processor", "mpi", "python", "clock"),
            "settings": dict(head.settings),
            "overhead": head.overhead,
            "host_speed": {piece: {"low": low, "high": high} for piece, (low, high) in speeds(trace).items()},
            "bursts": {"recorded": float(trace.ops.cpu.sum()) * 1e-9, "replayed": float(trace.bursts.sum()) * 1e-9},
            "typical": None if head.typical is None else fields(head.typical, "recordings", "spread"),
            "ops": len(trace.ops),
            "ranks": [
                {
                    "rank": rank,
                    **fields(each, "host", "world"),
                    **dict(zip(("ops", "compute", "in_calls"), span, strict=True)),
                    **fields(each, "cpu", "wall", "peak_memory", "delayed"),
                }
                for rank, (each, span) in enumerate(zip(head.rank_heads, rank_spans(trace), strict=True))
            ],
            "calls": [
                {**fields(each, "call", "count", "nbytes", "seconds"), "modelled": each.left_out is None}
                for each in calls
            ],
            "regions": [
                {**fields(each, "region", "bursts", "seconds"), "flops": each.flops or None}
                for each in profile_regions(trace)
            ],
            "communicators": [fields(each, "name", "size", "remote", "ops") for each in profile_communicators(trace)],
            "unmodelled": [
                {"call": each.call, **fields(each.left_out, "count", "seconds")}
                for each in calls
                if each.left_out is not None
            ],
            "notes": list(head.notes),
        }
    )


def machine_document(machine: Machine) -> Document:
    """Describe a machine: nodes, network, contention, changes, price and notes."""
    network, contention = machine.network, machine.network.contention
    names = [node.name for node in machine.nodes]
    described: Document = {"model": contention.name, **contention.document(len(machine.nodes))}
    return _plain(
        {
            "machine": machine.name,
            "nodes": len(machine.nodes),
            "processors": machine.processors,
            "price": _money(machine.price),
            "source": machine.source,
            "notes": list(machine.notes),
            "reference_processor": machine.reference_processor or None,
            "node_types": {
                name: {"count": names.count(name), **_node_type(node)} for name, node in machine.node_types().items()
            },
            "network": {
                "between_nodes": _link(network.between_nodes),
                "within_node": _link(network.within_node),
                "across_domains": None if network.across_domains is None else _link(network.across_domains),
                "pairs": [{"between": list(pair), **_link(link)} for pair, link in network.pairs.items()],
                "within": {name: _link(link) for name, link in network.within.items()},
                "contention": described,
                "progress": network.progress.value,
                "collectives": {
                    name: [{"up_to": up_to, "algorithm": algorithm} for up_to, algorithm in choice.thresholds]
                    for name, choice in network.collectives.items()
                },
                "collective_library": network.collective_library,
            },
            "changes": [{"at": time, "machine": machine_document(changed)} for time, changed in machine.changes],
        }
    )


def _node_type(node: NodeType) -> Document:
    return {
        **fields(node, "processors", "domains", "memory"),
        "price": _money(node.price),
        "performance_factor": node.performance_factor,
        "performance_factors": dict(node.performance_factors),
        "speeds": {region: _speed(speed) for region, speed in node.speeds.items()},
        "memory_contention": {str(busy): dict(shares) for busy, shares in node.memory_contention.items()},
        **fields(node, "background_load", "time_slice"),
        "cold_start": cold_start_document(node.cold_start),
        **fields(node, "copy_bandwidth", "initialisation_delay", "spawn_delay", "packing_delay", "reduction_delay"),
        "waiting": node.waiting.value,
        "source": node.source,
        "noise": asdict(node.noise),
    }


def _speed(speed: float | SpeedCurve) -> object:
    """Describe a speed: flop/s, or points [flop of a burst, flop/s]."""
    return list(map(list, speed.points)) if isinstance(speed, SpeedCurve) else speed


def cold_start_document(start: ColdStart) -> Document | None:
    """Describe what waits cost (seconds by seconds of wait, and the largest share of a burst), if that is stated."""
    return {"after": start.points, "at_most": start.at_most} if start.is_stated else None


def _link(link: Link) -> Document:
    return {
        **fields(link, "send_delay", "transmission_delay", "receive_delay", "eager_limit"),
        **fields(link, "send_overhead", "acknowledged_from"),
        "noise": asdict(link.noise),
        "busy": link.busy,
    }


def _curve(curve: Curve) -> list[Document]:
    return [
        {"nbytes": nbytes, "time": time, "per_byte": slope}
        for nbytes, time, slope in zip(curve.sizes, curve.times, curve.slopes, strict=True)
    ]


def _money(money: Money | None) -> Document | None:
    if money is None:
        return None
    amount = float(money.amount)
    is_whole = amount.is_integer() and amount < _WHOLE
    return {"amount": int(amount) if is_whole else amount, "currency": money.currency}


def _plain(document: Mapping[str, object]) -> Document:
    """Replace what JSON cannot hold: curves become their segments, numbers that are not finite ``null``."""
    return {key: _plain_value(value) for key, value in document.items()}


def _plain_value(value: object) -> object:
    if isinstance(value, Mapping):
        return _plain(value)
    if isinstance(value, Curve):
        return [_plain(segment) for segment in _curve(value)]
    if isinstance(value, list | tuple):
        return [_plain_value(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
