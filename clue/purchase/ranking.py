"""The ranking: every workload on every affordable option in its best split, scored by one criterion.

Criteria, and how scores are read:

===============  ================================================================================  ===========
criterion        score                                                                             better
===============  ================================================================================  ===========
points           sum over workloads of 100 · performance / best performance (CLUE paper, Table 3)  higher
makespan         weighted mean over workloads of the time until all instances are done, s          lower
throughput       weighted mean over workloads of instances finished per hour                       higher
cost_per_run     weighted mean over workloads of price · time per instance / service life          lower
===============  ================================================================================  ===========

Performance is instances finished per second; a workload's points are shared out to its kernels. Weights are
normalised to a mean of 1, so that two equally weighted workloads give at most 100 points each, as in the paper.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context

from clue.errors import UsageError
from clue.kernel import Program as Compiled
from clue.kernel import compile_program, computation_bound, simulate
from clue.machine import Machine
from clue.purchase.outcome import Entry, KernelOutcome, Ranking, WorkloadOutcome
from clue.purchase.points import FULL_POINTS, award_points
from clue.purchase.scenario import Criterion, Option, Program, Scenario, Workload
from clue.purchase.splits import Misfit, Split, allowed_splits
from clue.trace import Trace

#: Gives the trace of a program at a number of ranks; recording it, if need be, is the caller's business.
TraceSource = Callable[[Program, int], Trace]
#: Is told what is being simulated, how many simulations are done, and how many there are (at most).
Progress = Callable[[str, int, int], None]

_SECONDS_PER_HOUR = 3600.0
#: Below so many ops to replay, starting a process takes longer than it saves.
_OPS_WORTH_A_PROCESS = 500_000
_UNITS = {
    Criterion.POINTS: "points",
    Criterion.MAKESPAN: "s",
    Criterion.THROUGHPUT: "runs/h",
    Criterion.COST_PER_RUN: "per run",
}
_HIGHER_IS_BETTER = {Criterion.POINTS, Criterion.THROUGHPUT}


@dataclass(frozen=True, slots=True, eq=False)
class _Recorded:
    """A program ready to replay at one number of ranks."""

    program: Compiled
    memory: tuple[float, ...]


#: Programs ready to replay, by program and number of ranks.
_Library = Mapping[tuple[Program, int], _Recorded]


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """One option's outcomes, or why it has none."""

    option: Option
    affordable: bool
    reason: str = ""
    workloads: tuple[WorkloadOutcome, ...] = ()
    warnings: tuple[str, ...] = ()


def _silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""


def rank_options(scenario: Scenario, traces: TraceSource, progress: Progress = _silent, *, workers: int = 1) -> Ranking:
    """Simulate all workloads on all affordable options and put these in order.

    Args:
        scenario: What is compared.
        traces: Where traces come from.
        progress: Told about each simulation.
        workers: Processes that simulate options at the same time, where there is enough to do; the figures do not
            depend on it.

    Raises:
        UsageError: If no option is affordable, or prices and budget are in different currencies.
        TraceError: If a trace is unusable.
        ReplayError: If a simulation cannot go on.
    """
    affordable = [_is_affordable(option, scenario) for option in scenario.options]
    if not any(affordable):
        cheapest = min((o.price.amount for o in scenario.options if o.price is not None), default=0.0)
        raise UsageError(
            f"{scenario.name}: budget must afford at least one option, got {scenario.budget}: "
            f"the cheapest costs {cheapest:,.0f}"
        )
    candidates = [option for option, can in zip(scenario.options, affordable, strict=True) if can]
    recorded = _record_all(scenario, candidates, traces, progress)
    work = len(candidates) * sum(each.program.ops for each in recorded.values())
    if workers > 1 and len(candidates) > 1 and work > _OPS_WORTH_A_PROCESS:
        found = _try_side_by_side(candidates, scenario, recorded, progress, workers)
    else:
        found = _try_in_turn(candidates, scenario, recorded, progress)
    trials = [found.get(option.name) or _Trial(option, affordable=False) for option in scenario.options]
    return _in_order(scenario, trials)


def _try_in_turn(
    options: Sequence[Option], scenario: Scenario, recorded: _Library, progress: Progress
) -> dict[str, _Trial]:
    total = len(options) * sum(len(workload.ranks) for workload in scenario.workloads)
    done = itertools.count()

    def count(what: str) -> None:
        progress(what, next(done), total)

    return {option.name: _try_option(option, scenario, recorded, count) for option in options}


def _try_side_by_side(
    options: Sequence[Option], scenario: Scenario, recorded: _Library, progress: Progress, workers: int
) -> dict[str, _Trial]:
    # Fresh processes, not forked ones: whoever calls may have threads (a progress display has).
    processes = ProcessPoolExecutor(min(workers, len(options)), get_context("spawn"))
    with processes as executor:
        pending = [executor.submit(_try_option, option, scenario, recorded) for option in options]
        try:
            for i, _ in enumerate(as_completed(pending)):
                progress(f"{len(options)} options on {workers} processes", i, len(options))
            return {trial.option.name: trial for trial in (each.result() for each in pending)}
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def _is_affordable(option: Option, scenario: Scenario) -> bool:
    if scenario.budget is None or option.price is None:
        return True
    if option.price.currency != scenario.budget.currency:
        raise UsageError(
            f"{scenario.name}: price of {option.name} must be in {scenario.budget.currency} like the budget, "
            f"got {option.price}"
        )
    return option.price.amount <= scenario.budget.amount


