"""Validation cases: programs on machines with their measured run times, and the predictions for them.

Values, and the simulations that predict. :mod:`clue.validation.refits` finds the sources of errors.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from clue.kernel import Candidate, Program, makespans, simulate
from clue.machine import Machine
from clue.progress import Progress, silent
from clue.skeleton.prediction import Measured
from clue.uncertainty import BurstNoise, Character, ModelError, Sampling, Spread, sample_errors
from clue.units import count_of


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A program that was really run on a machine with a description.

    Attributes:
        program: Name of the program.
        machine: Name of the machine.
        size: Problem size, in the user's words; ``""`` if there is only one size.
        source: Source of the prediction: the program's trace, ready to replay, or a run of its skeleton.
        where: The machine, with the placement of ranks.
        runs: Measured run times, seconds; at least one.
        stated_spread: Half the range of run times, seconds, where that is stated beside a median.
        noise: Noise of the bursts, from repeated recordings.
    """

    program: str
    machine: str
    size: str
    source: Program | Measured
    where: Candidate
    runs: tuple[float, ...]
    stated_spread: float | None = None
    noise: BurstNoise | None = None

    @property
    def ranks(self) -> int:
        """Number of ranks of an instance."""
        return self.source.ranks

    @property
    def name(self) -> str:
        """Program, size, machine and ranks, in words."""
        what = f"{self.program} {self.size}".strip()
        return f"{what} on {self.machine}, {count_of(self.ranks)}"

    @property
    def measured(self) -> float:
        """The median run, seconds."""
        return statistics.median(self.runs)

    @property
    def spread(self) -> float | None:
        """Half the range of run times, seconds; ``None`` if only one is known."""
        if len(self.runs) > 1:
            return (max(self.runs) - min(self.runs)) / 2
        return self.stated_spread


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A case with its prediction.

    Attributes:
        case: The case.
        predicted: Makespan of the simulation, or prediction by the skeleton, seconds.
        character: Its character, by which errors are learned; ``None``: it was not simulated.
        interval: Interval that should contain four of five runs, if samples are drawn.
        warnings: What the simulation left out.
    """

    case: Case
    predicted: float
    character: Character | None
    interval: Spread | None = None
    warnings: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        """Relative error of the prediction; negative if it is too short."""
        return self.predicted / self.case.measured - 1

    @property
    def covered(self) -> float | None:
        """Share of the runs within the interval."""
        if self.interval is None:
            return None
        return sum(self.interval.low <= run <= self.interval.high for run in self.case.runs) / len(self.case.runs)


def compare(
    case: Case,
    sampling: Sampling | None = None,
    error: ModelError | None = None,
    *,
    engine: str = "auto",
    workers: int = 1,
    progress: Progress = silent,
) -> Compared:
    """Predict a case.

    Args:
        case: What was run, and where.
        sampling: Samples for the interval; ``None``: no interval.
        error: The model's error, which intervals include; without it there are no intervals.
        engine: As for :func:`clue.kernel.simulate`.
        workers: Number of threads.
        progress: Called with the progress.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
    """
    where, source = case.where, case.source
    if isinstance(source, Measured):
        return Compared(case, source.seconds, None, source.interval, tuple(source.caveats(case.program)))
    result = simulate(source, where.machine, where.placement, engine, instances=where.instances)
    interval = None
    if sampling is not None and error is not None:
        interval = sample_errors(
            source,
            where,
            result.makespan,
            sampling,
            error,
            noise=case.noise,
            engine=engine,
            workers=workers,
            tell=lambda done: progress(f"samples of {case.name}", done, sampling.samples),
        ).spread
    character = Character.of(source, where, result.makespan)
    return Compared(case, result.makespan, character, interval, result.warnings)


def changed_makespans(
    cases: Sequence[Case],
    predicted: Sequence[float],
    wanted: Sequence[tuple[int, Machine]],
    *,
    engine: str,
    workers: int,
    progress: Progress,
) -> list[float]:
    """Return the makespans of cases on other machines; those of one program are simulated together.

    Args:
        cases: All cases that are simulated.
        predicted: Their makespans on the unchanged machines, seconds.
        wanted: Cases to simulate, by index, each with its machine.
        engine: As for :func:`clue.kernel.simulate`.
        workers: Number of threads.
        progress: Called with the progress.
    """
    found: dict[int, float] = {}
    by_program: dict[Program, list[int]] = {}
    for i, (case, machine) in enumerate(wanted):
        if machine == cases[case].where.machine:
            found[i] = predicted[case]
        else:
            program = cases[case].source
            assert isinstance(program, Program), "only what was simulated is simulated again"
            by_program.setdefault(program, []).append(i)
    for program, group in by_program.items():
        candidates = [replace(cases[case].where, machine=machine) for case, machine in (wanted[i] for i in group)]
        seconds = makespans(program, candidates, engine=engine, workers=workers)
        found.update(zip(group, seconds.tolist(), strict=True))
        progress("simulating with one parameter changed", len(found), len(wanted))
    return [found[i] for i in range(len(wanted))]
