"""What a comparison yields: how each option did, and their order. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from clue.purchase.scenario import Criterion
from clue.result import Result
from clue.units import Money


@dataclass(frozen=True, slots=True, eq=False)
class KernelOutcome:
    """How one kernel of a workload ran on an option.

    Attributes:
        name: The kernel.
        makespan: Seconds until all instances are done, turn after turn.
        points: Points it earned, if the criterion counts points.
        result: The simulation of one turn.
    """

    name: str
    makespan: float
    points: float | None
    result: Result


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadOutcome:
    """How a workload ran on an option, in the best allowed split.

    Attributes:
        workload: Its name.
        makespan: Seconds until all instances of all kernels are done.
        throughput: Instances finished per second.
        side_by_side: Instances that run at a time (high-level parallelism).
        ranks: Ranks per instance (low-level parallelism).
        turns: How many times in turn instances have to be started.
        idle: Processors left idle.
        points: Points it earned, if the criterion counts points.
        kernels: By kernel.
    """

    workload: str
    makespan: float
    throughput: float
    side_by_side: int
    ranks: int
    turns: int
    idle: int
    points: float | None
    kernels: tuple[KernelOutcome, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One option in a ranking.

    Attributes:
        option: Its name.
        machine: Its machine's name.
        price: Its price, if stated.
        affordable: Whether the budget covers it.
        position: Place in the ranking from 1, or ``None`` for an option that is not affordable or cannot run the
            workloads.
        score: The criterion's figure, or ``None`` without a position.
        reason: Why it has no position; empty otherwise.
        workloads: Outcomes in the scenario's order; empty for what was not simulated.
        tried: Outcomes of all splits that were simulated, by workload and rising ranks per instance.
    """

    option: str
    machine: str
    price: Money | None
    affordable: bool
    position: int | None
    score: float | None
    reason: str
    workloads: tuple[WorkloadOutcome, ...]
    tried: tuple[WorkloadOutcome, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The options in order.

    Attributes:
        scenario: Its name.
        criterion: What counts.
        unit: Unit of the scores in words, e.g. ``"points"`` or ``"s"``.
        higher_is_better: How scores are read.
        budget: What may be spent.
        entries: By position; options without one come last.
        warnings: What a reader must know beside the figures, each once.
    """

    scenario: str
    criterion: Criterion
    unit: str
    higher_is_better: bool
    budget: Money | None
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...]
