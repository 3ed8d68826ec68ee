"""Scores by a criterion, of what is known and of what is only bounded.

Criteria, and how scores are read:

===============  ================================================================================  ===========
criterion        score                                                                             better
===============  ================================================================================  ===========
points           sum over workloads of 100 · performance / best performance (CLUE paper, Table 3)  higher
makespan         weighted mean over workloads of the time until all instances are done, s          lower
throughput       weighted mean over workloads of instances finished per hour                       higher
cost_per_run     weighted mean over workloads of what a run costs                                  lower
total_cost       net present cost over the service life                                            lower
energy_per_run   weighted mean over workloads of the energy of a run, kWh                          lower
carbon_per_run   weighted mean over workloads of the carbon dioxide of a run, kg                   lower
===============  ================================================================================  ===========

Performance is instances finished per second; a workload's points are shared out to its components. Weights are
normalised to a mean of 1, so that two equally weighted workloads give at most 100 points each, as in the paper.
Costs, energy and carbon are those of :mod:`clue.purchase.accounts`; where runs a month are stated, of a run means of
those, whatever the weights.

Every score gets better, or stays, where a makespan gets shorter, to the last bit: so bounds on makespans give bounds
on scores. Points depend on the best performance of all options, which has to be known first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy

from clue.errors import UsageError
from clue.purchase.accounts import Accounts
from clue.purchase.attempts import Attempt
from clue.purchase.limits import Miss, misses_in_use
from clue.purchase.points import FULL_POINTS, points_for
from clue.purchase.scenario import Criterion, Option, Scenario

_SECONDS_PER_HOUR = 3600.0
_JOULES_PER_KWH = 3.6e6
_UNITS = {
    Criterion.POINTS: "points",
    Criterion.MAKESPAN: "s",
    Criterion.THROUGHPUT: "runs/h",
    Criterion.COST_PER_RUN: "per run",
    Criterion.TOTAL_COST: "",
    Criterion.ENERGY_PER_RUN: "kWh per run",
    Criterion.CARBON_PER_RUN: "kg per run",
}
_HIGHER_IS_BETTER = {Criterion.POINTS, Criterion.THROUGHPUT}
_IN_MONEY = {Criterion.COST_PER_RUN, Criterion.TOTAL_COST}


class Scores:
    """How the options of a scenario are scored.

    Attributes:
        higher_is_better: How scores are read.
        best: By workload and component the highest rate of all options; points are relative to it.
        accounts: What options cost.
    """

    def __init__(self, scenario: Scenario, options: Sequence[Option]) -> None:
        self._scenario = scenario
        self.higher_is_better = scenario.criterion in _HIGHER_IS_BETTER
        total = sum(workload.weight for workload in scenario.workloads)
        self._weights = [w.weight * len(scenario.workloads) / total for w in scenario.workloads]
        self.best = [[0.0] * len(workload.components) for workload in scenario.workloads]
        self.accounts = Accounts(scenario)
        self._is_limited = (
            bool(self.accounts.demands)
            or scenario.limits.total_cost is not None
            or any(workload.deadline < math.inf for workload in scenario.workloads)
        )
        for option in options:
            if lacking := self.accounts.lacks(option, scenario.criterion):
                what = f"must be stated for the criterion {scenario.criterion.value}"
                raise UsageError(f"{scenario.name}: {lacking} of {option.name} {what}")

    @property
    def unit(self) -> str:
        """Unit of the scores in words."""
        prices = [self._scenario.budget, *(option.price for option in self._scenario.options)]
        currency = next((price.currency for price in prices if price is not None), "")
        return unit_of(self._scenario.criterion, currency)

    @property
    def need_best_rates(self) -> bool:
        """Whether scores are relative to the best rates."""
        return self._scenario.criterion is Criterion.POINTS

    def relative_to(self, attempts: Sequence[Attempt], others: Sequence[Sequence[Sequence[float]]] = ()) -> Scores:
        """Return these scores with the best rates of some options that are settled, and of others that have these."""
        rates = [*([cell.rates for cell in attempt.cells] for attempt in attempts), *others]
        scores = copy(self)
        scores.best = [[max(each) for each in zip(*of, strict=True)] for of in zip(*rates, strict=True)]
        return scores

    def score(self, attempt: Attempt) -> float:
        """Return an option's score; until it is settled, one that it cannot beat."""
        if self.need_best_rates:
            return sum(sum(self.points(attempt, w)) for w in range(len(attempt.cells)))
        figures = [weight * self._figure(attempt, w) for w, weight in enumerate(self._weights)]
        return sum(figures) / len(figures)

    def points(self, attempt: Attempt, w: int) -> list[float]:
        """Return the points of the components of a workload, which together get at most 100 of average weight."""
        components = self._scenario.workloads[w].components
        full = FULL_POINTS * self._weights[w]
        return [
            points_for(min(rate, best), best, full * component.share)
            for component, rate, best in zip(components, attempt.cells[w].rates, self.best[w], strict=True)
        ]

    def _figure(self, attempt: Attempt, w: int) -> float:
        """Return what one workload contributes to a score that is a mean."""
        cell = attempt.cells[w]
        if self._scenario.criterion is Criterion.MAKESPAN:
            return cell.makespan
        if self._scenario.criterion is Criterion.THROUGHPUT:
            return cell.throughput * _SECONDS_PER_HOUR
        figure = self.accounts.figure(attempt, w, self._scenario.criterion)
        return figure / _JOULES_PER_KWH if self._scenario.criterion is Criterion.ENERGY_PER_RUN else figure

    def misses(self, attempt: Attempt) -> list[Miss]:
        """Return the limits that an option does not keep; until it is settled, those that it cannot keep."""
        return list(misses_in_use(attempt, self._scenario, self.accounts)) if self._is_limited else []

    def key(self, attempt: Attempt) -> tuple[bool, float, float, int]:
        """Return what options are ordered by; the least is first.

        Those that miss a limit come last; then score, then price, then the scenario's order.
        """
        score, price = twelve_digits(self.score(attempt)), attempt.option.price
        return (
            bool(self.misses(attempt)),
            -score if self.higher_is_better else score,
            math.inf if price is None else price.amount,
            attempt.order,
        )


def unit_of(criterion: Criterion, currency: str) -> str:
    """Return the unit of a criterion's figures in words, where money is in a currency."""
    return f"{currency} {_UNITS[criterion]}".strip() if criterion in _IN_MONEY else _UNITS[criterion]


def twelve_digits(score: float) -> float:
    """Return a score without what rounding left of it: scores that are equal but for that are ties."""
    return float(f"{score:.12g}")
