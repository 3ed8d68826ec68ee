"""Comparison of what a budget can buy: workloads on options, best splits, scores, a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.first_use import loaded_on_first_use
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
_HOMES = {
    "outcome": ("ComponentOutcome", "Entry", "Ranking", "WorkloadOutcome"),
    "ranking": ("rank_options",),
    "whatif": ("what_if",),
}
__getattr__ = loaded_on_first_use(__name__, _HOMES)
