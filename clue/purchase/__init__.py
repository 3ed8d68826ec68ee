"""Comparing what a budget can buy: workloads on options, best splits, points, an order."""

from clue.purchase.outcome import Entry, KernelOutcome, Ranking, WorkloadOutcome
from clue.purchase.points import award_points
from clue.purchase.ranking import Progress, TraceSource, rank_options
from clue.purchase.scenario import Criterion, Kernel, Option, Program, Scenario, Workload

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
    "TraceSource",
    "Workload",
    "WorkloadOutcome",
    "award_points",
    "rank_options",
]
