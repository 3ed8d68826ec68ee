"""Predictions by skeletons: the application's time from a short run on the machine itself."""

from __future__ import annotations

from clue.predict.application import Application
from clue.predict.dispatching import Specialist, Told
from clue.predict.prediction import Task


class SkeletonPredictor(Specialist):
    """Predicts the times of applications whose skeletons were run on the target machine."""

    engine = "skeleton"

    def knows(self, application: Application) -> bool:
        """Tell whether a skeleton of it was run."""
        return application.measured is not None

    def told(self, task: Task) -> Told:
        """Return the measured time; each run of a skeleton has random draws of its own."""
        application = task.key[0]
        measured = application.measured
        assert measured is not None
        caveats = tuple(measured.caveats(application.name))
        return Told(measured.seconds, measured.deviation, ("skeleton", measured.place), caveats)
