"""The ranking with some of its options replaced, for example by slightly different machines.

A few options are ordered again, with each workload in the split that is then best. All other options are unchanged:
only their best rates matter, to which points are relative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from clue.predict.predictor import Predictor
from clue.progress import Progress
from clue.purchase.attempts import Attempt, attempts_on, predicted
from clue.purchase.limits import is_affordable, misses_of
from clue.purchase.outcome import Entry, Ranking
from clue.purchase.points import FULL_POINTS
from clue.purchase.scenario import Option, Scenario
from clue.purchase.scores import Scores

#: Options with their scores, the best first, without those that deadlock, miss a limit or cost more than the budget.
Order = Sequence[tuple[str, float]]
#: Relative difference below which two rates are equal.
_ROUNDING = 1e-9


def what_if(  # noqa: PLR0917 - the ranking, and its variants
    scenario: Scenario,
    ranking: Ranking,
    tried: Sequence[Option],
    variants: Sequence[Sequence[Option]],
    predictor: Predictor,
    progress: Progress,
) -> list[Order]:
    """Order options with some of them replaced.

    Args:
        scenario: The comparison.
        ranking: Its ranking.
        tried: The options to order.
        variants: For each order, the replacements of the options with the same names.
        predictor: Predicts applications.
        progress: Called with the progress.

    Returns:
        The order of each variant.
    """
    places = {option.name: i for i, option in enumerate(tried)}
    every = [*tried, *(option for variant in variants for option in variant)]
    attempts = [
        replace(attempt, order=places[attempt.option.name])
        for attempt in attempts_on(every, scenario, predictor, progress)
    ]
    with predictor.at_work():
        _settle(attempts, predictor, progress)
    base, changed = attempts[: len(tried)], iter(attempts[len(tried) :])
    scores = Scores(scenario, tried)
    others = _best_of_others(scenario, ranking, places)
    return [_order([*base, *(next(changed) for _ in variant)], scenario, scores, others) for variant in variants]


def _order(attempts: Sequence[Attempt], scenario: Scenario, scores: Scores, others: Sequence[Sequence[float]]) -> Order:
    """Order options, without those that cannot be bought or miss a limit; of several with one name the last counts."""
    now = {attempt.option.name: attempt for attempt in attempts}
    able = [
        attempt
        for attempt in now.values()
        if attempt.cells and not _deadlocks(attempt) and _can_be_bought(attempt.option, scenario, scores)
    ]
    relative = scores.relative_to(able, [others])
    within = [attempt for attempt in able if not relative.misses(attempt)]
    return [(attempt.option.name, relative.score(attempt)) for attempt in sorted(within, key=relative.key)]


def _can_be_bought(option: Option, scenario: Scenario, scores: Scores) -> bool:
    """Tell whether the budget covers an option, and it keeps all limits that do not depend on its use."""
    return bool(is_affordable(option, scenario)) and not any(misses_of(option, scenario.limits, scores.accounts))


def _settle(attempts: Sequence[Attempt], predictor: Predictor, progress: Progress) -> None:
    """Predict options until their chosen splits are known, or one of these deadlocks."""
    while left := [each for each in attempts if not each.settled and not _deadlocks(each)]:
        runs = list(dict.fromkeys(cell.next_run() for each in left for cell in each.every if not cell.settled))
        progress("changing parameters", 0, len(runs))
        for done, _ in enumerate(predicted(runs, predictor, may_deadlock=True), start=1):
            progress("changing parameters", done, len(runs))


def _deadlocks(attempt: Attempt) -> bool:
    runs = (choice.run for cell in attempt.cells for choice in cell.choices)
    return any(run.known and math.inf in run.seconds for run in runs)


# --- the best rates, to which points are relative ---


def _best_of_others(scenario: Scenario, ranking: Ranking, tried: Mapping[str, int]) -> list[list[float]]:
    """Return the best known rate of each component on the options that are not tried."""
    entries = [each for each in ranking.entries if each.workloads]
    others = [each for each in entries if each.option not in tried]
    total = sum(workload.weight for workload in scenario.workloads)
    best = []
    for w, workload in enumerate(scenario.workloads):
        full = FULL_POINTS * workload.weight * len(scenario.workloads) / total
        known = [max((_rate(each, w, k) for each in others), default=0.0) for k in range(len(workload.components))]
        for k, component in enumerate(workload.components):
            points = entries[0].workloads[w].components[k].points
            # Points are relative to the best rate of all: if no listed option has it, another option does.
            of_all = _rate(entries[0], w, k) * full * component.share / points if points else 0.0
            listed = max(_rate(each, w, k) for each in entries)
            known[k] = of_all if of_all > listed * (1 + _ROUNDING) else known[k]
        best.append(known)
    return best


def _rate(entry: Entry, w: int, k: int) -> float:
    """Return the number of instances of a component that an option finishes per second."""
    outcome = entry.workloads[w]
    return outcome.throughput * outcome.makespan / outcome.components[k].makespan
