"""What there is to simulate: every allowed split of every workload on every option, each different one once.

Options that differ only in what a split does not use (further nodes) give the same simulation, so thousands of options
share far fewer runs. Which of them have to be simulated, :mod:`clue.purchase.search` decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clue.errors import UsageError
from clue.kernel import Candidate, Program, simulate
from clue.machine import Machine, Placement
from clue.progress import Progress
from clue.purchase.library import Key, Library, Recorded, memory_needed
from clue.purchase.outcome import Summary
from clue.purchase.scenario import Option, Scenario, Workload
from clue.purchase.splits import Misfit, Split, allowed_splits
from clue.uncertainty import Sample, draw

#: To describe a machine to the engine takes as long as it takes to replay so many ops there among others.
_OPS_FOR_A_MACHINE = 200_000
#: Bounds the makespans of a program on many machines (:func:`clue.kernel.contention_free`).
Sweep = Callable[
    [Program, Sequence[Candidate], Callable[[int], None]], tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]
]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A simulation to be made, by whichever process.

    Attributes:
        machine: Where.
        placement: Node of each rank of all instances, instance by instance.
        instances: How many run side by side.
        kernels: What runs, one after the other.
        sample: Which sample of the stated noise; ``None``: none of it.
    """

    machine: Machine
    placement: Placement
    instances: int
    kernels: tuple[Key, ...]
    sample: Sample | None = None


def perform(job: Job, library: Library, engine: str) -> tuple[Summary, ...]:
    """Simulate the kernels of a job."""
    return tuple(_performed(job, library[key], engine) for key in job.kernels)


def _performed(job: Job, what: Recorded, engine: str) -> Summary:
    program, machine = what.program, job.machine
    if job.sample is not None:
        # Drawn here rather than sent here: a sample is the same whoever draws it.
        program, machine = draw(program, machine, job.placement, job.sample, what.noise)
    return Summary.of(simulate(program, machine, job.placement, engine, instances=job.instances))


@dataclass(slots=True, eq=False)
class Run:
    """One turn of a split: what is known of its time, first from below, then exactly.

    Attributes:
        job: What it takes to know it exactly.
        workload: For messages.
        seconds: Of each kernel: a lower bound of the makespan, or the makespan.
        known: Whether these are the makespans.
        summaries: The simulations, once made.
        cells: Where it may be chosen.
    """

    job: Job
    workload: Workload
    seconds: tuple[float, ...] = ()
    known: bool = False
    summaries: tuple[Summary, ...] | None = None
    cells: list[Cell] = field(default_factory=list)

    def bound(self, seconds: Sequence[float], exact: Sequence[bool]) -> None:
        """Take bounds of each kernel's makespan, and whether they are the makespans themselves."""
        self.seconds = tuple(seconds)
        self.known = all(exact)
        self._check()

    def take(self, summaries: tuple[Summary, ...]) -> None:
        """Take the simulations."""
        self.summaries = summaries
        self.seconds = tuple(summary.makespan for summary in summaries)
        self.known = True
        self._check()
        for cell in self.cells:
            cell.narrow()

    def _check(self) -> None:
        for kernel, seconds in zip(self.workload.kernels, self.seconds, strict=True):
            if self.known and seconds == 0:
                name = self.job.machine.name
                raise UsageError(f"{self.workload.name}: {kernel.name} must take time on {name}, its makespan is 0")


@dataclass(slots=True, eq=False)
class Choice:
    """A split that a workload might run in, on an option."""

    split: Split
    run: Run
    instances: int

    @property
    def makespan(self) -> float:
        """Seconds until all instances of all kernels are done, or a lower bound."""
        return sum(seconds * self.split.turns for seconds in self.run.seconds)

    @property
    def throughput(self) -> float:
        """Instances finished per second, or an upper bound."""
        makespan = self.makespan
        return self.instances / makespan if makespan > 0 else math.inf

    @property
    def rates(self) -> tuple[float, ...]:
        """Instances of each kernel finished per second, or upper bounds."""
        return tuple(
            self.instances / (seconds * self.split.turns) if seconds > 0 else math.inf for seconds in self.run.seconds
        )


