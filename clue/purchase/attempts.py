"""The set of predictions: every allowed split of every workload on every option, each distinct one once.

Options that differ only in parts that a split does not use, such as further nodes, give the same prediction. So
thousands of options share far fewer runs. :mod:`clue.purchase.search` decides which of them have to be predicted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from operator import attrgetter

from clue.errors import UsageError
from clue.kernel import Candidate
from clue.machine import Machine, NodeNoise, NodeType, Placement
from clue.predict.application import MACHINE, Key
from clue.predict.prediction import Prediction, Task, what_decides
from clue.predict.predictor import Predictor
from clue.progress import Progress
from clue.purchase.columns import Columns
from clue.purchase.neighbours import Kind, neighbours_of
from clue.purchase.queue.arrivals import Taken, jobs_of_kinds, others_of
from clue.purchase.queue.mix import JobClass, Sharing
from clue.purchase.queue.replications import QueueOutcome
from clue.purchase.run_price import RunPrice, price_that_decides
from clue.purchase.scenario import Option, Scenario, Workload
from clue.purchase.splits import Misfit, Split, allowed_splits, beside_copies
from clue.units import count_of

_PROCESSORS = attrgetter("processors")


@dataclass(slots=True, eq=False)
class Run:
    """One turn of a split, and what is known of its time: a rough lower bound, a better one, then the prediction.

    Attributes:
        tasks: The task of each component, whose prediction gives the exact time.
        workload: Its workload, for messages.
        seconds: Makespan of each component, or a lower bound of it, seconds.
        known: Whether these are the makespans.
        refined: Whether these are at least the better bounds.
        predictions: Prediction of each component, once made.
        cells: The cells in which it may be chosen.
    """

    tasks: tuple[Task, ...]
    workload: Workload
    seconds: tuple[float, ...] = ()
    known: bool = False
    refined: bool = False
    predictions: tuple[Prediction, ...] = ()
    cells: list[Cell] = field(default_factory=list)

    def bound(self, seconds: Sequence[float], exact: Sequence[bool]) -> None:
        """Store better bounds of each component's makespan, and whether they are the makespans themselves."""
        self.known, self.refined = all(exact), True
        self.seconds = tuple(seconds) if self.known else tuple(map(max, self.seconds, seconds))
        self._check()

    def take(self, predictions: Sequence[Prediction]) -> None:
        """Store the predictions."""
        self.predictions = tuple(predictions)
        self.seconds = tuple(prediction.makespan for prediction in predictions)
        self.known = self.refined = True
        self._check()
        for cell in self.cells:
            cell.narrow()

    def _check(self) -> None:
        for component, task, seconds in zip(self.workload.components, self.tasks, self.seconds, strict=True):
            if self.known and seconds == 0:
                where = task.where.machine.name
                raise UsageError(f"{self.workload.name}: {component.name} must take time on {where}, its makespan is 0")


@dataclass(slots=True, eq=False)
class Choice:
    """A candidate split of a workload on an option."""

    split: Split
    run: Run
    instances: int

    @property
    def seconds(self) -> float:
        """Run time from its own start, seconds, or a lower bound."""
        return sum(self.run.seconds)

    @property
    def makespan(self) -> float:
        """Time until all instances of all components are done, seconds, or a lower bound."""
        turns, makespan = self.split.turns, 0.0
        for seconds in self.run.seconds:
            makespan += seconds * turns
        return makespan

    @property
    def throughput(self) -> float:
        """Instances finished per second, or an upper bound."""
        makespan = self.makespan
        return self.instances / makespan if makespan > 0 else math.inf

    @property
    def rates(self) -> tuple[float, ...]:
        """Instances of each component finished per second, or upper bounds."""
        return tuple(
            self.instances / (seconds * self.split.turns) if seconds > 0 else math.inf for seconds in self.run.seconds
        )