def _record_all(scenario: Scenario, options: Sequence[Option], traces: TraceSource, progress: Progress) -> _Library:
    """Get the traces that any option has processors for."""
    processors = max(option.machine.processors for option in options)
    wanted = {
        (kernel.program, ranks): f"{workload.name}, {kernel.name}: {ranks} ranks"
        for workload in scenario.workloads
        for kernel in workload.kernels
        for ranks in workload.ranks
        if ranks <= processors * workload.ranks_per_processor
    }
    recorded = {}
    for i, ((program, ranks), what) in enumerate(wanted.items()):
        progress(f"reading {what}", i, len(wanted))
        trace = traces(program, ranks)
        if trace.ranks != ranks:
            raise UsageError(f"{trace.name}: trace must have {ranks} ranks, got {trace.ranks}")
        memory = tuple(float(head.peak_memory) for head in trace.head.rank_heads)
        recorded[program, ranks] = _Recorded(compile_program(trace), memory)
    return recorded


def _try_option(
    option: Option,
    scenario: Scenario,
    recorded: _Library,
    count: Callable[[str], None] = lambda _: None,
) -> _Trial:
    outcomes, warnings = [], []
    for workload in scenario.workloads:
        outcome = _best_outcome(option, workload, recorded, count)
        if isinstance(outcome, str):
            return _Trial(option, affordable=True, reason=f"{workload.name}: {outcome}")
        outcomes.append(outcome)
        warnings += [w for kernel in outcome.kernels for w in kernel.result.warnings]
    return _Trial(option, affordable=True, workloads=tuple(outcomes), warnings=tuple(warnings))


def _best_outcome(
    option: Option,
    workload: Workload,
    recorded: _Library,
    count: Callable[[str], None],
) -> WorkloadOutcome | str:
    """Return the outcome of the fastest allowed split, or why there is none."""
    needs = [_memory(workload, ranks, recorded) for ranks in workload.ranks]
    possible = list(allowed_splits(workload, option.machine, needs))
    splits = [split for split in possible if isinstance(split, Split)]
    if not splits:
        return "; ".join(dict.fromkeys(misfit.reason for misfit in possible if isinstance(misfit, Misfit)))
    limits = {split: _throughput_limit(option.machine, workload, split, recorded) for split in splits}
    best: WorkloadOutcome | None = None
    # The most promising first: what cannot beat the best so far need not be simulated, and the result is the same.
    for split in sorted(splits, key=lambda split: -limits[split]):
        count(f"{option.name}: {workload.name} on {split.ranks} ranks")
        if best is None or limits[split] > best.throughput:
            outcome = _run(option.machine, workload, split, recorded)
            best = outcome if best is None or outcome.throughput > best.throughput else best
    assert best is not None
    return best


def _instances(workload: Workload, split: Split) -> int:
    return split.side_by_side if workload.instances is None else workload.instances


def _throughput_limit(machine: Machine, workload: Workload, split: Split, recorded: _Library) -> float:
    """Return instances per second that a split cannot exceed: computation alone, without any message."""
    least = sum(
        computation_bound(recorded[kernel.program, split.ranks].program, machine, split.placement)
        for kernel in workload.kernels
    )
    return _instances(workload, split) / (least * split.turns) if least else math.inf


def _memory(workload: Workload, ranks: int, recorded: _Library) -> list[float]:
    """Return bytes needed by each rank: as stated, or the largest peak measured over the kernels."""
    if ranks in workload.memory:
        return [workload.memory[ranks]] * ranks
    peaks = [
        recorded[kernel.program, ranks].memory for kernel in workload.kernels if (kernel.program, ranks) in recorded
    ]
    return [max(of_rank) for of_rank in zip(*peaks, strict=True)]


def _run(
    machine: Machine,
    workload: Workload,
    split: Split,
    recorded: _Library,
) -> WorkloadOutcome:
    kernels = []
    for kernel in workload.kernels:
        program = recorded[kernel.program, split.ranks].program
        result = simulate(program, machine, split.placement, instances=split.side_by_side)
        if result.makespan == 0:
            raise UsageError(f"{workload.name}: {kernel.name} must take time on {machine.name}, its makespan is 0")
        kernels.append(KernelOutcome(kernel.name, result.makespan * split.turns, None, result))
    makespan = sum(kernel.makespan for kernel in kernels)
    return WorkloadOutcome(
        workload=workload.name,
        makespan=makespan,
        throughput=_instances(workload, split) / makespan,
        side_by_side=split.side_by_side,
        ranks=split.ranks,
        turns=split.turns,
        idle=split.idle,
        points=None,
        kernels=tuple(kernels),
    )


