"""Record at small and large sizes, and predict the large ones from the small ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.accuracy.extrapolate import pmnf
from benchmarks.accuracy.extrapolate.cases import MACHINES, Target, machine
from benchmarks.accuracy.extrapolate.structure import difference
from clue.errors import ClueError
from clue.extrapolation import Extrapolation, Family, Pattern, RefusedError, extrapolate
from clue.extrapolation.arguments import filled
from clue.extrapolation.plan import Wanted
from clue.extrapolation.recordings import REPEATS, Planner, save_recordings
from clue.kernel import compile_program, simulate
from clue.machine import Machine, Placement
from clue.recording import Launch, Request, recordings_of
from clue.trace import Trace
from clue.uncertainty import typical_recording

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A program at its target on a machine.

    Attributes:
        program: Name of the program.
        size: Problem size of the target.
        ranks: Number of ranks of the target.
        recordings: Number of small recordings from which the trace is extrapolated.
        structure: ``"exact"``, or where the ops first differ, or why the program is refused.
        machine: Name of the machine; ``""`` if no trace was extrapolated.
        truth: Makespan of the recording at the target with the median of its bursts, seconds.
        runs: Makespans of the repeats of that recording, seconds.
        predicted: Makespan of the extrapolated trace, seconds; 0 if there is no such trace.
        low: Smallest makespan predicted from the repeats of the small recordings, seconds.
        high: Largest makespan predicted from them, seconds.
        fitted: Makespan by a fit of the small recordings' makespans on this machine, seconds.
    """

    program: str
    size: int
    ranks: int
    recordings: int
    structure: str
    machine: str
    truth: float
    runs: tuple[float, ...]
    predicted: float
    low: float
    high: float
    fitted: float

    @property
    def error(self) -> float:
        """Error of the prediction, relative to the truth."""
        return self.predicted / self.truth - 1

    @property
    def rival(self) -> float:
        """Error of the fit, relative to the truth."""
        return self.fitted / self.truth - 1

    @property
    def spread(self) -> float:
        """Half the range of the true makespans, relative to the truth."""
        return (max(self.runs) - min(self.runs)) / 2 / self.truth

    @property
    def covered(self) -> float:
        """Share of the true makespans within the interval."""
        return sum(self.low <= run <= self.high for run in self.runs) / len(self.runs)


@dataclass(frozen=True, slots=True)
class Recorder:
    """Makes recordings and keeps them in a folder; existing ones are not made again."""

    folder: Path
    tell: Tell

    def family(self, target: Target) -> Family:
        """Return the recordings planned for a target."""
        pattern = Pattern(str(self.folder / f"{target.name}-{{size}}-{{ranks}}.clue"))
        if not pattern.found():
            planner = Planner.here(target.script, target.arguments, lambda what, *_: self.tell(what))
            plan = planner.plan(Wanted(target.size, target.ranks), try_all=True)
            planner.make(plan, pattern)
            for refused in plan.refused:
                self.tell(f"{target.name}: {refused}")
        return Family.open(pattern.text)

    def truths(self, targets: Sequence[Target]) -> None:
        """Record all targets three times, in turn."""
        missing = [each for each in targets if not self._truth(each, 1).exists()]
        requests = [
            Request(Launch(each.script, filled(each.arguments, each.size, each.ranks), each.ranks)) for each in missing
        ]
        found = recordings_of(requests, REPEATS, lambda what, *_: self.tell(what)) if requests else []
        for target, traces in zip(missing, found, strict=True):
            save_recordings(traces[:REPEATS], partial(self._truth, target))

    def truth(self, target: Target) -> list[Trace]:
        """Return the recordings of a target, the typical one first."""
        return [Trace.open(self._truth(target, repeat)) for repeat in range(1, REPEATS + 1)]

    def _truth(self, target: Target, repeat: int) -> Path:
        return Pattern(str(self.folder / "truth" / f"{target.name}-{{size}}-{{ranks}}.clue")).path(
            target.size, target.ranks, repeat
        )


def predicted(target: Target, recorder: Recorder) -> Iterator[Case]:
    """Predict a target on all machines, and yield the cases with the truth."""
    try:
        family = recorder.family(target)
        made = extrapolate(family, size=target.size, ranks=target.ranks)
    except RefusedError as error:
        yield _refused(target, "refused: " + "; ".join(dict.fromkeys(map(str, error.refusals))))
        return
    except ClueError as error:
        yield _refused(target, f"not recorded: {error}")
        return
    truths = recorder.truth(target)
    structure = difference(made.trace, truths[0]) or "exact"
    for name in MACHINES:
        recorder.tell(f"{target.name} on {name}")
        case = _refused(target, structure)
        yield replace(case, machine=name, recordings=len(family.recordings), **_makespans(family, made, truths, name))


def _refused(target: Target, why: str) -> Case:
    return Case(target.name, target.size, target.ranks, 0, why, "", 0.0, (), 0.0, 0.0, 0.0, 0.0)


def _makespans(family: Family, made: Extrapolation, truths: Sequence[Trace], name: str) -> dict[str, Any]:
    """Return makespans on a machine, by fields of cases."""
    where, target = machine(name), (made.size, made.trace.ranks)
    points = [(each.size, each.ranks, makespan(each.typical, where)) for each in family.recordings]
    own = makespan(made.trace, where)
    interval = [own, *(makespan(each, where) for each in made.repeats)]
    return {
        "truth": makespan(typical_recording(truths), where),
        "runs": tuple(makespan(raw(each), where) for each in truths),
        "predicted": own,
        "low": min(interval),
        "high": max(interval),
        "fitted": pmnf.fit(points)(*target),
    }


def raw(trace: Trace) -> Trace:
    """Return a recording with its own bursts instead of the typical ones."""
    return replace(trace, typical=None, head=replace(trace.head, typical=None))


def makespan(trace: Trace, where: Machine) -> float:
    """Return the makespan of a trace on a machine, seconds."""
    return simulate(compile_program(trace), where, Placement.block(where, trace.ranks), "auto").makespan
