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

from collections.abc import Sequence
from dataclasses import replace

from clue.errors import UsageError
from clue.purchase.outcome import Entry, Ranking, WorkloadOutcome
from clue.purchase.points import FULL_POINTS, award_points
from clue.purchase.scenario import Criterion, Option, Scenario
from clue.purchase.trials import Progress, TraceSource, Trial, try_options

_SECONDS_PER_HOUR = 3600.0
_UNITS = {
    Criterion.POINTS: "points",
    Criterion.MAKESPAN: "s",
    Criterion.THROUGHPUT: "runs/h",
    Criterion.COST_PER_RUN: "per run",
}
_HIGHER_IS_BETTER = {Criterion.POINTS, Criterion.THROUGHPUT}


def _silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""


def rank_options(
    scenario: Scenario, traces: TraceSource, progress: Progress = _silent, *, workers: int = 1, thorough: bool = False
) -> Ranking:
    """Simulate all workloads on all affordable options and put these in order.

    Args:
        scenario: What is compared.
        traces: Where traces come from.
        progress: Told about each simulation.
        workers: Processes that simulate options at the same time, where there is enough to do; the figures do not
            depend on it.
        thorough: Whether to simulate splits, too, that computation alone rules out; they show how a program scales.

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
    found = try_options(candidates, scenario, traces, progress, workers=workers, thorough=thorough)
    trials = [found.get(option.name) or Trial(option, affordable=False) for option in scenario.options]
    return _in_order(scenario, trials)


def _is_affordable(option: Option, scenario: Scenario) -> bool:
    if scenario.budget is None or option.price is None:
        return True
    if option.price.currency != scenario.budget.currency:
        raise UsageError(
            f"{scenario.name}: price of {option.name} must be in {scenario.budget.currency} like the budget, "
            f"got {option.price}"
        )
    return option.price.amount <= scenario.budget.amount


def _in_order(scenario: Scenario, trials: Sequence[Trial]) -> Ranking:
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


def _warnings(scenario: Scenario, trials: Sequence[Trial]) -> tuple[str, ...]:
    unpriced = [option.name for option in scenario.options if option.price is None]
    found = list(scenario.notes)
    if scenario.budget is not None and unpriced:
        found.append(f"{', '.join(unpriced)}: no price is stated, so the budget is taken to cover it")
    found += [warning for trial in trials for warning in trial.warnings]
    return tuple(dict.fromkeys(found))


def _entry(trial: Trial, position: int | None, score: float | None) -> Entry:
    reason = trial.reason or ("" if trial.affordable else "costs more than the budget")
    option = trial.option
    return Entry(
        option=option.name,
        machine=option.machine.name,
        price=option.price,
        affordable=trial.affordable,
        position=position,
        score=score,
        reason=reason,
        workloads=trial.workloads,
        tried=trial.tried,
    )


def _weights(scenario: Scenario) -> dict[str, float]:
    """Return weights by workload, with a mean of 1."""
    total = sum(workload.weight for workload in scenario.workloads)
    return {w.name: w.weight * len(scenario.workloads) / total for w in scenario.workloads}


def _with_points(scenario: Scenario, trials: Sequence[Trial]) -> list[Trial]:
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


def _score(scenario: Scenario, trial: Trial) -> float:
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