@dataclass(slots=True, eq=False)
class Cell:
    """A workload on an option: its candidate splits; the one with the highest throughput is chosen.

    If a price decides, it is the one whose runs cost least; of equal costs, the one with the highest throughput. A
    split that cannot do all required runs is chosen only if all cannot: then the one with the highest throughput.

    Ties go to the first split in the order of ``workload.ranks``. A split that misses the deadline is chosen only if
    all do: then the one in which a run ends first.

    Attributes:
        choices: All candidate splits, in the order of ``workload.ranks``.
        deadline: Largest allowed run time, seconds.
        price: The price that decides, if any.
        possible: Splits that may still be chosen.
        settled: Whether the chosen split and its figures are known.
        late: Whether no split can meet the deadline.
        by_price: Whether the price decides: a split can do all required runs in time.
        makespan: Makespan of the chosen split; a lower bound until settled.
        throughput: Throughput of the chosen split; an upper bound until settled.
        rates: Instances of each component finished per second in it; upper bounds until settled; empty if it is late.
        refined: Whether the times of all splits have at least their better bounds.
        changes: Number of times that its figures have changed.
        watchers: Lists that it is appended to whenever its figures change.
    """

    choices: tuple[Choice, ...]
    deadline: float = math.inf
    price: RunPrice | None = None
    possible: Sequence[Choice] = ()
    settled: bool = False
    late: bool = False
    by_price: bool = False
    makespan: float = 0.0
    throughput: float = math.inf
    rates: tuple[float, ...] = ()
    refined: bool = False
    changes: int = 0
    watchers: list[list[Cell]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.possible = self.choices

    def within(self, deadline: float) -> None:
        """Take another deadline."""
        if deadline != self.deadline:
            self.deadline, self.possible = deadline, self.choices
            self.narrow()

    def narrow(self) -> None:
        """Exclude splits that cannot beat a known one."""
        self.changes += 1
        for each in self.watchers:
            each.append(self)
        self.refined = all(choice.run.refined for choice in self.choices)
        in_time = [choice for choice in self.possible if choice.seconds <= self.deadline]
        self.late = not in_time
        self.possible = in_time or self.choices
        if self.price is not None and not self.late:
            able = [choice for choice in self.possible if choice.throughput >= self.price.least_rate]
            self.by_price = bool(able)
            self.possible = able or [choice for choice in self.choices if choice.seconds <= self.deadline]
        known = [choice for choice in self.possible if choice.run.known]
        if known:
            best = max(known, key=self._merit)
            self.possible = self._not_ruled_out_by(best)
        self.settled = len(self.possible) == 1 and self.possible[0].run.known
        self.makespan = min(choice.makespan for choice in self.possible)
        self.throughput = max(choice.throughput for choice in self.possible)
        rates = [(0.0,) * len(choice.rates) if self.late else choice.rates for choice in self.possible]
        self.rates = tuple(map(max, zip(*rates, strict=True)))

    def _merit(self, choice: Choice) -> tuple[float, ...]:
        """Return how good a choice is, or at best may be."""
        if self.late:
            return (-choice.seconds,)
        if self.by_price and self.price is not None:
            return -self.price.of(choice.makespan, choice.instances), choice.throughput
        return (choice.throughput,)

    def _not_ruled_out_by(self, best: Choice) -> list[Choice]:
        at, limit, merit = self.possible.index(best), self._merit(best), self._merit
        before = [choice for choice in self.possible[:at] if not choice.run.known and merit(choice) >= limit]
        after = [choice for choice in self.possible[at + 1 :] if not choice.run.known and merit(choice) > limit]
        return [*before, best, *after]

    def next_run(self) -> Run:
        """Return the most promising run that is not known; it exists unless the cell is settled."""
        return max((c for c in self.possible if not c.run.known), key=self._merit).run

    def rough_runs(self) -> list[Run]:
        """Return the most promising runs that have only rough bounds, which are often equal for several placements."""
        unknown = [choice for choice in self.possible if not choice.run.known]
        merits = [self._merit(choice) for choice in unknown]
        best = max(merits, default=())
        return [
            choice.run
            for choice, merit in zip(unknown, merits, strict=True)
            if merit == best and not choice.run.refined
        ]


@dataclass(slots=True, eq=False)
class LaterCell(Cell):
    """A cell with one choice, which is known when other cells are settled.

    Attributes:
        needs: The other cells.
        choose: Returns the choice then.
    """

    needs: tuple[Cell, ...] = ()
    choose: Callable[[], Choice] | None = None

    def narrow(self) -> None:
        """Choose, once all needed cells are settled."""
        if not self.choices and self.choose is not None and all(cell.settled for cell in self.needs):
            choice = self.choose()
            choice.run.cells.append(self)
            self.choices = self.possible = (choice,)
        if self.choices:
            Cell.narrow(self)

    def next_run(self) -> Run:
        """Return the most promising run of the cells that it needs, then its own."""
        for cell in self.needs:
            if not cell.settled:
                return cell.next_run()
        self.narrow()
        return self.choices[0].run

    def rough_runs(self) -> list[Run]:
        """Return nothing: its run gets no better bound."""
        return []


@dataclass(frozen=True, slots=True, eq=False)
class JobCells:
    """The cells of a class's jobs on a number of ranks on an option.

    Attributes:
        queued: As it runs where others run, too: alone, beside copies of itself, or beside others of the mix.
        alone: The job on an empty machine.
    """

    queued: Cell
    alone: Cell

    @property
    def nodes(self) -> int:
        """Nodes of a job, once both are settled."""
        split = self.queued.possible[0].split
        # Copies follow the job itself.
        own = self.alone.possible[0].split.side_by_side * split.ranks
        return len(set(split.placement.nodes[:own]))

    @property
    def nodes_alone(self) -> int:
        """Nodes of a job on an empty machine, once that is settled."""
        return len(set(self.alone.possible[0].split.placement.nodes))


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """An option and its workloads.

    Attributes:
        option: The option.
        order: Its index in the scenario.
        cells: One for each workload; empty if it cannot run them.
        reason: Why it cannot, or ``""``.
        jobs: Cells of jobs by class of the mix and by ranks; 0 stands for the ranks of the chosen split.
    """

    option: Option
    order: int
    cells: tuple[Cell, ...] = ()
    reason: str = ""
    jobs: tuple[Mapping[int, JobCells], ...] = ()

    @property
    def every(self) -> tuple[Cell, ...]:
        """All its cells, including those of jobs, each once."""
        if not self.jobs:
            return self.cells
        of_jobs = (cell for by_ranks in self.jobs for each in by_ranks.values() for cell in (each.queued, each.alone))
        return tuple(dict.fromkeys((*self.cells, *of_jobs)))

    @property
    def settled(self) -> bool:
        """Whether all its cells are settled."""
        # Asked millions of times: a loop takes half as long as a generator.
        for cell in self.every:  # noqa: SIM110
            if not cell.settled:
                return False
        return True

    @property
    def changes(self) -> int:
        """Number of times that the figures of its cells have changed."""
        changes = 0
        for cell in self.every:
            changes += cell.changes
        return changes


def predicted(runs: Sequence[Run], predictor: Predictor, *, may_deadlock: bool = False) -> Iterator[Run]:
    """Predict runs; yield each when it is known."""
    places = [(run, k) for run in runs for k in range(len(run.tasks))]
    tasks = [replace(run.tasks[k], may_deadlock=may_deadlock) for run, k in places]
    found: dict[Run, dict[int, Prediction]] = {run: {} for run in runs}
    for i, prediction in predictor.predict(tasks):
        run, k = places[i]
        found[run][k] = prediction
        if len(found[run]) == len(run.tasks):
            run.take([found[run][k] for k in range(len(run.tasks))])
            yield run


def wanted_on(options: Sequence[Option], scenario: Scenario) -> Mapping[Key, str]:
    """Return the applications and numbers of ranks for which any option has enough processors, with their names.

    Workloads that were measured on all options are left out.
    """
    different = {id(option.machine.nodes): option.machine.nodes for option in options}
    processors = max((sum(map(_PROCESSORS, nodes)) for nodes in different.values()), default=0)
    return {
        (component.application, ranks): f"{workload.title(component)} on {count_of(ranks)}"
        for workload in scenario.workloads
        if any(workload.name not in option.measured for option in options)
        for component in workload.components
        for ranks in workload.ranks
        if ranks <= processors * workload.most_per_processor
    }


def attempts_on(
    options: Sequence[Option],
    scenario: Scenario,
    predictor: Predictor,
    progress: Progress,
    samples: int = 0,
    *,
    rough: bool = False,
    known: KnownRuns | None = None,
) -> list[Attempt]:
    """Find the splits of workloads on options, and lower bounds of their times.

    Args:
        options: The options.
        scenario: The comparison.
        predictor: Predicts applications.
        progress: Called with the progress.
        samples: Number of samples in which each run may also be needed.
        rough: Whether rough bounds suffice for now.
        known: Results of earlier rankings of the same workloads, which this one adds to.

    Raises:
        UsageError: If an application cannot be predicted.
        TraceError: If a trace is unusable.
    """
    wanted = wanted_on(options, scenario)
    predictor.prepare(wanted, progress)
    plan = (known or KnownRuns()).plan_for(scenario, wanted, predictor)
    attempts = []
    for i, option in enumerate(options):
        if i % 100 == 0:
            progress("placing the workloads", i, len(options))
        attempts.append(plan.attempt(option, i, price_that_decides(option, scenario)))
    runs = plan.new_runs()
    if runs:
        outlook = iter(predictor.outlook([task for run in runs for task in run.tasks], samples).tolist())
        for run in runs:
            run.seconds = tuple(next(outlook) for _ in run.tasks)
    for cell in plan.new_cells():
        cell.narrow()
    plan.take_new()
    if not rough:
        refine(runs, predictor, progress)
    return attempts


def refine(runs: Sequence[Run], predictor: Predictor, progress: Progress) -> None:
    """Compute the better bounds of runs."""
    seconds, exact = predictor.bounds([task for run in runs for task in run.tasks], progress)
    bounds = zip(seconds.tolist(), exact.tolist(), strict=True)
    for run in runs:
        run.bound(*zip(*(next(bounds) for _ in run.tasks), strict=True))
    for cell in dict.fromkeys(cell for run in runs for cell in run.cells):
        cell.narrow()


class KnownRuns:
    """Results of rankings of the same workloads: a ranking with other prices begins where the last one ended.

    Results are reused only if machines stay the same objects from one ranking to the next.

    Attributes:
        queues: Results for queues.
    """

    def __init__(self) -> None:
        self._of: object = None
        self._plan: _Plan | None = None
        self._wanted: Sequence[Key] = ()
        self.queues: dict[object, QueueOutcome] = {}

    def begin(self, scenario: Scenario) -> None:
        """Discard results if a scenario has other workloads or jobs; or other deadlines, if jobs are stated."""
        plain = tuple(
            replace(each, weight=1.0, demand=None, deadline=math.inf if scenario.queue is None else each.deadline)
            for each in scenario.workloads
        )
        if self._of != (plain, scenario.queue):
            self._of, self._plan, self.queues = (plain, scenario.queue), None, {}

    def plan_for(self, scenario: Scenario, wanted: Mapping[Key, str], predictor: Predictor) -> _Plan:
        """Return the results for a scenario's options; none if other numbers of ranks are requested."""
        self.begin(scenario)
        if self._plan is None or self._wanted != list(wanted):
            self._plan, self._wanted = _Plan(scenario, wanted, predictor), list(wanted)
        self._plan.within([each.deadline for each in scenario.workloads])
        return self._plan

    @property
    def columns(self) -> Columns:
        """Figures of the options' cells, as columns."""
        return Columns() if self._plan is None else self._plan.columns

    @property
    def engines(self) -> set[str]:
        """Names of the engines or other methods that made the predictions."""
        runs = () if self._plan is None else self._plan.runs.values()
        return {prediction.engine for run in runs for prediction in run.predictions}


class _Plan:
    """Finds the splits of options, and the runs and cells that options share.

    Thousands of generated options have the same nodes on other networks, or nodes that differ only in memory and
    price. Shared results are looked up by the identity of these parts, which are kept alive.
    """

    def __init__(self, scenario: Scenario, wanted: Mapping[Key, str], predictor: Predictor) -> None:
        self._workloads = scenario.workloads
        self._queue = scenario.queue
        memory = {key: predictor.memory(key) for key in wanted}
        self._needs = [[_needed(each, ranks, memory) for ranks in each.ranks] for each in scenario.workloads]
        # A model knows kinds of nodes by their names.
        models = [c.application.modelled for w in scenario.workloads for c in w.components]
        self._by_name = any(each is not None for each in models)
        # A model of a program's parts knows its machine by its name.
        self._by_machine = any(each is not None and MACHINE in each.path for each in models)
        self._splits: dict[object, tuple[Split | Misfit, ...]] = {}
        self._different: dict[tuple[Split | Misfit, ...], tuple[Split | Misfit, ...]] = {}
        self._fitting: dict[tuple[int, int], tuple[Split | Misfit, ...]] = {}
        self._alike: dict[int, int] = {}
        self._figures: list[NodeType] = []
        self._kinds: dict[tuple[int, bool], int] = {}
        self._numbers: dict[object, int] = {}
        self._cells: dict[object, Cell] = {}
        #: By machine, which the options keep alive.
        self._attempts: dict[object, Attempt] = {}
        self._deadlines = [each.deadline for each in scenario.workloads]
        self._all_cells: list[tuple[int, Cell]] = []
        self._taken = (0, 0)
        self.columns = Columns()
        self.runs: dict[object, Run] = {}

    def new_runs(self) -> list[Run]:
        """Return the new runs, without any known figures."""
        return [run for run in islice(self.runs.values(), self._taken[0], None) if not run.seconds]

    def new_cells(self) -> list[Cell]:
        """Return the cells of new options."""
        new = islice(self._attempts.values(), self._taken[1], None)
        return list(dict.fromkeys(cell for attempt in new for cell in attempt.every))

    def take_new(self) -> None:
        """Mark all runs and options as seen."""
        self._taken = len(self.runs), len(self._attempts)

    def within(self, deadlines: Sequence[float]) -> None:
        """Set new deadlines of the workloads."""
        if list(deadlines) != self._deadlines:
            self._deadlines = list(deadlines)
            for w, cell in self._all_cells:
                cell.within(deadlines[w])

    def attempt(self, option: Option, order: int, price: RunPrice | None) -> Attempt:
        """Find the splits of the workloads on an option, or the reason why it cannot run them.

        Args:
            option: The option.
            order: Its index in the scenario.
            price: The price that decides between splits, if any.
        """
        key: object = id(option.machine)
        if option.measured or price is not None:
            key = (key, price, *option.measured.items())
        found = self._attempts.get(key)
        if found is None:
            found = self._attempts[key] = self._new_attempt(option, order, price)
        elif found.option is not option or found.order != order:
            found = self._attempts[key] = Attempt(option, order, found.cells, found.reason, found.jobs)
        return found

    def _new_attempt(self, option: Option, order: int, price: RunPrice | None) -> Attempt:
        found = [self._possible(w, option) for w in range(len(self._workloads))]
        for workload, possible in zip(self._workloads, found, strict=True):
            if not any(isinstance(split, Split) for split in possible):
                reasons = dict.fromkeys(misfit.reason for misfit in possible if isinstance(misfit, Misfit))
                return Attempt(option, order, reason=f"{workload.name}: {'; '.join(reasons)}")
        cells = [self._cell(w, option, possible, price) for w, possible in enumerate(found)]
        jobs: list[Mapping[int, JobCells]] = []
        for of in () if self._queue is None else self._queue.classes:
            w = next(w for w, workload in enumerate(self._workloads) if workload.name == of.workload)
            for ranks in of.ranks:
                ways = [each for each in found[w] if each.ranks == ranks]
                if not any(isinstance(way, Split) for way in ways):
                    reasons = dict.fromkeys(way.reason for way in ways if isinstance(way, Misfit))
                    why = "; ".join(reasons) or f"its workload was not measured on {count_of(ranks)}"
                    return Attempt(option, order, reason=f"job class {of.name} must fit: {why}")
            jobs.append(self._jobs(of, w, option, found[w], cells[w]))
        if fault := self._recorded_fault(option):
            return Attempt(option, order, reason=fault)
        if self._queue is not None and self._queue.sharing is Sharing.MIX:
            jobs = self._beside_others(option, jobs)
        return Attempt(option, order, tuple(cells), jobs=tuple(jobs))

    def _jobs(
        self, of: JobClass, w: int, option: Option, possible: Sequence[Split | Misfit], counting: Cell
    ) -> Mapping[int, JobCells]:
        """Return the cells of jobs of a class by ranks; of several placements the best is chosen."""
        assert self._queue is not None
        if not of.ranks:
            return {0: JobCells(counting, counting)}
        found = {}
        for ranks in of.ranks:
            splits = [each for each in possible if isinstance(each, Split) and each.ranks == ranks]
            alone = queued = self._new_cell(w, option, splits)
            if self._queue.sharing is Sharing.COPIES:
                queued = self._new_cell(w, option, [beside_copies(each, option.machine) for each in splits])
            found[ranks] = JobCells(queued, alone)
        return found

    # --- jobs beside others of the mix ---

    def _beside_others(self, option: Option, jobs: Sequence[Mapping[int, JobCells]]) -> list[Mapping[int, JobCells]]:
        """Return cells of jobs beside others, which are settled once the times of all jobs alone are known."""
        needs = tuple(dict.fromkeys(each.alone for by_ranks in jobs for each in by_ranks.values()))
        found: list[Mapping[int, JobCells]] = []
        kind = 0
        for by_ranks in jobs:
            cells = {}
            for ranks, each in by_ranks.items():
                choose = partial(self._choice_beside_others, option, jobs, kind)
                cells[ranks] = JobCells(LaterCell((), needs=needs, choose=choose), each.alone)
                for choice in (choice for cell in needs for choice in cell.choices):
                    choice.run.cells.append(cells[ranks].queued)
                kind += 1
            found.append(cells)
        return found

    def _choice_beside_others(self, option: Option, jobs: Sequence[Mapping[int, JobCells]], own: int) -> Choice:
        """Return the choice for a job of one kind beside others, all in their best placements alone."""
        assert self._queue is not None
        alone = [each.alone.possible[0] for by_ranks in jobs for each in by_ranks.values()]
        takes = [
            {ranks: Taken(each.nodes_alone, each.alone.makespan) for ranks, each in by_ranks.items()}
            for by_ranks in jobs
        ]
        held = [n * taken.nodes * taken.run for of in jobs_of_kinds(self._queue, takes) for n, taken in of]
        kinds = [Kind(each, choice.split.placement.nodes) for each, choice in zip(held, alone, strict=True)]
        kinds.append(Kind(sum(nodes * run for nodes, run in others_of(self._queue)), ()))
        beside = []
        for kind, nodes in neighbours_of(own, kinds, option.machine):
            if kind < len(alone) and is_replayed(alone[kind].run):
                tasks = alone[kind].run.tasks
                where = replace(tasks[0].where, machine=option.machine, placement=Placement(nodes))
                beside.append((kind, tuple(replace(task, where=where) for task in tasks)))
        return self._beside(option, alone[own], beside) if is_replayed(alone[own].run) else alone[own]

    def _beside(self, option: Option, alone: Choice, beside: Sequence[tuple[int, tuple[Task, ...]]]) -> Choice:
        """Return a choice whose tasks run beside others; equal options share its run."""
        if not beside:
            return alone
        machine, own = option.machine, alone.run.tasks[0].where
        placement = Placement((*own.placement.nodes, *(n for _, of in beside for n in of[0].where.placement.nodes)))
        who = tuple((kind, of[0].where.instances) for kind, of in beside)
        keys = tuple(task.key for _, of in beside for task in of)
        key = (id(alone.run), who, keys, *self._signature(machine, placement))
        if key not in self.runs:
            where = replace(own, machine=machine)
            neighbours = tuple(of for _, of in beside)
            tasks = tuple(replace(task, where=where, beside=neighbours) for task in alone.run.tasks)
            # It may even take less time than alone: a port is as fast as its fastest link to any node with ranks.
            self.runs[key] = Run(tasks, alone.run.workload, (0.0,) * len(tasks), refined=True)
        return Choice(alone.split, self.runs[key], alone.instances)

    def _recorded_fault(self, option: Option) -> str:
        """Return a message about a recorded job that does not fit on an option, if jobs run as recorded."""
        recorded = None if self._queue is None else self._queue.recorded
        if recorded is None:
            return ""
        most = int(recorded.nodes[recorded.kind < 0].max(initial=0))
        nodes = len(option.machine.nodes)
        return f"jobs of {recorded.file} must fit: one takes {most} nodes, the machine has {nodes}" * (most > nodes)

    def _possible(self, w: int, option: Option) -> tuple[Split | Misfit, ...]:
        nodes = option.machine.nodes
        found = self._fitting.get((w, id(nodes)))
        if found is None:
            found = self._fitting[w, id(nodes)] = self._fitting_on(w, option.machine)
        measured = option.measured.get(self._workloads[w].name)
        return found if measured is None else tuple(each for each in found if each.ranks == measured.ranks)

    def _fitting_on(self, w: int, machine: Machine) -> tuple[Split | Misfit, ...]:
        """Return the splits that fit, which do not depend on networks and speeds, nor on names except in messages."""
        if not any(any(needs) for needs in self._needs[w]):
            return self._splits_as(w, machine, (w, tuple(node.processors for node in machine.nodes), _kinds(machine)))
        return self._splits_as(w, machine, (w, tuple((n.processors, n.memory, n.name) for n in machine.nodes)))

    def _splits_as(self, w: int, machine: Machine, key: object) -> tuple[Split | Misfit, ...]:
        """Return the splits that fit, the same for all machines with one key."""
        if key not in self._splits:
            splits = tuple(allowed_splits(self._workloads[w], machine, self._needs[w]))
            self._splits[key] = self._different.setdefault(splits, splits)
        return self._splits[key]

    def _cell(self, w: int, option: Option, possible: Sequence[Split | Misfit], price: RunPrice | None) -> Cell:
        """Return the cell of a workload on an option, shared by all options on which its prediction is the same."""
        workload, machine = self._workloads[w], option.machine
        measured = option.measured.get(workload.name)
        key = (w, id(possible), price, *self._place(machine))
        if measured is None and key in self._cells:
            return self._cells[key]
        cell = self._new_cell(w, option, [split for split in possible if isinstance(split, Split)], price)
        if measured is None:
            self._cells[key] = cell
        return cell

    def _new_cell(self, w: int, option: Option, splits: Sequence[Split], price: RunPrice | None = None) -> Cell:
        """Return a new cell for these splits of a workload on an option."""
        workload = self._workloads[w]
        choices = (Choice(s, self._run(w, option, s), workload.instances or s.side_by_side) for s in splits)
        cell = Cell(tuple(choices), self._deadlines[w], price)
        self._all_cells.append((w, cell))
        for choice in cell.choices:
            choice.run.cells.append(cell)
        return cell

    def _run(self, w: int, option: Option, split: Split) -> Run:
        workload, machine = self._workloads[w], option.machine
        measured = option.measured.get(workload.name)
        key = (w, split.ranks, split.side_by_side, measured, *self._signature(machine, split.placement))
        if key not in self.runs:
            where = Candidate(machine, split.placement, split.side_by_side)
            applications = [component.application for component in workload.components]
            if measured is not None:
                applications = [replace(each, measured=measured) for each in applications]
            self.runs[key] = Run(tuple(Task((each, split.ranks), where) for each in applications), workload)
        return self.runs[key]

    # --- machines with the same prediction ---

    def _place(self, machine: Machine) -> tuple[int, ...]:
        """Return a key of all predictions on a machine: its network, and the kind of each node."""
        if machine.changes or self._by_machine:
            return (id(machine),)
        by_name = self._goes_by_name(machine)
        place = (id(machine.nodes), by_name)
        if place not in self._kinds:
            kinds = (by_name, *(self._kind(node, by_name) for node in machine.nodes))
            self._kinds[place] = self._numbers.setdefault(kinds, len(self._numbers))
        return (id(machine.network), self._kinds[place])

    def _signature(self, machine: Machine, placement: Placement) -> tuple[object, ...]:
        """Return a key of a prediction, in which kinds of nodes with the same speed are equal."""
        by_name = self._goes_by_name(machine)

        def identity(part: object) -> int:
            return self._kind(part, by_name) if isinstance(part, NodeType) else id(part)

        return (by_name, machine.name * self._by_machine, *what_decides(machine, placement, identity))

    def _goes_by_name(self, machine: Machine) -> bool:
        """Tell whether predictions depend on the names of kinds of nodes."""
        return self._by_name or bool(machine.network.pairs or machine.network.within)

    def _kind(self, node: NodeType, by_name: bool) -> int:
        """Return a number that identifies the speed of a kind of node, regardless of its memory and price."""
        if by_name:
            return id(node)
        if id(node) not in self._alike:
            # Noise is drawn by the name of a kind of node, or of its processor.
            figures = node.timed if node.noise != NodeNoise() else replace(node.timed, name="")
            try:
                self._alike[id(node)] = self._figures.index(figures)
            except ValueError:
                self._alike[id(node)] = len(self._figures)
                self._figures.append(figures)
        return self._alike[id(node)]


def is_replayed(run: Run) -> bool:
    """Tell whether all of a run is replayed, so that its messages are known."""
    return all(task.key[0].modelled is None and task.key[0].measured is None for task in run.tasks)


def _kinds(machine: Machine) -> tuple[int, ...]:
    """Return the kind of each node, by name."""
    numbers: dict[str, int] = {}
    return tuple(numbers.setdefault(node.name, len(numbers)) for node in machine.nodes)


def _needed(workload: Workload, ranks: int, memory: Mapping[Key, Sequence[float]]) -> list[float]:
    """Return the memory needed by each rank, bytes: as stated, or the largest known need of a component, or nothing."""
    if ranks in workload.memory:
        return [workload.memory[ranks]] * ranks
    known = [memory.get((component.application, ranks), ()) for component in workload.components]
    return [max(of_rank) for of_rank in zip(*filter(None, known), strict=True)] or [0.0] * ranks
