"""What predictors are asked, and what they answer. Values only: thousands of them travel between processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from clue.errors import DeadlockError
from clue.kernel import Candidate
from clue.machine import Machine, Placement
from clue.predict.application import Key
from clue.result import Result
from clue.uncertainty import Sample


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A prediction to be made, by whichever process.

    Attributes:
        key: What runs, on how many ranks.
        where: The machine, and where the ranks of all instances are.
        sample: Which sample of what is uncertain; ``None``: the typical run.
        may_deadlock: Whether a deadlock is an answer, a makespan without end; else it is an error.
    """

    key: Key
    where: Candidate
    sample: Sample | None = None
    may_deadlock: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What an application takes on a machine.

    Attributes:
        makespan: Virtual time from 0 to the last finish, seconds.
        engine: Who computed it.
        ops: How many ops were replayed.
        compute: Mean over ranks of the time spent computing, seconds.
        communicate: Mean over ranks of the time spent on messages, seconds.
        compute_by_region: Seconds of computation, summed over ranks, by region name.
        warnings: What a reader must know beside the figures.
        reach: How far the logarithm of the makespan is off in four of five cases, because a part of the ops stands for
            all; 0 where all were replayed.
        simulated: Whether it comes from a simulation: of a replay or a live run; not of a model, nor of a measurement.
    """

    makespan: float
    engine: str
    ops: int = 0
    compute: float = 0.0
    communicate: float = 0.0
    compute_by_region: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    reach: float = 0.0
    simulated: bool = True

    @classmethod
    def of(cls, result: Result) -> Prediction:
        """Return what is kept of a simulation."""
        ranks = max(len(result.ranks), 1)
        return cls(
            makespan=result.makespan,
            engine=result.engine,
            ops=result.ops,
            compute=sum(rank.compute for rank in result.ranks) / ranks,
            communicate=sum(rank.communicate for rank in result.ranks) / ranks,
            compute_by_region=dict(result.compute_by_region),
            warnings=result.warnings,
        )


def what_decides(
    machine: Machine, placement: Placement, identity: Callable[[object], object] = id
) -> tuple[object, ...]:
    """Return what a prediction depends on beside what runs: network, used nodes and who runs where.

    Args:
        machine: The machine.
        placement: Where the ranks of all instances are.
        identity: What tells a part of a machine from others.
    """
    if machine.changes:
        return (identity(machine), placement.nodes)
    used = tuple((node, identity(machine.nodes[node])) for node in dict.fromkeys(placement.nodes))
    # A topology's links depend on the number of nodes.
    size = 0 if machine.network.contention.topology is None else len(machine.nodes)
    return (identity(machine.network), size, placement.nodes, used)


def prediction_of(task: Task, simulate: Callable[[], Result]) -> Prediction:
    """Return what is kept of the simulation of a task.

    Raises:
        DeadlockError: If it deadlocks and must not.
    """
    try:
        return Prediction.of(simulate())
    except DeadlockError:
        if task.may_deadlock:
            return Prediction(math.inf, "")
        raise
