"""Several predictors as one: the first one that knows an application predicts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from clue.caveats import Caveat
from clue.predict.application import Application, Key
from clue.predict.prediction import Prediction, Task
from clue.predict.predictor import Doubles, Predictor
from clue.progress import Progress
from clue.result import Result
from clue.uncertainty import Character, Sampling


@dataclass(frozen=True, slots=True)
class Told:
    """A predicted time that does not come from a simulation.

    Attributes:
        seconds: Predicted time of an application.
        deviation: Standard deviation of its logarithm.
        source: Its source; figures of one source share their random draws.
        caveats: Caveats of the figure.
    """

    seconds: float
    deviation: float
    source: tuple[str, ...]
    caveats: tuple[Caveat, ...]

    def draws(self, sampling: Sampling) -> Doubles:
        """Return random samples of the time, seconds, shape (samples,)."""
        draws = [float(each.generator(*self.source).standard_normal()) for each in sampling.each()]
        found: Doubles = self.seconds * np.exp(self.deviation * np.array(draws))
        return found


class Specialist(Predictor, Protocol):
    """Predicts the times of some applications without simulation.

    Attributes:
        engine: Name of the engine in its predictions.
    """

    engine: ClassVar[str]

    def knows(self, application: Application) -> bool:
        """Tell whether it can predict an application."""
        ...

    def told(self, task: Task) -> Told:
        """Return the predicted time of a task."""
        ...

    def outlook(self, tasks: Sequence[Task], samples: int = 0) -> Doubles:
        """Return the predicted times of tasks, seconds."""
        return np.array([self.told(task).seconds for task in tasks])

    def bounds(self, tasks: Sequence[Task], progress: Progress) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        """Return the predicted times, marked as not exact, so that predictions with caveats are requested, too."""
        return np.array([self.told(task).seconds for task in tasks]), np.zeros(len(tasks), np.bool_)

    def predict(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Prediction]]:
        """Yield the predicted times of tasks."""
        for i, task in enumerate(tasks):
            told = self.told(task)
            yield i, Prediction(told.seconds, self.engine, warnings=told.caveats, simulated=False)

    def deviation(self, task: Task) -> float | None:
        """Return the standard deviation of the figure's logarithm."""
        return self.told(task).deviation

    def samples(self, tasks: Sequence[Task], sampling: Sampling, progress: Progress) -> Doubles:
        """Draw samples of each figure."""
        return np.array([self.told(task).draws(sampling) for task in tasks]).reshape(len(tasks), sampling.samples)


class DispatchingPredictor(Predictor):
    """Dispatches applications to the specialists that know them, and all others to a default predictor.

    Args:
        specialists: Specialists in order; the first that knows an application predicts it.
        others: Predictor of all other applications.
    """

    def __init__(self, specialists: Sequence[Specialist], others: Predictor) -> None:
        self._specialists = tuple(specialists)
        self._others = others

    def _of(self, application: Application) -> Predictor:
        return next((each for each in self._specialists if each.knows(application)), self._others)

    def _shares(self, tasks: Sequence[Task]) -> Iterator[tuple[Predictor, list[int], list[Task]]]:
        """Yield each predictor that has tasks, with their indices and the tasks."""
        places: dict[Predictor, list[int]] = {}
        for i, task in enumerate(tasks):
            places.setdefault(self._of(task.key[0]), []).append(i)
        for predictor, own in places.items():
            yield predictor, own, [tasks[i] for i in own]

    @property
    def why(self) -> str:
        """The reason why the default predictor uses its engine."""
        return self._others.why

    def check(self, application: Application, name: str, instances: int | None) -> str:
        """Ask the predictor of the application."""
        return self._of(application).check(application, name, instances)

    def prepare(self, wanted: Mapping[Key, str], progress: Progress) -> None:
        """Let each predictor prepare for its own applications."""
        for predictor in (*self._specialists, self._others):
            predictor.prepare({key: name for key, name in wanted.items() if self._of(key[0]) is predictor}, progress)

    def memory(self, key: Key) -> Sequence[float]:
        """Ask the predictor of the application."""
        return self._of(key[0]).memory(key)

    def regions(self, key: Key) -> Mapping[str, bool]:
        """Ask the predictor of the application."""
        return self._of(key[0]).regions(key)

    def outlook(self, tasks: Sequence[Task], samples: int = 0) -> Doubles:
        """Ask each predictor for its own tasks."""
        seconds = np.zeros(len(tasks))
        for predictor, places, own in self._shares(tasks):
            seconds[places] = predictor.outlook(own, samples)
        return seconds

    def bounds(self, tasks: Sequence[Task], progress: Progress) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        """Ask each predictor for its own tasks."""
        seconds, exact = np.zeros(len(tasks)), np.zeros(len(tasks), np.bool_)
        for predictor, places, own in self._shares(tasks):
            seconds[places], exact[places] = predictor.bounds(own, progress)
        return seconds, exact

    def at_work(self) -> AbstractContextManager[object]:
        """Return the block within which all of them predict."""
        with ExitStack() as blocks:
            for predictor in (*self._specialists, self._others):
                blocks.enter_context(predictor.at_work())
            return blocks.pop_all()

    def predict(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Prediction]]:
        """Ask each predictor for its own tasks."""
        for predictor, places, own in self._shares(tasks):
            yield from ((places[i], prediction) for i, prediction in predictor.predict(own))

    def watched(self, task: Task) -> Result | None:
        """Ask the predictor of the application."""
        return self._of(task.key[0]).watched(task)

    def character(self, task: Task, makespan: float) -> Character | None:
        """Ask the predictor of the application."""
        return self._of(task.key[0]).character(task, makespan)

    def deviation(self, task: Task) -> float | None:
        """Ask the predictor of the application."""
        return self._of(task.key[0]).deviation(task)

    def samples(self, tasks: Sequence[Task], sampling: Sampling, progress: Progress) -> Doubles:
        """Let each predictor draw the samples of its own tasks."""
        found = np.empty((len(tasks), sampling.samples))
        for predictor, places, own in self._shares(tasks):
            found[places] = predictor.samples(own, sampling, progress)
        return found