def _in_order(scenario: Scenario, trials: Sequence[_Trial]) -> Ranking:
    able = [trial for trial in trials if trial.workloads]
    if scenario.criterion is Criterion.POINTS:
        able = _with_points(scenario, able)
    scores = {trial.option.name: _score(scenario, trial) for trial in able}
    higher = scenario.criterion in _HIGHER_IS_BETTER
    able.sort(key=lambda trial: -scores[trial.option.name] if higher else scores[trial.option.name])
    entries: list[Entry] = []
    position = 0
    for place, trial in enumerate(able, start=1):
        score = scores[trial.option.name]
        # Options that cannot be told apart share a position.
        if not entries or entries[-1].score != score:
            position = place
        entries.append(_entry(trial, position, score))
    rest = sorted((t for t in trials if not t.workloads), key=lambda trial: not trial.affordable)
    entries += [_entry(trial, None, None) for trial in rest]
    currency = scenario.budget.currency if scenario.budget else _currency(scenario)
    unit = _UNITS[scenario.criterion]
    return Ranking(
        scenario=scenario.name,
        criterion=scenario.criterion,
        unit=f"{currency} {unit}".strip() if scenario.criterion is Criterion.COST_PER_RUN else unit,
        higher_is_better=higher,
        budget=scenario.budget,
        entries=tuple(entries),
        warnings=_warnings(scenario, trials),
    )


def _currency(scenario: Scenario) -> str:
    return next((option.price.currency for option in scenario.options if option.price), "")


def _warnings(scenario: Scenario, trials: Sequence[_Trial]) -> tuple[str, ...]:
    unpriced = [option.name for option in scenario.options if option.price is None]
    found = list(scenario.notes)
    if scenario.budget is not None and unpriced:
        found.append(f"{', '.join(unpriced)}: no price is stated, so the budget is taken to cover it")
    found += [warning for trial in trials for warning in trial.warnings]
    return tuple(dict.fromkeys(found))


def _entry(trial: _Trial, position: int | None, score: float | None) -> Entry:
    reason = trial.reason or ("" if trial.affordable else "costs more than the budget")
    option = trial.option
    return Entry(
        option.name,
        option.machine.name,
        option.price,
        trial.affordable,
        position,
        score,
        reason,
        trial.workloads,
    )


def _weights(scenario: Scenario) -> dict[str, float]:
    """Return weights by workload, with a mean of 1."""
    total = sum(workload.weight for workload in scenario.workloads)
    return {w.name: w.weight * len(scenario.workloads) / total for w in scenario.workloads}


def _with_points(scenario: Scenario, trials: Sequence[_Trial]) -> list[_Trial]:
    weights = _weights(scenario)
    table: dict[tuple[str, str], dict[str, float]] = {}
    for w, workload in enumerate(scenario.workloads):
        for k, kernel in enumerate(workload.kernels):
            rates = {t.option.name: _rate(t.workloads[w], k) for t in trials}
            most = FULL_POINTS * weights[workload.name] * kernel.share
            table[workload.name, kernel.name] = award_points(rates, most)
    return [
        replace(trial, workloads=tuple(_pointed(outcome, trial.option.name, table) for outcome in trial.workloads))
        for trial in trials
    ]


def _rate(outcome: WorkloadOutcome, kernel: int) -> float:
    """Return instances of one kernel finished per second."""
    instances = outcome.throughput * outcome.makespan
    return instances / outcome.kernels[kernel].makespan


def _pointed(outcome: WorkloadOutcome, option: str, table: dict[tuple[str, str], dict[str, float]]) -> WorkloadOutcome:
    kernels = tuple(replace(kernel, points=table[outcome.workload, kernel.name][option]) for kernel in outcome.kernels)
    return replace(outcome, kernels=kernels, points=sum(kernel.points or 0.0 for kernel in kernels))


def _score(scenario: Scenario, trial: _Trial) -> float:
    if scenario.criterion is Criterion.POINTS:
        return sum(outcome.points or 0.0 for outcome in trial.workloads)
    weights = _weights(scenario)
    figures = [weights[o.workload] * _figure(scenario, trial.option, o) for o in trial.workloads]
    return sum(figures) / len(figures)


def _figure(scenario: Scenario, option: Option, outcome: WorkloadOutcome) -> float:
    """Return what one workload contributes to a score that is a mean."""
    if scenario.criterion is Criterion.MAKESPAN:
        return outcome.makespan
    if scenario.criterion is Criterion.THROUGHPUT:
        return outcome.throughput * _SECONDS_PER_HOUR
    return _cost(scenario, option, outcome)


def _cost(scenario: Scenario, option: Option, outcome: WorkloadOutcome) -> float:
    if option.price is None:
        raise UsageError(f"{scenario.name}: price of {option.name} must be stated for the criterion cost_per_run")
    return option.price.amount / (outcome.throughput * scenario.service_life)