@dataclass(slots=True, eq=False)
class Cell:
    """A workload on an option: the splits it might run in, of which the one with the highest throughput counts.

    Of splits with equal throughput the first in the order of ``workload.ranks`` counts.

    Attributes:
        choices: All splits, in the order of ``workload.ranks``.
        possible: Those that may still turn out to be the one that counts.
        settled: Whether it is known which split counts, and what it gives.
        makespan: Of the split that counts; a lower bound until settled.
        throughput: Of the split that counts; an upper bound until settled.
        rates: Instances of each kernel finished per second in it; upper bounds until settled.
    """

    choices: tuple[Choice, ...]
    possible: Sequence[Choice] = ()
    settled: bool = False
    makespan: float = 0.0
    throughput: float = math.inf
    rates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self.possible = self.choices

    def narrow(self) -> None:
        """Rule out splits that cannot beat one that is known."""
        known = [choice for choice in self.possible if choice.run.known]
        if known:
            best = max(known, key=lambda choice: choice.throughput)
            self.possible = self._not_ruled_out_by(best)
        self.settled = len(self.possible) == 1 and self.possible[0].run.known
        self.makespan = min(choice.makespan for choice in self.possible)
        self.throughput = max(choice.throughput for choice in self.possible)
        self.rates = tuple(map(max, zip(*(choice.rates for choice in self.possible), strict=True)))

    def _not_ruled_out_by(self, best: Choice) -> list[Choice]:
        at, limit = self.possible.index(best), best.throughput
        before = [choice for choice in self.possible[:at] if not choice.run.known and choice.throughput >= limit]
        after = [choice for choice in self.possible[at + 1 :] if not choice.run.known and choice.throughput > limit]
        return [*before, best, *after]

    def next_run(self) -> Run:
        """Return the most promising run that is not known; there is one unless the cell is settled."""
        return max((c for c in self.possible if not c.run.known), key=lambda choice: choice.throughput).run


@dataclass(slots=True, eq=False)
class Attempt:
    """An option and its workloads.

    Attributes:
        option: What is tried.
        order: Its place in the scenario.
        cells: One for each workload; empty if it cannot run them.
        reason: Why it cannot, or ``""``.
    """

    option: Option
    order: int
    cells: tuple[Cell, ...] = ()
    reason: str = ""

    @property
    def settled(self) -> bool:
        """Whether all its workloads are."""
        return all(cell.settled for cell in self.cells)


def attempts_on(options: Sequence[Option], scenario: Scenario, library: Library, progress: Progress) -> list[Attempt]:
    """Find what there is to run on options."""
    plan = _Plan(scenario, library)
    attempts = []
    for i, option in enumerate(options):
        if i % 100 == 0:
            progress("placing the workloads", i, len(options))
        attempts.append(plan.attempt(option, i))
    return attempts


def work_of(attempts: Iterable[Attempt], library: Library) -> int:
    """Return how many ops it takes to simulate all that options might run."""
    return sum(run.job.instances * library[key].program.ops for run in _runs(attempts) for key in run.job.kernels)


def _runs(attempts: Iterable[Attempt]) -> list[Run]:
    cells = (cell for attempt in attempts for cell in attempt.cells)
    return list(dict.fromkeys(choice.run for cell in cells for choice in cell.choices))


def bound(attempts: Sequence[Attempt], library: Library, sweep: Sweep, progress: Progress) -> None:
    """Bound what options might run from below."""
    _bound(_runs(attempts), library, sweep, progress)
    for attempt in attempts:
        for cell in attempt.cells:
            cell.narrow()


