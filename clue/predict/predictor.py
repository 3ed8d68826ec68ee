"""Interface of predictors of application times; comparisons use predictors only through it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import numpy as np
import numpy.typing as npt

from clue.predict.application import Application, Key
from clue.predict.prediction import Prediction, Task
from clue.progress import Progress
from clue.result import Result
from clue.uncertainty import Character, Sampling

Doubles = npt.NDArray[np.float64]


class Predictor(Protocol):
    """Predicts makespans of applications after :meth:`prepare`, within the block of :meth:`at_work`.

    Implementations derive from it, and omit the methods that they cannot answer: by default nothing is known of an
    application before its task is done, and then only its makespan.
    """

    @property
    def why(self) -> str:
        """Why it uses the engine that its predictions name, if there is a reason to state."""
        return ""

    def check(self, application: Application, name: str, instances: int | None) -> str:
        """Return why this number of instances of an application cannot be predicted; ``""``: it can."""
        return ""

    def prepare(self, wanted: Mapping[Key, str], progress: Progress) -> None:
        """Prepare for the applications to be predicted, given with the reader's names of them."""
        return

    def memory(self, key: Key) -> Sequence[float]:
        """Return the bytes that each rank needs; empty if unknown."""
        return ()

    def regions(self, key: Key) -> Mapping[str, bool]:
        """Return the regions in which an application computes, and whether their operations are declared."""
        return {}

    def outlook(self, tasks: Sequence[Task], samples: int = 0) -> Doubles:
        """Return a rough lower bound of each makespan, seconds, shape (tasks,), at next to no cost.

        The tasks are all that may follow, including their samples, so that the predictor can plan its work.
        """
        return np.zeros(len(tasks))

    def bounds(self, tasks: Sequence[Task], progress: Progress) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        """Return a better lower bound of each makespan, seconds, and whether it is the makespan; of shape (tasks,)."""
        return np.zeros(len(tasks)), np.zeros(len(tasks), np.bool_)

    def at_work(self) -> AbstractContextManager[object]:
        """Return the block within which it predicts and holds its resources."""
        return nullcontext()

    def predict(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Prediction]]:
        """Yield the index and prediction of each task as it is completed.

        Raises:
            DeadlockError: If an application deadlocks and must not.
            ClueError: If a prediction cannot be made.
        """
        ...

    def watched(self, task: Task) -> Result | None:
        """Return a task's result with a timeline; ``None``: there is none, or it would take too long."""
        return None

    def character(self, task: Task, makespan: float) -> Character | None:
        """Return the properties that relate a prediction to others of known error; ``None``: there are none."""
        return None

    def deviation(self, task: Task) -> float | None:
        """Return the maximum standard deviation of the makespan's logarithm; ``None``: none is stated."""
        return None

    def samples(self, tasks: Sequence[Task], sampling: Sampling, progress: Progress) -> Doubles:
        """Return the makespan in each sample of tasks that have a deviation, seconds, shape (tasks, samples).

        A sample is the same for all tasks: tasks share the draws of whatever they have in common.
        """
        raise AssertionError("who states a deviation draws samples of it")
