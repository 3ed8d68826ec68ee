"""Queues of jobs as parts of JSON documents. Their keys are an interface: keys may be added, none removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.shared.document import Document, fields
from clue.units import MONTH

if TYPE_CHECKING:
    from clue.purchase.queue.figures import Figures
    from clue.purchase.queue.mix import Mix
    from clue.purchase.queue.replications import QueueOutcome


def queue_document(queue: QueueOutcome) -> Document:
    """Describe the queue of an option: times in seconds, rates per second."""
    return {
        "policy": queue.policy.value,
        **fields(queue, "nodes", "load", "capacity"),
        "most_throughput": queue.most,
        **({} if queue.figures is None else figures_of_queue(queue.figures)),
        "standard_errors": None if queue.errors is None else figures_of_queue(queue.errors),
        "jobs": queue.counted,
        **fields(queue, "left_out", "replications"),
        "grows_without_end": queue.figures is None,
        "jobs_take": {
            name: {str(ranks or "best"): fields(taken, "nodes", "run") for ranks, taken in by_ranks.items()}
            for name, by_ranks in zip(queue.classes, queue.takes, strict=True)
        },
        **(
            {"by_class": {name: fields(of, "waiting", "slowdown") for name, of in queue.by_class.items()}}
            if queue.by_class
            else {}
        ),
        **({"curve": [{"load": load, "waiting": waiting} for load, waiting in queue.curve]} if queue.curve else {}),
    }


def figures_of_queue(figures: Figures) -> Document:
    """Describe the figures of a queue."""
    return {
        **fields(figures, "waiting"),
        "waiting_median": figures.median,
        "waiting_95": figures.late,
        **fields(figures, "slowdown", "utilisation"),
        "unused_nodes": figures.unused,
        **fields(figures, "throughput"),
    }


def jobs_document(mix: Mix) -> Document:
    """Describe the submitted jobs and the queue's settings."""
    return {
        "classes": {
            each.name: {
                "workload": each.workload,
                "per_month": each.rate * MONTH or None,
                "submitted": len(each.submitted) or None,
                "ranks": {str(ranks): share for ranks, share in each.ranks.items()},
                "time_limit": each.limit,
                **fields(each, "overestimate", "variation", "weight"),
            }
            for each in mix.classes
        },
        "policy": mix.policy.value,
        "office_hours": None if mix.office_hours is None else fields(mix.office_hours, "begin", "end", "share"),
        "accounting": None if mix.recorded is None else {"file": mix.recorded.file, "jobs": len(mix.recorded.submit)},
        **fields(mix, "jobs", "warm_up", "replications", "seed"),
        "sharing": mix.sharing.value,
        "beside_copies": mix.sharing.value == "copies",
    }