def _bound(runs: Sequence[Run], library: Library, sweep: Sweep, progress: Progress) -> None:
    wanted: dict[Key, list[Run]] = {}
    for run in runs:
        for key in dict.fromkeys(run.job.kernels):
            wanted.setdefault(key, []).append(run)
    bounds: dict[Run, dict[Key, tuple[float, bool]]] = {run: {} for run in runs}
    work = {key: library[key].program.ops + _OPS_FOR_A_MACHINE for key in wanted}
    machines, total = sum(map(len, wanted.values())), sum(work[key] * len(each) for key, each in wanted.items())
    before = 0
    for key, each in wanted.items():
        candidates = [Candidate(run.job.machine, run.job.placement, run.job.instances) for run in each]

        def tell(done: int, before: int = before, work: int = work[key]) -> None:
            progress("bounding", (before + done * work) * machines // total, machines)

        if not before:
            progress("bounding", 0, machines)
        seconds, exact = sweep(library[key].program, candidates, tell)
        before += work[key] * len(each)
        for run, bound in zip(each, zip(seconds.tolist(), exact.tolist(), strict=True), strict=True):
            bounds[run][key] = bound
    for run in runs:
        run.bound(*zip(*(bounds[run][key] for key in run.job.kernels), strict=True))


class _Plan:
    """Finds the splits of options and the runs they share."""

    def __init__(self, scenario: Scenario, library: Library) -> None:
        self._workloads = scenario.workloads
        self._library = library
        self._needs = [self._needed(workload) for workload in scenario.workloads]
        self._splits: dict[object, list[Split | Misfit]] = {}
        self.runs: dict[object, Run] = {}

    def _needed(self, workload: Workload) -> list[list[float]]:
        return [memory_needed(workload, ranks, self._library) for ranks in workload.ranks]

    def attempt(self, option: Option, order: int) -> Attempt:
        """Find what to run on an option, or why it cannot run the workloads."""
        found = [self._possible(w, option.machine) for w in range(len(self._workloads))]
        for workload, possible in zip(self._workloads, found, strict=True):
            if not any(isinstance(split, Split) for split in possible):
                reasons = dict.fromkeys(misfit.reason for misfit in possible if isinstance(misfit, Misfit))
                return Attempt(option, order, reason=f"{workload.name}: {'; '.join(reasons)}")
        cells = [
            self._cell(w, option.machine, [split for split in possible if isinstance(split, Split)])
            for w, possible in enumerate(found)
        ]
        return Attempt(option, order, tuple(cells))

    def _possible(self, w: int, machine: Machine) -> list[Split | Misfit]:
        # Networks and speeds play no part in what fits.
        key = (w, tuple((node.processors, node.memory, node.name) for node in machine.nodes))
        if key not in self._splits:
            self._splits[key] = list(allowed_splits(self._workloads[w], machine, self._needs[w]))
        return self._splits[key]

    def _cell(self, w: int, machine: Machine, splits: Sequence[Split]) -> Cell:
        instances = self._workloads[w].instances
        cell = Cell(tuple(Choice(s, self._run(w, machine, s), instances or s.side_by_side) for s in splits))
        for choice in cell.choices:
            choice.run.cells.append(cell)
        return cell

    def _run(self, w: int, machine: Machine, split: Split) -> Run:
        key = (w, split.ranks, split.side_by_side, *_signature(machine, split.placement))
        if key not in self.runs:
            workload = self._workloads[w]
            kernels = tuple((kernel.program, split.ranks) for kernel in workload.kernels)
            self.runs[key] = Run(Job(machine, split.placement, split.side_by_side, kernels), workload)
        return self.runs[key]


def _signature(machine: Machine, placement: Placement) -> tuple[object, ...]:
    """Return what decides a simulation: network, used nodes and who runs where, by identity of the parts."""
    if machine.changes:
        return (id(machine), placement.nodes)
    used = tuple((node, id(machine.nodes[node])) for node in dict.fromkeys(placement.nodes))
    # A topology's links depend on the number of nodes.
    size = 0 if machine.network.contention.topology is None else len(machine.nodes)
    return (id(machine.network), size, placement.nodes, used)
