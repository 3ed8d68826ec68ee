"""What the first place of a ranking depends on: which parameter, a tenth lower or higher, gives it to another option.

The first few options are tried, each parameter of their machines one at a time; where options have a parameter in
common (equal figures under one name) it changes for all of them at once. Splits are chosen anew. All other options stay
as they are: of them only the best rates matter, which points are relative to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from clue.errors import DeadlockError
from clue.explain.parameters import EAGER_LIMIT, computing_regions, parameters_of
from clue.explain.sensitivity import CHANGE
from clue.kernel import contention_free, engine_for
from clue.machine import Machine, Parameter, Placement
from clue.progress import Progress, silent
from clue.purchase import Entry, Option, Ranking, Scenario, TraceSource
from clue.purchase.executors import PROCESSES, Crew
from clue.purchase.library import Library, Recorder, as_named, record_all
from clue.purchase.points import FULL_POINTS
from clue.purchase.runs import Attempt, attempts_on, bound, work_of
from clue.purchase.scores import Scores

#: So many of the first options are tried.
FIRST = 4
#: Rates that differ by less, relative to the larger, are one rate.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Outcome:
    """What comes out of a comparison of the first options.

    Attributes:
        winner: The first option.
        lead: By how much the option that is first as things are is better than the best of the others, relative to the
            smaller of both; negative where another one is first, infinitely so if it deadlocks.
    """

    winner: str
    lead: float


@dataclass(frozen=True, slots=True)
class RankingSensitivity:
    """What a parameter does to the first place.

    Attributes:
        parameter: Its name (:mod:`clue.explain.parameters`).
        options: The options that have it.
        lower: The outcome with the parameter at 0.9 times its value.
        higher: The same at 1.1 times its value.
    """

    parameter: str
    options: tuple[str, ...]
    lower: Outcome
    higher: Outcome

    @property
    def least_lead(self) -> float:
        """The least lead that the first option keeps."""
        return min(self.lower.lead, self.higher.lead)


@dataclass(frozen=True, slots=True)
class RankingExplanation:
    """What the first place depends on.

    Attributes:
        options: The options that were tried, by position.
        base: The outcome as things are.
        sensitivities: What each parameter does, the most dangerous for the first place first.
        change: By how much parameters were changed, relative to their values.
    """

    options: tuple[str, ...]
    base: Outcome
    sensitivities: tuple[RankingSensitivity, ...]
    change: float = CHANGE

    @property
    def altering(self) -> tuple[RankingSensitivity, ...]:
        """Those that give the first place to another option."""
        winner = self.base.winner
        return tuple(each for each in self.sensitivities if {each.lower.winner, each.higher.winner} != {winner})


def explain_ranking(
    scenario: Scenario,
    ranking: Ranking,
    traces: TraceSource,
    progress: Progress = silent,
    *,
    first: int = FIRST,
    engine: str = "auto",
    executor: str = PROCESSES,
    workers: int = 1,
    recorder: Recorder = as_named,
) -> RankingExplanation | None:
    """Find out which parameters of the first options would give the first place to another one.

    Args:
        scenario: What was compared.
        ranking: What came out.
        traces: Where traces come from.
        progress: Told about what is done.
        first: How many of the first options to try.
        engine: Which engine of the kernel simulates.
        executor: Who simulates.
        workers: Number of processes.
        recorder: Records programs that have no traces.

    Returns:
        ``None`` if fewer than two options have a position.
    """
    # Entries are in order; several may share a position.
    names = [each.option for each in ranking.entries if each.position is not None][:first]
    options = [option for name in names for option in scenario.options if option.name == name]
    if len(options) < 2:
        return None
    library = record_all(scenario, options, traces, progress, recorder)
    shared = shared_parameters(options, library)
    variants = [variant for each in shared for variant in each.variants]
    attempts = attempts_on([*options, *variants], scenario, library, progress)
    engine = engine_for(work_of(attempts, library), engine)
    bound(attempts, library, partial(contention_free, engine=engine, workers=workers), progress)
    for attempt in attempts:
        attempt.order = names.index(attempt.option.name)
    base, changed = attempts[: len(options)], iter(attempts[len(options) :])
    trials = [_Trial(each, *([next(changed) for _ in each.options] for _ in range(2))) for each in shared]
    with Crew(library, engine, executor, workers) as crew:
        _settle(
            [*base, *(each for trial in trials if not trial.may_deadlock for each in trial.attempts)], crew, progress
        )
        _settle_alone([each for trial in trials if trial.may_deadlock for each in trial.attempts], library, engine)
    judge = _Judge(scenario, ranking, base)
    found = sorted((judge.sensitivity(trial) for trial in trials), key=lambda each: each.least_lead)
    return RankingExplanation(tuple(names), judge.outcome([]), tuple(found))


# --- parameters that options have in common --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SharedParameter:
    """A parameter, and the options whose machines have it.

    Attributes:
        name: Its name.
        options: With the parameter as it is in the machine of each.
    """

    name: str
    options: tuple[tuple[Option, Parameter], ...]

    @property
    def variants(self) -> list[Option]:
        """The options with the parameter lower, then with it higher."""
        return [
            replace(option, machine=parameter.change(option.machine, factor))
            for factor in (1 - CHANGE, 1 + CHANGE)
            for option, parameter in self.options
        ]


def shared_parameters(options: Sequence[Option], library: Library) -> list[SharedParameter]:
    """Return the parameters of options, each once."""
    programs = [each.program for each in library.values()]
    regions = list(dict.fromkeys(region for each in programs for region in computing_regions(each)))
    timed = {region for each in programs for region in each.host_speeds}
    found: list[tuple[Parameter, list[tuple[Option, Parameter]]]] = []
    for option in options:
        for parameter in parameters_of(option.machine, _everywhere(option.machine), regions, timed):
            alike = (owners for known, owners in found if parameter.is_same(known))
            owners = next(alike, None)
            if owners is None:
                found.append((parameter, owners := []))
            owners.append((option, parameter))
    return [SharedParameter(parameter.name, tuple(owners)) for parameter, owners in found]


def _everywhere(machine: Machine) -> Placement:
    """Return a placement that uses all links: two ranks on each node."""
    return Placement(tuple(node for node in range(len(machine.nodes)) for _ in range(2)))


# --- simulations -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """The options that have a parameter, with it lower and with it higher."""

    parameter: SharedParameter
    lower: list[Attempt]
    higher: list[Attempt]

    @property
    def attempts(self) -> list[Attempt]:
        return [*self.lower, *self.higher]

    @property
    def may_deadlock(self) -> bool:
        return self.parameter.name.endswith(EAGER_LIMIT)


def _settle(attempts: Sequence[Attempt], crew: Crew, progress: Progress) -> None:
    """Simulate options until it is known which of their splits count."""
    while left := [each for each in attempts if not each.settled]:
        runs = list(dict.fromkeys(cell.next_run() for each in left for cell in each.cells if not cell.settled))
        progress("changing parameters", 0, len(runs))
        for done, (i, summaries) in enumerate(crew.perform([run.job for run in runs]), start=1):
            runs[i].take(summaries)
            progress("changing parameters", done, len(runs))


def _settle_alone(attempts: Sequence[Attempt], library: Library, engine: str) -> None:
    """Simulate options one by one; what deadlocks, which another eager limit can bring about, loses its cells."""
    for attempt in attempts:
        try:
            _settle([attempt], Crew(library, engine), silent)
        except DeadlockError:
            attempt.cells = ()


# --- the outcome -----------------------------------------------------------------------------------------------------


class _Judge:
    """Puts the first options in order, with some of them changed.

    Args:
        scenario: What was compared.
        ranking: What came out.
        base: The first options as they are.
    """

    def __init__(self, scenario: Scenario, ranking: Ranking, base: Sequence[Attempt]) -> None:
        self._base = {attempt.option.name: attempt for attempt in base}
        self._scores = Scores(scenario, [attempt.option for attempt in base])
        self._winner = next(iter(self._base))
        self._best_of_others = _best_of_others(scenario, ranking, self._base)

    def sensitivity(self, trial: _Trial) -> RankingSensitivity:
        """Return what a parameter does."""
        names = tuple(option.name for option, _ in trial.parameter.options)
        return RankingSensitivity(trial.parameter.name, names, self.outcome(trial.lower), self.outcome(trial.higher))

    def outcome(self, changed: Sequence[Attempt]) -> Outcome:
        """Return the outcome with some options changed; one without cells deadlocks, and drops out."""
        now = {**self._base, **{attempt.option.name: attempt for attempt in changed}}
        able = [attempt for attempt in now.values() if attempt.cells]
        self._find_best_rates(able)
        order = sorted(able, key=self._scores.key)
        rival = next((each for each in order if each.option.name != self._winner), None)
        winner = next((each.option.name for each in order), "")
        return Outcome(winner, self._lead(now[self._winner], rival))

    def _lead(self, first: Attempt, second: Attempt | None) -> float:
        if not first.cells or second is None:
            return math.inf if first.cells else -math.inf
        one, other = self._scores.score(first), self._scores.score(second)
        if not self._scores.higher_is_better:
            one, other = other, one
        return (one - other) / min(one, other)

    # --- the best rates, which points are relative to ---

    def _find_best_rates(self, attempts: Sequence[Attempt]) -> None:
        for w, best in enumerate(self._best_of_others):
            self._scores.best[w] = [
                max([known, *(attempt.cells[w].rates[k] for attempt in attempts)]) for k, known in enumerate(best)
            ]


def _best_of_others(scenario: Scenario, ranking: Ranking, base: Mapping[str, Attempt]) -> list[list[float]]:
    """Return the best rate of each kernel on the options that are not tried, as far as it is known."""
    entries = [each for each in ranking.entries if each.workloads]
    others = [each for each in entries if each.option not in base]
    total = sum(workload.weight for workload in scenario.workloads)
    best = []
    for w, workload in enumerate(scenario.workloads):
        full = FULL_POINTS * workload.weight * len(scenario.workloads) / total
        known = [max((_rate(each, w, k) for each in others), default=0.0) for k in range(len(workload.kernels))]
        for k, kernel in enumerate(workload.kernels):
            points = entries[0].workloads[w].kernels[k].points
            # Points are relative to the best rate of all: where none of those listed has it, another option does.
            of_all = _rate(entries[0], w, k) * full * kernel.share / points if points else 0.0
            listed = max(_rate(each, w, k) for each in entries)
            known[k] = of_all if of_all > listed * (1 + _ROUNDING) else known[k]
        best.append(known)
    return best


def _rate(entry: Entry, w: int, k: int) -> float:
    """Return how many instances of a kernel an option finishes per second."""
    outcome = entry.workloads[w]
    return outcome.throughput * outcome.makespan / outcome.kernels[k].makespan
