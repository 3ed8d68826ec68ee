"""Scores by a criterion, from known figures or from bounds.

Criteria and their scores:

===============  ================================================================================  ===========
criterion        score                                                                             better
===============  ================================================================================  ===========
points           sum over workloads of 100 · performance / best performance (CLUE paper, Table 3)  higher
makespan         weighted mean over workloads of the time until all instances are done, s          lower
throughput       weighted mean over workloads of instances finished per hour                       higher
cost_per_run     weighted mean over workloads of the cost of a run                                 lower
total_cost       net present cost over the service life                                            lower
energy_per_run   weighted mean over workloads of the energy of a run, kWh                          lower
carbon_per_run   weighted mean over workloads of the carbon dioxide of a run, kg                   lower
waiting          mean time that a job waits in the queue, s                                        lower
slowdown         mean of (waiting + run time) / run time of jobs                                   lower
unused_nodes     mean number of nodes without a job                                                lower
job_throughput   largest number of jobs of the mix per hour                                        higher
ssp              sustained system performance, Tflop/s (:mod:`clue.purchase.sustained`)            higher
ssi              scalable system improvement (the same module)                                     higher
weighted         100 · weighted mean over criteria of figure / best figure, or best / figure       higher
===============  ================================================================================  ===========

Performance is instances finished per second; a workload's points are divided among its components. Weights are
normalised to a mean of 1, so that two equally weighted workloads give at most 100 points each, as in the paper.
Costs, energy and carbon are those of :mod:`clue.purchase.accounts`; if runs a month or jobs are stated, figures per run
are means over these, whatever the weights.

If a makespan gets shorter, no score gets worse, not even in the last bit: so bounds on makespans give bounds on scores.
Points depend on the best performance of all options, which has to be known first. Figures of queues are an exception:
with backfilling a shorter job may make others wait longer. So the bound of an option that is not settled assumes that
jobs do not wait and, for costs with a queue, that the option is unused. Weighted sums are relative to the best figures
of all options, which are therefore all simulated first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from clue.errors import UsageError
from clue.purchase.accounts import Accounts
from clue.purchase.attempts import Attempt, Choice
from clue.purchase.columns import Columns, Doubles, Places
from clue.purchase.costs import Costs
from clue.purchase.limits import Miss, misses_in_use
from clue.purchase.points import FULL_POINTS, points_for
from clue.purchase.queueing import QUEUED, Queues
from clue.purchase.scenario import COSTS, IN_MONEY, Criterion, Option, Scenario
from clue.purchase.sustained import geometric_mean, improvement, rate_per_node
from clue.units import KWH

_SECONDS_PER_HOUR = 3600.0
_TERA = 1e12
_UNITS = {
    Criterion.POINTS: "points",
    Criterion.MAKESPAN: "s",
    Criterion.THROUGHPUT: "runs/h",
    Criterion.COST_PER_RUN: "per run",
    Criterion.TOTAL_COST: "",
    Criterion.ENERGY_PER_RUN: "kWh per run",
    Criterion.CARBON_PER_RUN: "kg per run",
    Criterion.WAITING: "s",
    Criterion.SLOWDOWN: "times the run time",
    Criterion.UNUSED_NODES: "nodes",
    Criterion.JOB_THROUGHPUT: "jobs/h",
    Criterion.SSP: "Tflop/s",
    Criterion.SSI: "times the reference",
    Criterion.WEIGHTED: "points",
}
_HIGHER_IS_BETTER = {
    *(Criterion.POINTS, Criterion.THROUGHPUT, Criterion.JOB_THROUGHPUT),
    *(Criterion.SSP, Criterion.SSI, Criterion.WEIGHTED),
}
#: Criteria by which thousands of options are scored at once.
_BY_COLUMNS = {
    *(Criterion.POINTS, Criterion.MAKESPAN, Criterion.THROUGHPUT),
    *(Criterion.COST_PER_RUN, Criterion.TOTAL_COST),
}
_NOTHING = Costs()


#: Sort key of options: whether a limit is missed, score (less is better), price, index in the scenario.
Key = tuple[bool, float, float, int]


class Scores:
    """The scores of a scenario's options.

    Attributes:
        higher_is_better: Whether a higher score is better.
        best: Highest rate of all options by workload and component, to which points are relative.
        accounts: The costs of options.
        queues: The queues of options.
        parts: The scores by each criterion of a weighted sum.
    """

    def __init__(
        self,
        scenario: Scenario,
        options: Sequence[Option],
        accounts: Accounts | None = None,
        queues: Queues | None = None,
    ) -> None:
        self._scenario = scenario
        self.queues = Queues(scenario) if queues is None else queues
        self.accounts = accounts or Accounts(scenario, self.queues.of)
        self.parts = {
            criterion: Scores(replace(scenario, criterion=criterion), options, self.accounts, self.queues)
            for criterion in (scenario.weighted if scenario.criterion is Criterion.WEIGHTED else ())
        }
        self._best_figures: dict[Criterion, float] = {}
        _check_stated(scenario)
        self.higher_is_better = scenario.criterion in _HIGHER_IS_BETTER
        total = sum(workload.weight for workload in scenario.workloads)
        self._weights = [w.weight * len(scenario.workloads) / total for w in scenario.workloads]
        self.best = [[0.0] * len(workload.components) for workload in scenario.workloads]
        self._is_limited = (
            bool(self.accounts.demands)
            or scenario.limits.total_cost is not None
            or any(workload.deadline < math.inf for workload in scenario.workloads)
            or scenario.queue is not None
        )
        for option in options if scenario.criterion in COSTS else ():
            if lacking := self.accounts.lacks(option, scenario.criterion):
                what = f"must be stated for the criterion {scenario.criterion.value}"
                raise UsageError(f"{scenario.name}: {lacking} of {option.name} {what}")

    @property
    def criterion(self) -> Criterion:
        """The criterion."""
        return self._scenario.criterion

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
        """Return these scores relative to the best rates of some settled options, and of other rates."""
        rates = [*([cell.rates for cell in attempt.cells] for attempt in attempts), *others]
        scores = copy(self)
        scores.best = [[max(each) for each in zip(*of, strict=True)] for of in zip(*rates, strict=True)]
        if self.need_all:
            scores.learn(attempts)
        return scores

    def with_other_options(self) -> Scores:
        """Return these scores for other, short-lived options; queues are known by their jobs, so they stay known."""
        return self._with(Accounts(self._scenario, self.queues.of))

    def _with(self, accounts: Accounts) -> Scores:
        scores = copy(self)
        scores.accounts = accounts
        scores.parts = {criterion: part._with(accounts) for criterion, part in self.parts.items()}
        return scores

    @property
    def need_all(self) -> bool:
        """Whether scores are relative to figures of all options, which have to be simulated first."""
        return bool(self.parts)

    def learn(self, attempts: Sequence[Attempt]) -> None:
        """Collect the best figures by each criterion of a weighted sum from settled options.

        Options that miss a limit do not count, except for the best rates to which points are relative.
        """
        if not self.need_all or not attempts:
            return
        within = [attempt for attempt in attempts if not self.misses(attempt)]
        self.parts = {criterion: part.relative_to(attempts) for criterion, part in self.parts.items()}
        self._best_figures = {
            criterion: (max if part.higher_is_better else min)(map(part.score, within), default=0.0)
            for criterion, part in self.parts.items()
        }

    def leaders(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Return the options with the best known rates and figures, as far as scores are relative to these."""
        found: list[Attempt] = []
        for w, components in enumerate(self.best if self.need_best_rates else ()):
            known = [attempt for attempt in attempts if attempt.cells[w].settled]
            for k in range(len(components) if known else 0):
                rates = [attempt.cells[w].rates[k] for attempt in known]
                found.append(known[rates.index(max(rates))])
        within = [attempt for attempt in attempts if self.parts and not self.misses(attempt)]
        for part in self.parts.values():
            found += part.leaders(attempts)
            found += sorted(within, key=part.score, reverse=part.higher_is_better)[:1]
        return list(dict.fromkeys(found))

    def lacks(self, option: Option) -> str:
        """Return a figure that the criterion, or a part of it, needs and an option does not state, or ``""``."""
        lacking = (self.accounts.lacks(option, criterion) for criterion in self.parts or (self.criterion,))
        return next(filter(None, lacking), "")

    def score(self, attempt: Attempt) -> float:
        """Return an option's score, or a bound that it cannot beat if it is not settled."""
        if self._scenario.criterion is Criterion.WEIGHTED:
            return self._weighted(attempt)
        if self._scenario.criterion in QUEUED:
            best = math.inf if self.higher_is_better else 0.0
            return self.queues.figure(attempt, self._scenario.criterion) if attempt.settled else best
        if self._scenario.criterion in {Criterion.SSP, Criterion.SSI}:
            return self._sustained(attempt)
        if self.need_best_rates:
            return sum(sum(self.points(attempt, w)) for w in range(len(attempt.cells)))
        if self._scenario.criterion is Criterion.TOTAL_COST:
            return self.accounts.figure(attempt, 0, Criterion.TOTAL_COST)
        # A bound may be infinite, which no weight of 0 makes 0.
        figures = [weight * self._figure(attempt, w) for w, weight in enumerate(self._weights) if weight]
        return sum(figures) / len(self._weights)

    def _weighted(self, attempt: Attempt) -> float:
        if not self._best_figures or not attempt.settled:
            return math.inf
        weights = self._scenario.weighted
        shares = [
            weights[criterion] * _share(part.score(attempt), self._best_figures[criterion], part.higher_is_better)
            for criterion, part in self.parts.items()
        ]
        return FULL_POINTS * sum(shares) / sum(weights.values())

    def _sustained(self, attempt: Attempt) -> float:
        """Return SSP or SSI; each workload runs in its chosen split."""
        size = len(attempt.option.machine.nodes)
        figures = [
            (max(self._of_split(w, choice, size) for choice in cell.possible), weight)
            for w, (cell, weight) in enumerate(zip(attempt.cells, self._weights, strict=True))
        ]
        mean = geometric_mean(figures)
        return mean if self._scenario.criterion is Criterion.SSI else size * mean / _TERA

    def _of_split(self, w: int, choice: Choice, size: int) -> float:
        name, nodes = self._scenario.workloads[w].name, len(set(choice.split.placement.nodes))
        if self._scenario.criterion is Criterion.SSP:
            return rate_per_node(self._scenario.operations[name], nodes, choice.makespan)
        system = self._scenario.reference
        assert system is not None
        return improvement(system.workloads[name], system, size, nodes, choice.makespan)

    def by_columns(self, columns: Columns, rows: Places, prices: Doubles | None = None) -> Doubles | None:
        """Return the scores of many options, as :meth:`score` but for rounding, shape (options,).

        Args:
            columns: Figures of cells.
            rows: Rows of the options' cells, shape (options, workloads).
            prices: Prices of options, shape (options,), if they have no other costs.

        Returns:
            ``None`` if options must be scored one by one.
        """
        if self._is_limited or self._scenario.criterion not in _BY_COLUMNS or not len(rows):
            return None
        if prices is None and self._scenario.criterion in IN_MONEY:
            return None
        total = np.zeros(len(rows))
        for w, weight in enumerate(self._weights):
            if not weight:
                continue
            cells = rows[:, w]
            if self._scenario.criterion is Criterion.TOTAL_COST:
                total += weight * (0.0 if prices is None else prices)
            elif self._scenario.criterion is Criterion.COST_PER_RUN:
                runs = columns.throughput[cells] * (self._scenario.service_life * _NOTHING.capacity)
                with np.errstate(all="ignore"):  # a service life may be extremely short
                    total += weight * np.where(runs > 0, (0.0 if prices is None else prices) / runs, np.inf)
            elif self._scenario.criterion is Criterion.MAKESPAN:
                total += weight * columns.makespan[cells]
            elif self._scenario.criterion is Criterion.THROUGHPUT:
                total += weight * (columns.throughput[cells] * _SECONDS_PER_HOUR)
            else:
                total += self._points_by_columns(columns.rates[cells], w)
        return total if self.need_best_rates else total / len(self._weights)

    def _points_by_columns(self, rates: Doubles, w: int) -> Doubles:
        total = np.zeros(len(rates))
        for k, (component, best) in enumerate(zip(self._scenario.workloads[w].components, self.best[w], strict=True)):
            if best > 0:
                total += FULL_POINTS * self._weights[w] * component.share * (np.minimum(rates[:, k], best) / best)
        return total

    def points(self, attempt: Attempt, w: int) -> list[float]:
        """Return the points of the components of a workload, whose sum is at most 100 at average weight."""
        components = self._scenario.workloads[w].components
        full = FULL_POINTS * self._weights[w]
        return [
            points_for(min(rate, best), best, full * component.share)
            for component, rate, best in zip(components, attempt.cells[w].rates, self.best[w], strict=True)
        ]

    def _figure(self, attempt: Attempt, w: int) -> float:
        """Return the term of one workload in a score that is a mean."""
        cell = attempt.cells[w]
        if self._scenario.criterion is Criterion.MAKESPAN:
            return cell.makespan
        if self._scenario.criterion is Criterion.THROUGHPUT:
            return cell.throughput * _SECONDS_PER_HOUR
        figure = self.accounts.figure(attempt, w, self._scenario.criterion)
        return figure / KWH if self._scenario.criterion is Criterion.ENERGY_PER_RUN else figure

    def misses(self, attempt: Attempt) -> list[Miss]:
        """Return the limits that an option misses; until it is settled, those that it certainly misses."""
        if not self._is_limited:
            return []
        return [*misses_in_use(attempt, self._scenario, self.accounts), *self.queues.misses(attempt)]

    def key(self, attempt: Attempt) -> Key:
        """Return the sort key of an option; the smallest is first.

        Options that miss a limit come last; the order is then by score, by price, and by the scenario's order.
        """
        score, price = twelve_digits(self.score(attempt)), attempt.option.price
        return (
            bool(self.misses(attempt)),
            -score if self.higher_is_better else score,
            math.inf if price is None else price.amount,
            attempt.order,
        )


