"""Skeletons as JSON documents; their first keys are an interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clue.report.shared.document import Document, fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clue.skeleton.construction import Skeleton
    from clue.skeleton.prediction import Measured, SkeletonRun
    from clue.skeleton.work import Character


@dataclass(frozen=True, slots=True)
class Replayed:
    """Makespans of an application and of its skeleton on a machine, seconds.

    Attributes:
        machine: Its name.
        application: Makespan of the application.
        skeleton: Makespan of the skeleton.
        scale: Intended ratio of the two.
    """

    machine: str
    application: float
    skeleton: float
    scale: float

    @property
    def predicted(self) -> float:
        """The application's time as predicted by the skeleton, seconds."""
        return self.skeleton * self.scale

    @property
    def error(self) -> float:
        """Error of this prediction, relative to the application."""
        return self.predicted / self.application - 1 if self.application else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A skeleton that was written as a program.

    Attributes:
        skeleton: The skeleton.
        identity: Identity of the program.
        target: Its file.
        statements: Number of its statements.
        characters: The kind of computation of each region, by name.
        replayed: Makespans of replays on machines.
    """

    skeleton: Skeleton
    identity: str
    target: str
    statements: int
    characters: Mapping[str, Character]
    replayed: Sequence[Replayed] = ()


def skeleton_document(written: Written) -> Document:
    """Describe a skeleton."""
    made = written.skeleton
    return {
        "skeleton": written.identity,
        "program": written.target,
        "ranks": made.trace.ranks,
        "seconds": made.seconds,
        **fields(made, "scale", "application", "threshold", "ratio", "shortest", "good"),
        "dominant": None if made.dominant is None else fields(made.dominant, "name", "iterations", "seconds", "share"),
        "work": {region: dict(each.mix) for region, each in written.characters.items()},
        "warnings": list(made.caveats),
        "replayed": {
            each.machine: {**fields(each, "application", "skeleton"), "predicted": each.predicted, "error": each.error}
            for each in written.replayed
        },
    }


def measured_document(measured: Measured, here: SkeletonRun) -> Document:
    """Describe the prediction of an application's time from a run of its skeleton, with the times it is made from."""
    return {
        **fields(measured, "seconds", "scale", "skeleton", "ranks"),
        **fields(measured.interval, "low", "high"),
        "measured_ratio": measured.is_ratio_measured,
        "skeleton_seconds": here.seconds,
        "application": here.application,
        "warnings": [caveat.said for caveat in measured.caveats("")],
    }
