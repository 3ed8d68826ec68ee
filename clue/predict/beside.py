"""The run time of a task beside others, which run on other nodes of the machine and share its network.

All begin at once. The others run again and again until the task is done. The number of their runs is first estimated
from their times when each runs alone, and increased until all neighbours end after the task. If they share no network,
the task takes as long as alone, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clue.caveats import About, Caveat
from clue.errors import UsageError
from clue.kernel import Job, Program, simulate, together
from clue.machine import Placement
from clue.predict.application import Key
from clue.predict.prediction import Prediction, Task, prediction_of
from clue.result import Result

#: Largest number of ops replayed at once; if neighbours need more, they end before the task.
MOST_OPS = 5_000_000
#: Factor on the number of runs of a neighbour that has ended too early.
_MORE = 1.1


def predict_beside(programs: Mapping[Key, Program], task: Task, engine: str) -> Prediction:
    """Replay a task beside others.

    Args:
        programs: The program of each application.
        task: The task; it must not be a sample.
        engine: As for :func:`clue.kernel.simulate`.

    Returns:
        The prediction for the task, without computation by region, and without warnings about its program alone.

    Raises:
        DeadlockError: If it deadlocks although that is not allowed.
        UsageError: If a program spawns ranks, or the task is a sample.
    """
    if task.sample is not None:
        raise UsageError(f"{task.key[0].name}: a program that runs beside others must not be a sample, got one")
    return _Neighbourhood(programs, task, engine).prediction()


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbour:
    """One instance of a neighbour.

    Attributes:
        programs: Its programs, which run in turn.
        nodes: Node of each rank.
        seconds: Time of all its programs alone.
    """

    programs: tuple[Program, ...]
    nodes: tuple[int, ...]
    seconds: float

    @property
    def ops(self) -> int:
        return sum(program.ops for program in self.programs)


class _Neighbourhood:
    def __init__(self, programs: Mapping[Key, Program], task: Task, engine: str) -> None:
        self._programs = programs
        self._task = task
        self._engine = engine
        self._alone: dict[tuple[Key, int], float] = {}

    def prediction(self) -> Prediction:
        early: list[float] = []

        def replayed() -> Result:
            result, covered = self._replayed()
            early.append(covered)
            return result

        prediction = prediction_of(self._task, replayed)
        if not early or early[0] >= 1:
            return prediction
        text = "neighbours run for {share} of its time only, as {most} ops are replayed at once at most"
        figures = {"share": f"{early[0]:.0%}", "most": f"{MOST_OPS:,}"}
        said = Caveat(About.PROGRAM, self._task.key[0].name, text, figures=figures, size=early[0], least=True)
        return replace(prediction, warnings=(*prediction.warnings, said))

    def _replayed(self) -> tuple[Result, float]:
        """Return the result of the task's ranks, and the share of its time during which all neighbours ran."""
        where = self._task.where
        own, instances = self._programs[self._task.key], where.instances
        alone = simulate(own, where.machine, where.placement, self._engine, instances=instances)
        neighbours = [each for tasks in self._task.beside for each in self._instances(tasks)]
        wanted = [_runs(alone.makespan, each.seconds) for each in neighbours]
        while True:
            times = _affordable(wanted, neighbours, own.ops * instances)
            jobs = [*[Job((own,))] * instances]
            jobs += [Job(each.programs, number) for each, number in zip(neighbours, times, strict=True)]
            joined, machine = together(jobs, where.machine)
            nodes = [*where.placement.nodes, *(node for each in neighbours for node in each.nodes)]
            result = simulate(joined, machine, Placement(tuple(nodes)), self._engine)
            ranks = own.ranks * instances
            makespan = max(rank.finish for rank in result.ranks[:ranks])
            ends = _ends(result, ranks, neighbours)
            short = [end < makespan for end in ends]
            if not any(short) or times != wanted:
                break
            wanted = [
                max(number + 1, math.ceil(number * makespan / end * _MORE)) if too_early and end > 0 else number
                for number, end, too_early in zip(wanted, ends, short, strict=True)
            ]
            if wanted == times:  # neighbours that take no time slow nothing
                break
        covered = min((end / makespan for end in ends if end > 0), default=1.0) if makespan else 1.0
        found = replace(
            result,
            makespan=makespan,
            ranks=result.ranks[:ranks],
            compute_by_region={},
            ops=own.ops * instances,
            warnings=tuple(each for each in result.warnings if _of_machine(each)),
        )
        return found, covered

    def _instances(self, tasks: Sequence[Task]) -> list[_Neighbour]:
        """Return the instances of a neighbour, which run side by side."""
        where = tasks[0].where
        programs = tuple(self._programs[task.key] for task in tasks)
        size, seconds = programs[0].ranks, sum(map(self._seconds, tasks))
        places = [where.placement.nodes[i * size : (i + 1) * size] for i in range(where.instances)]
        return [_Neighbour(programs, nodes, seconds) for nodes in places]

    def _seconds(self, task: Task) -> float:
        """Return the time of a neighbour's task alone; it is simulated once for equal neighbours."""
        key = (task.key, task.where.instances)
        if key not in self._alone:
            where, program = task.where, self._programs[task.key]
            result = simulate(program, where.machine, where.placement, self._engine, instances=where.instances)
            self._alone[key] = result.makespan
        return self._alone[key]


def _runs(wanted: float, seconds: float) -> int:
    """Return the number of runs that take at least the wanted time."""
    return max(1, math.ceil(wanted / seconds)) if seconds > 0 else 1


def _affordable(wanted: Sequence[int], neighbours: Sequence[_Neighbour], own: int) -> list[int]:
    """Return the numbers of runs, reduced in proportion if too many ops would be replayed."""
    ops = sum(number * each.ops for number, each in zip(wanted, neighbours, strict=True))
    if own + ops <= MOST_OPS:
        return [*wanted]
    share = max(0, MOST_OPS - own) / ops
    return [max(1, int(number * share)) for number in wanted]


def _ends(result: Result, first: int, neighbours: Sequence[_Neighbour]) -> list[float]:
    """Return the time at which the last rank of each neighbour ends."""
    ends = []
    for each in neighbours:
        ends.append(max(rank.finish for rank in result.ranks[first : first + len(each.nodes)]))
        first += len(each.nodes)
    return ends


def _of_machine(warning: str) -> bool:
    """Tell whether a warning is about the machine or the engine."""
    return isinstance(warning, Caveat) and warning.about is not About.PROGRAM