def unit_of(criterion: Criterion, currency: str) -> str:
    """Return the unit of a criterion's figures in words, with money in a currency."""
    return f"{currency} {_UNITS[criterion]}".strip() if criterion in IN_MONEY else _UNITS[criterion]


def _share(figure: float, best: float, higher_is_better: bool) -> float:
    """Return the value of a figure relative to the best: 1 for the best, less for others.

    The figure of an option that misses a limit may be better than the best; its value is 1 as well.
    """
    share, whole = (figure, best) if higher_is_better else (best, figure)
    return 1.0 if whole in {share, 0.0} else min(1.0, share / whole)


def _check_stated(scenario: Scenario) -> None:
    """Check that the scenario states everything that its criteria need.

    Raises:
        UsageError: If it does not.
    """
    criterion = scenario.criterion
    lacking: Iterable[str] = ()
    if criterion in QUEUED and scenario.queue is None:
        lacking = ["jobs"]
    elif criterion is Criterion.SSP:
        lacking = (f"operations of {each.name}" for each in scenario.workloads if each.name not in scenario.operations)
    elif criterion is Criterion.SSI:
        known = scenario.reference.workloads if scenario.reference is not None else {}
        lacking = (f"reference of {each.name}" for each in scenario.workloads if each.name not in known)
    elif criterion is Criterion.WEIGHTED and not scenario.weighted:
        lacking = ["weights of criteria"]
    for what in lacking:
        raise UsageError(f"{scenario.name}: {what} must be stated for the criterion {criterion.value}")


def twelve_digits(score: float) -> float:
    """Return a score rounded to twelve digits: scores that differ only by rounding errors are ties."""
    return float(f"{score:.12g}")
