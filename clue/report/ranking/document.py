"""Rankings as JSON documents. Their keys are an interface: keys may be added, none removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.answers.document import answers_document
from clue.report.queue.document import queue_document
from clue.report.result.document import sampling_document
from clue.report.shared.document import Document, fields, interval, money, plain
from clue.units import KWH

if TYPE_CHECKING:
    from clue.purchase import ComponentOutcome, Entry, Ranking, WorkloadOutcome
    from clue.purchase.outcome import OptionCost


def ranking_document(ranking: Ranking) -> Document:
    """Describe a ranking: options by position, then those that have none, with the reason.

    ``affordable`` is ``null`` if it is unknown whether the budget covers an option, because its price is not stated;
    such options come before those over the budget, which come last. ``criteria`` has the units of the figures of the
    Pareto front; ``service_life`` (s) and ``discount_rate`` are those of costs, if any are stated.
    """
    return plain(
        {
            "scenario": ranking.scenario,
            "criterion": ranking.criterion.value,
            **fields(ranking, "unit", "higher_is_better"),
            "budget": money(ranking.budget),
            "ranking": [_entry(each) for each in ranking.in_order],
            # Only a number of positions was requested; other options have none, with the bound of their score.
            **_front(ranking),
            **_period(ranking),
            **answers_document(ranking),
            **({"weighted": _weighted(ranking)} if ranking.weighted else {}),
            **fields(ranking, "first", "left_out", "interrupted", "certain", "engine", "engine_reason"),
            **_uncertainty(ranking),
            "warnings": list(ranking.warnings),
        }
    )


def _front(ranking: Ranking) -> Document:
    if ranking.pareto is None:
        return {}
    units = {criterion.value: {"unit": unit} for criterion, unit in ranking.units.items()}
    return {"pareto": list(ranking.pareto), "criteria": units}


def _period(ranking: Ranking) -> Document:
    if all(each.cost is None for each in ranking.entries):
        return {}
    return {"service_life": ranking.life, "discount_rate": ranking.discount_rate}


def _weighted(ranking: Ranking) -> Document:
    return {criterion.value: {"weight": weight, "unit": unit} for criterion, (weight, unit) in ranking.weighted.items()}


def _entry(entry: Entry) -> Document:
    document: Document = {} if entry.position is None else {"position": entry.position}
    document |= {
        **fields(entry, "option", "machine"),
        "price": money(entry.price),
        **fields(entry, "affordable", "score"),
        "workloads": {each.workload: _workload(each) for each in entry.workloads},
    }
    if entry.cost is not None:
        document["cost"] = _cost(entry.cost)
    if entry.figures:
        document["criteria"] = {criterion.value: figure for criterion, figure in entry.figures.items()}
    if entry.parts:
        document["weighted"] = {criterion.value: figure for criterion, figure in entry.parts.items()}
    if entry.queue is not None:
        document["queue"] = queue_document(entry.queue)
    if entry.reason:
        document["reason"] = entry.reason
    if entry.bound is not None:
        document["bound"] = entry.bound
    if entry.best is not None:  # a score that does not vary has no interval, but may or may not be the best
        score = None if entry.spread is None else interval(entry.spread)
        document["uncertainty"] = {"score": score, "best": entry.best}
    return document


def _cost(cost: OptionCost) -> Document:
    """Describe the costs of an option over the service life: present values, by item."""
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
    return None if joules is None else joules / KWH


def _workload(outcome: WorkloadOutcome) -> Document:
    return {
        "makespan": outcome.makespan,
        # The paper's high-level parallelism: the number of simultaneous instances, not of all instances.
        "instances": outcome.side_by_side,
        **fields(outcome, "ranks", "points", "side_by_side", "turns", "idle", "throughput"),
        **({"placement": outcome.layout} if outcome.layout else {}),
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
        # The source of the figure, if it is not a simulation: a model, or a skeleton that was run.
        **({} if prediction is None or prediction.simulated else {"by": prediction.engine}),
    }


def _uncertainty(ranking: Ranking) -> Document:
    if ranking.sampling is None:
        return {}
    error = ranking.error
    known = {} if error is None else {"model_error": fields(error, "source", "date", "cases", "programs")}
    return {"uncertainty": sampling_document(ranking.sampling) | known}
