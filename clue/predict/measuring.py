"""Predictions by measured skeletons: what a short run on the very machine tells of the application."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from clue.predict.application import Application
from clue.predict.dispatching import Specialist, drawn
from clue.predict.prediction import Prediction, Task
from clue.predict.predictor import Doubles
from clue.progress import Progress
from clue.skeleton.prediction import Measured
from clue.uncertainty import Sampling

#: What such predictions name as their engine.
ENGINE = "skeleton"


class SkeletonPredictor(Specialist):
    """Tells what applications take whose skeletons were run where they are to run."""

    def knows(self, application: Application) -> bool:
        """Tell whether a skeleton of it was run."""
        return application.measured is not None

    def bounds(
        self, tasks: Sequence[Task], progress: Progress, samples: int = 0
    ) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        """Return what was measured; that it is not known lets it be asked for, with what must be said beside it."""
        return np.array([_measured(task).seconds for task in tasks]), np.zeros(len(tasks), np.bool_)

    def predict(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Prediction]]:
        """Say what was measured."""
        for i, task in enumerate(tasks):
            measured = _measured(task)
            caveats = tuple(measured.caveats(task.key[0].name))
            yield i, Prediction(measured.seconds, ENGINE, warnings=caveats, simulated=False)

    def deviation(self, task: Task) -> float | None:
        """Return how far such measurements are off."""
        return _measured(task).deviation

    def samples(self, tasks: Sequence[Task], sampling: Sampling, progress: Progress) -> Doubles:
        """Draw what measurements may be off by, for each run of a skeleton by itself."""
        found = np.empty((len(tasks), sampling.samples))
        for i, measured in enumerate(map(_measured, tasks)):
            found[i] = drawn(sampling, measured.seconds, measured.deviation, "skeleton", measured.place)
        return found


def _measured(task: Task) -> Measured:
    measured = task.key[0].measured
    assert measured is not None
    return measured
