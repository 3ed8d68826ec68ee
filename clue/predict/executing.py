"""Predictions by live runs: each task runs its program in processes of its own, one task after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from clue.errors import UsageError
from clue.predict.application import Application
from clue.predict.prediction import Prediction, Task, prediction_of
from clue.predict.predictor import Predictor
from clue.result import Result


class LivePredictor(Predictor):
    """Predicts the times of programs by running them in virtual time; nothing is known of a program before its run.

    Args:
        run: Function that runs the program of a task.
    """

    def __init__(self, run: Callable[[Task], Result]) -> None:
        self._run = run

    @property
    def why(self) -> str:
        """The reason for the engine: the programs ran live."""
        return "the programs ran live"

    def check(self, application: Application, name: str, instances: int | None) -> str:
        """Refuse several instances, and applications that are only traces."""
        if instances != 1:
            return f"instances must be 1 in a live run, got {'fill' if instances is None else instances}"
        return "" if application.script else f"{name} must have a script to run live, got a trace only"

    def predict(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Prediction]]:
        """Run each task's program.

        Raises:
            UsageError: If others are to run beside it.
        """
        for i, task in enumerate(tasks):
            if task.beside:
                name = task.key[0].name
                raise UsageError(f"{name}: programs that run beside others must be replayed, got a live run")
            yield i, prediction_of(task, partial(self._run, task))
