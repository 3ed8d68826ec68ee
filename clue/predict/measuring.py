"""Predictions by measured skeletons: what a short run on the very machine tells of the application."""

from __future__ import annotations

from clue.predict.application import Application
from clue.predict.dispatching import Specialist, Told
from clue.predict.prediction import Task


class SkeletonPredictor(Specialist):
    """Tells what applications take whose skeletons were run where they are to run."""

    engine = "skeleton"

    def knows(self, application: Application) -> bool:
        """Tell whether a skeleton of it was run."""
        return application.measured is not None

    def told(self, task: Task) -> Told:
        """Return what was measured; each run of a skeleton has draws of its own."""
        application = task.key[0]
        measured = application.measured
        assert measured is not None
        caveats = tuple(measured.caveats(application.name))
        return Told(measured.seconds, measured.deviation, ("skeleton", measured.place), caveats)
