"""Who tells what applications take on machines. A comparison knows no more of it than this."""

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
    """Predicts makespans: of applications that it has been prepared for, while it is at work.

    Whoever implements it derives from it, and leaves out what it cannot say: then nothing is known of an application
    before its task is done, and all that is known is its makespan.
    """

    @property
    def why(self) -> str:
        """Why it predicts by what its predictions name as their engine, if there is anything to say."""
        return ""

    def check(self, application: Application, name: str, instances: int | None) -> str:
        """Say why so many instances of an application, called so, cannot be predicted at all; ``""``: they can."""
        return ""

    def prepare(self, wanted: Mapping[Key, str], progress: Progress) -> None:
        """Learn what will be asked for, and what a reader calls it, before anything is."""
        return

    def memory(self, key: Key) -> Sequence[float]:
        """Return the bytes that each rank needs; none if that is not known."""
        return ()

    def regions(self, key: Key) -> Mapping[str, bool]:
        """Return the regions that an application computes in, and whether their operations are declared."""
        return {}

    def outlook(self, tasks: Sequence[Task], samples: int = 0) -> Doubles:
        """Return a rough lower bound of each makespan, seconds, shape (tasks,), at next to no cost.

        These are all tasks that may follow, each in so many samples, too: who has work to plan, plans it now.
        """
        return np.zeros(len(tasks))

    def bounds(self, tasks: Sequence[Task], progress: Progress) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        """Return a better lower bound of each makespan, seconds, and whether it is the makespan; of shape (tasks,)."""
        return np.zeros(len(tasks)), np.zeros(len(tasks), np.bool_)

    def at_work(self) -> AbstractContextManager[object]:
        """Return the block within which it predicts: what that takes is there from its beginning to its end."""
        return nullcontext()

    def predict(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Prediction]]:
        """Yield the place of each task and what is predicted, as it becomes known.

        Raises:
            DeadlockError: If an application deadlocks and must not.
            ClueError: If a prediction cannot be made.
        """
        ...

    def watched(self, task: Task) -> Result | None:
        """Return a task's result with a timeline; ``None``: there is none, or it would take too long."""
        return None

    def character(self, task: Task, makespan: float) -> Character | None:
        """Return what tells the prediction of a task from others, whose errors are known; ``None``: nothing does."""
        return None

    def deviation(self, task: Task) -> float | None:
        """Return the standard deviation that the logarithm of a makespan has at most; ``None``: none is stated."""
        return None

    def samples(self, tasks: Sequence[Task], sampling: Sampling, progress: Progress) -> Doubles:
        """Return the makespan in each sample of tasks that have a deviation, seconds, shape (tasks, samples).

        A sample is the same for all tasks: what they have in common has its draws in common.
        """
        raise AssertionError("who states a deviation draws samples of it")
