"""Comparison of what a budget can buy: workloads on options, best splits, scores, a ranking."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from clue.purchase.scenario import Component, Criterion, Limits, Option, Scenario, Workload

if TYPE_CHECKING:
    from clue.purchase.outcome import ComponentOutcome, Entry, Ranking, WorkloadOutcome
    from clue.purchase.ranking import rank_options
    from clue.purchase.whatif import what_if

__all__ = [
    "Component",
    "ComponentOutcome",
    "Criterion",
    "Entry",
    "Limits",
    "Option",
    "Ranking",
    "Scenario",
    "Workload",
    "WorkloadOutcome",
    "rank_options",
    "what_if",
]

# Reading a scenario needs its values only; the ranking imports the simulator, and with it simpy and numpy.
_HOME = {
    "ComponentOutcome": "outcome",
    "Entry": "outcome",
    "Ranking": "outcome",
    "WorkloadOutcome": "outcome",
    "rank_options": "ranking",
    "what_if": "whatif",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"clue.purchase.{_HOME[name]}"), name)
