"""Comparing what a budget can buy: workloads on options, best splits, points, an order."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from clue.purchase.scenario import Criterion, Kernel, Option, Program, Scenario, Workload

if TYPE_CHECKING:
    from clue.progress import Progress
    from clue.purchase.library import TraceSource
    from clue.purchase.outcome import Entry, KernelOutcome, Ranking, Summary, WorkloadOutcome
    from clue.purchase.points import award_points
    from clue.purchase.ranking import rank_options

__all__ = [
    "Criterion",
    "Entry",
    "Kernel",
    "KernelOutcome",
    "Option",
    "Program",
    "Progress",
    "Ranking",
    "Scenario",
    "Summary",
    "TraceSource",
    "Workload",
    "WorkloadOutcome",
    "award_points",
    "rank_options",
]

# Reading a scenario needs its values only; the ranking brings the kernel along, and with it simpy and numpy.
_HOME = {
    "Entry": "outcome",
    "KernelOutcome": "outcome",
    "Ranking": "outcome",
    "WorkloadOutcome": "outcome",
    "Summary": "outcome",
    "award_points": "points",
    "Progress": "library",
    "TraceSource": "library",
    "rank_options": "ranking",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"clue.purchase.{_HOME[name]}"), name)
