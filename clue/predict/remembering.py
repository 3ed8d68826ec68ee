"""Remembered predictions: none is made twice, even if machines were read again.

A comparison can thus be repeated with other prices, budgets and limits, and nothing is simulated twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from clue.machine import Machine, NodeType
from clue.predict.application import Application, Key
from clue.predict.prediction import Prediction, Task, what_decides
from clue.predict.predictor import Doubles, Predictor
from clue.progress import Progress
from clue.uncertainty import Character, Sampling


class RememberingPredictor(Predictor):
    """Asks another predictor only once for each prediction.

    Two tasks are equal if they run the same program on equal parts of machines in the same places, whatever these parts
    cost.

    Attributes:
        asked: Number of predictions, including samples, that the other predictor was asked for.

    Args:
        predictor: The other one.
    """

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self.asked = 0
        self._distinct: list[object] = []
        self._numbers: dict[int, tuple[object, int]] = {}
        self._outlooks: dict[object, float] = {}
        self._bounds: dict[object, tuple[float, bool]] = {}
        self._predictions: dict[object, Prediction] = {}
        self._characters: dict[object, Character | None] = {}
        self._samples: dict[object, Doubles] = {}

    @property
    def why(self) -> str:
        """Ask the other predictor."""
        return self._predictor.why

    def check(self, application: Application, name: str, instances: int | None) -> str:
        """Ask the other predictor."""
        return self._predictor.check(application, name, instances)

    def prepare(self, wanted: Mapping[Key, str], progress: Progress) -> None:
        """Let the other predictor prepare; machines of an earlier comparison may no longer exist."""
        self._numbers.clear()
        self._predictor.prepare(wanted, progress)

    def memory(self, key: Key) -> Sequence[float]:
        """Ask the other predictor."""
        return self._predictor.memory(key)

    def regions(self, key: Key) -> Mapping[str, bool]:
        """Ask the other predictor."""
        return self._predictor.regions(key)

    def outlook(self, tasks: Sequence[Task], samples: int = 0) -> Doubles:
        """Ask the other predictor for new tasks."""
        keys = [self._key(task) for task in tasks]
        new = {key: task for key, task in zip(keys, tasks, strict=True) if key not in self._outlooks}
        if new:
            seconds = self._predictor.outlook(list(new.values()), samples)
            self._outlooks |= dict(zip(new, seconds.tolist(), strict=True))
        return np.array([self._outlooks[key] for key in keys])

    def bounds(self, tasks: Sequence[Task], progress: Progress) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        """Ask the other predictor for new tasks."""
        keys = [self._key(task) for task in tasks]
        new = {key: task for key, task in zip(keys, tasks, strict=True) if key not in self._bounds}
        if new:
            seconds, exact = self._predictor.bounds(list(new.values()), progress)
            self._bounds |= dict(zip(new, zip(seconds.tolist(), exact.tolist(), strict=True), strict=True))
        found = [self._bounds[key] for key in keys]
        return np.array([each[0] for each in found]), np.array([each[1] for each in found], np.bool_)

    def at_work(self) -> AbstractContextManager[object]:
        """Return the block within which the other predictor works."""
        return self._predictor.at_work()

    def predict(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Prediction]]:
        """Yield the remembered predictions, then those of the other predictor."""
        keys = [(self._key(task), task.sample, task.may_deadlock) for task in tasks]
        places: dict[object, list[int]] = {}
        for i, key in enumerate(keys):
            if key in self._predictions:
                yield i, self._predictions[key]
            else:
                places.setdefault(key, []).append(i)
        new = list(places)
        for i, prediction in self._predictor.predict([tasks[places[key][0]] for key in new]):
            self.asked += 1
            self._predictions[new[i]] = prediction
            yield from ((place, prediction) for place in places[new[i]])

    def character(self, task: Task, makespan: float) -> Character | None:
        """Ask the other predictor once."""
        key = (self._key(task), makespan)
        if key not in self._characters:
            self._characters[key] = self._predictor.character(task, makespan)
        return self._characters[key]

    def deviation(self, task: Task) -> float | None:
        """Ask the other predictor."""
        return self._predictor.deviation(task)

    def samples(self, tasks: Sequence[Task], sampling: Sampling, progress: Progress) -> Doubles:
        """Ask the other predictor for new tasks."""
        keys = [(self._key(task), sampling) for task in tasks]
        new = {key: task for key, task in zip(keys, tasks, strict=True) if key not in self._samples}
        if new:
            drawn = self._predictor.samples(list(new.values()), sampling, progress)
            self.asked += drawn.size
            self._samples |= dict(zip(new, drawn, strict=True))
        return np.array([self._samples[key] for key in keys]).reshape(len(tasks), sampling.samples)

    # --- what is the same ---

    def _key(self, task: Task) -> object:
        where, application = task.where, task.key[0]
        beside = tuple(tuple(map(self._key, tasks)) for tasks in task.beside)
        # The model of a program's parts holds for the machine of one name, however alike another one is.
        name = "" if application.modelled is None else where.machine.name
        return (task.key, where.instances, name, what_decides(where.machine, where.placement, self._identity), beside)

    def _identity(self, part: object) -> object:
        """Return the number of a part of a machine; equal parts have the same number."""
        known = self._numbers.get(id(part))
        if known is None:
            number = self._number(_without_money(part))
            self._numbers[id(part)] = known = (part, number)  # the part is kept, so that no other object gets its id()
        return known[1]

    def _number(self, part: object) -> int:
        for number, known in enumerate(self._distinct):
            if known == part:
                return number
        self._distinct.append(part)
        return len(self._distinct) - 1


def _without_money(part: object) -> object:
    if isinstance(part, NodeType):
        return replace(part, price=None)
    if isinstance(part, Machine):
        return replace(part.map(node=lambda node: replace(node, price=None)), price=None)
    return part
