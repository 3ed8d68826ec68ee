"""Predictions by skeletons: the application's time from a short run on the machine itself."""

from __future__ import annotations

from collections.abc import Iterator

from clue.caveats import About, Caveat, Count
from clue.predict.application import Application
from clue.predict.dispatching import Specialist, Told
from clue.predict.prediction import Task

_SIDE_BY_SIDE = (
    "{count:instance runs|instances run} side by side, each for as long as the skeleton says: run as many copies of "
    "the skeleton at once, so that it says how they slow each other down"
)


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
        caveats = (*measured.caveats(application.name), *_about_instances(application.name, task.where.instances))
        return Told(measured.seconds, measured.deviation, ("skeleton", measured.place), caveats)


def _about_instances(name: str, instances: int) -> Iterator[Caveat]:
    if instances > 1:
        figures = {"count": Count(instances)}
        yield Caveat(About.PROGRAM, name, _SIDE_BY_SIDE, figures=figures, size=instances)
