"""Tasks of predictors and their predictions. Values only: thousands of them are sent between processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from clue.errors import DeadlockError
from clue.kernel import Candidate
from clue.kernel.model.costs import poll_delay
from clue.machine import Machine, Placement
from clue.predict.application import Key
from clue.result import Result
from clue.uncertainty import Sample


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A prediction to be made, by any process.

    Attributes:
        key: Application and number of ranks.
        where: Machine, and placement of the ranks of all instances.
        sample: Sample of the noise; ``None``: the typical run.
        may_deadlock: Whether a deadlock is a valid answer, an infinite makespan; otherwise it is an error.
        beside: What runs meanwhile on other nodes of the machine: neighbour by neighbour the tasks that it does in
            turn, again and again until this task is done.
    """

    key: Key
    where: Candidate
    sample: Sample | None = None
    may_deadlock: bool = False
    beside: tuple[tuple[Task, ...], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Predicted time of an application on a machine.

    Attributes:
        makespan: Virtual time from 0 to the last finish, seconds.
        engine: Engine that computed it.
        ops: Number of replayed ops.
        compute: Mean over ranks of the time spent computing, seconds.
        communicate: Mean over ranks of the time spent on messages, seconds.
        compute_by_region: Seconds of computation, summed over ranks, by region name.
        warnings: Caveats of the figures.
        reach: Error of the makespan's logarithm that is not exceeded in four of five cases, because only a sample of
            the ops was replayed; 0 if all were.
        simulated: Whether it comes from a simulation (replay or live run) rather than from a model or a measurement.
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
        """Return the prediction from the result of a simulation."""
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
    """Return what a prediction depends on beside the program: network, used nodes, cost of polls, and placement.

    Args:
        machine: The machine.
        placement: Where the ranks of all instances are.
        identity: Returns a value that identifies a part of a machine.
    """
    if machine.changes:
        return (identity(machine), placement.nodes)
    nodes = dict.fromkeys(placement.nodes)
    used = tuple((node, identity(machine.nodes[node])) for node in nodes)
    # The cost of calls that find no message depends on whether the machine has more than one node.
    polls = tuple(poll_delay(machine, name) for name in dict.fromkeys(machine.nodes[node].name for node in nodes))
    # A topology's links depend on the number of nodes.
    size = 0 if machine.network.contention.topology is None else len(machine.nodes)
    return (identity(machine.network), size, placement.nodes, used, polls)


def prediction_of(task: Task, simulate: Callable[[], Result]) -> Prediction:
    """Return the prediction from the simulation of a task.

    Raises:
        DeadlockError: If it deadlocks and must not.
    """
    try:
        return Prediction.of(simulate())
    except DeadlockError:
        if task.may_deadlock:
            return Prediction(math.inf, "")
        raise
