"""What is validated: programs on machines with the run times that were measured there, and what is predicted for them.

Values, and the simulations that predict. What the errors come from is found out in :mod:`clue.validation.refits`.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from clue.kernel import Candidate, Program, contention_free, simulate
from clue.machine import Machine
from clue.progress import Progress, silent
from clue.uncertainty import BurstNoise, Sampling, Spread, is_uncertain, sample_makespans
from clue.units import count_of


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A program that was run for real on a machine that is described.

    Attributes:
        program: Name of the program.
        machine: Name of the machine.
        size: What was solved, in the user's words; ``""`` if there is only one size.
        compiled: The program's trace, ready to replay.
        where: The machine, with the ranks on it.
        runs: What the runs took, seconds; at least one.
        stated_spread: Half of what lies between fastest and slowest run, where that is stated beside a median.
        noise: What repeated recordings say of the bursts.
    """

    program: str
    machine: str
    size: str
    compiled: Program
    where: Candidate
    runs: tuple[float, ...]
    stated_spread: float | None = None
    noise: BurstNoise | None = None

    @property
    def ranks(self) -> int:
        """Number of ranks of an instance."""
        return self.compiled.ranks

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
        """Half of what lies between the fastest and the slowest run, seconds; ``None`` if only one is known."""
        if len(self.runs) > 1:
            return (max(self.runs) - min(self.runs)) / 2
        return self.stated_spread


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A case with what was predicted for it.

    Attributes:
        case: The case.
        predicted: The makespan of the simulation, seconds.
        interval: Where four of five runs are expected, if the machine or repeated recordings state noise.
        warnings: What the simulation left out.
    """

    case: Case
    predicted: float
    interval: Spread | None = None
    warnings: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        """How far the prediction is off, relative to what was measured; negative if it is too short."""
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
    *,
    engine: str = "auto",
    workers: int = 1,
    progress: Progress = silent,
) -> Compared:
    """Predict a case.

    Args:
        case: What was run, and where.
        sampling: Which samples give the interval; ``None``: none.
        engine: As for :func:`clue.kernel.simulate`.
        workers: Number of threads.
        progress: Told about what is done.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
    """
    where = case.where
    result = simulate(case.compiled, where.machine, where.placement, engine, instances=where.instances)
    interval = None
    if sampling is not None and is_uncertain(where.machine, case.noise):
        makespans = sample_makespans(
            case.compiled,
            where.machine,
            where.placement,
            sampling,
            noise=case.noise,
            instances=where.instances,
            engine=engine,
            workers=workers,
            tell=lambda done: progress(f"samples of {case.name}", done, sampling.samples),
        )
        interval = Spread.of(makespans)
    return Compared(case, result.makespan, interval, result.warnings)


@dataclass(frozen=True, slots=True)
class Predictor:
    """Simulates cases on machines other than their own.

    Attributes:
        cases: All cases.
        predicted: Their makespans as things are, seconds.
        engine: As for :func:`clue.kernel.simulate`.
        workers: Number of threads.
        progress: Told about what is done.
    """

    cases: Sequence[Case]
    predicted: Sequence[float]
    engine: str
    workers: int
    progress: Progress

    def makespans(self, wanted: Sequence[tuple[int, Machine]]) -> list[float]:
        """Return the makespan of each case, named by its index, on a machine.

        Machines of one program where nothing but messages couples the ranks are simulated at once.
        """
        found: dict[int, float] = {}
        by_program: dict[int, list[int]] = {}
        for i, (case, machine) in enumerate(wanted):
            if machine == self.cases[case].where.machine:
                found[i] = self.predicted[case]
                continue
            by_program.setdefault(id(self.cases[case].compiled), []).append(i)
        for group in by_program.values():
            candidates = [self._candidate(*wanted[i]) for i in group]
            program = self.cases[wanted[group[0]][0]].compiled
            found.update(zip(group, self._of_program(program, candidates), strict=True))
            self.progress("simulating with one parameter changed", len(found), len(wanted))
        return [found[i] for i in range(len(wanted))]

    def _candidate(self, case: int, machine: Machine) -> Candidate:
        where = self.cases[case].where
        return Candidate(machine, where.placement, where.instances)

    def _of_program(self, program: Program, candidates: Sequence[Candidate]) -> list[float]:
        alone = [i for i, each in enumerate(candidates) if each.coupled_by_messages_alone]
        found: dict[int, float] = {}
        if alone:
            seconds, exact = contention_free(
                program, [candidates[i] for i in alone], engine=self.engine, workers=self.workers
            )
            found = {i: float(seconds[k]) for k, i in enumerate(alone) if exact[k]}
        left = [i for i in range(len(candidates)) if i not in found]

        def one(i: int) -> float:
            each = candidates[i]
            return simulate(program, each.machine, each.placement, self.engine, instances=each.instances).makespan

        with ThreadPoolExecutor(self.workers) as pool:
            found.update(zip(left, pool.map(one, left), strict=True))
        return [found[i] for i in range(len(candidates))]
