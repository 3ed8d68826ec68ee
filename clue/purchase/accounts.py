"""Costs of options over their service life, from the predictions of their runs.

The use of an option follows from the first of these that is stated:

1. Jobs and their queue: the option is busy for the share of its nodes' time with a job on them, in the simulation of
   its queue; if the queue grows without bound, for the maximum that the policy allows. The runs fill that time.
2. Runs a month: with θ the runs per second of a workload and d the required ones, it is busy for the share Σ d / θ of
   its life.
3. Otherwise its capacity: it is busy for as long as availability and utilisation allow.

A run costs its share of the costs of all runs, by time (with a queue by the nodes' time), and the amount that a cloud
bills for it alone: with a queue for its own nodes, otherwise for all of them.

Cost, energy and carbon of a run never fall as its makespan grows; nor does the cost of all required runs. With a queue,
the costs of an option are bounded by those of an unused one until it is settled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from clue.purchase.attempts import Attempt, Cell
from clue.purchase.costs import Account, Costs, Hardware, Life, Sheet, account_of, hardware_of
from clue.purchase.outcome import OptionCost, RunCost
from clue.purchase.queue.arrivals import jobs_of_kinds, others_of, varied
from clue.purchase.queue.replications import QueueOutcome
from clue.purchase.scenario import IN_MONEY, Criterion, Option, Scenario
from clue.units import YEAR

#: Longest service life, years, for which payments are listed by year.
MOST_YEARS = 50
#: Number of quantiles in the mean billed time of runs whose run times vary.
_QUANTILES = 200
_NOTHING = Costs()


@dataclass(frozen=True, slots=True)
class Use:
    """A group of similar runs on an option.

    Attributes:
        workload: Name of their workload; ``""``: none.
        rate: Number of runs per second.
        seconds: Time for which one run keeps the whole option busy.
        billed: Time for which a cloud bills the whole option for one run, seconds.
    """

    workload: str
    rate: float
    seconds: float
    billed: float


class Accounts:
    """The accounts of a scenario's options.

    Args:
        scenario: The comparison.
        queue_of: Returns the queue of a settled option, if jobs are stated.
    """

    def __init__(self, scenario: Scenario, queue_of: Callable[[Attempt], QueueOutcome] | None = None) -> None:
        self._scenario = scenario
        self._queue_of = queue_of
        self._uses: dict[tuple[int, int], tuple[QueueOutcome, list[Use]]] = {}
        self._known: dict[int, Account] = {}
        self._options: list[Option] = []  # keeps alive the options that are looked up by identity
        self._hardware: dict[tuple[int, int], Hardware] = {}
        demands = [workload.demand for workload in scenario.workloads]
        #: Required runs per second of each workload, if stated.
        self.demands = [d for d in demands if d is not None] if None not in demands else []

    def of(self, option: Option) -> Account:
        """Return the account of an option."""
        if id(option) not in self._known:
            self._options.append(option)
            self._known[id(option)] = self._account(option, self._scenario.life)
        return self._known[id(option)]

    def _account(self, option: Option, life: Life) -> Account:
        costs, machine = option.costs or _NOTHING, option.machine
        purchase = option.price.amount if option.price is not None else 0.0
        nodes, cores = len(machine.nodes), machine.processors
        return account_of(costs, purchase, self.hardware(option), nodes, cores, life)

    def hardware(self, option: Option) -> Hardware:
        """Return the totals of an option's parts, which generated options on other networks share."""
        costs = option.costs or _NOTHING
        if option.built is None:
            return hardware_of(costs, option.nodes)
        key = (id(costs), id(option.built.nodes))
        if key not in self._hardware:
            self._options.append(option)
            self._hardware[key] = hardware_of(costs, option.nodes)
        return self._hardware[key]

    def lacks(self, option: Option, criterion: Criterion) -> str:
        """Return the figure of an option that a criterion needs but that is not stated, or ``""``."""
        if criterion in IN_MONEY:
            return "price" if option.price is None else ""
        if criterion not in {Criterion.ENERGY_PER_RUN, Criterion.CARBON_PER_RUN}:
            return ""
        costs = option.costs or _NOTHING
        if not costs.states_power:
            return "power"
        known = costs.electricity is not None and costs.electricity.carbon is not None
        return "" if known or criterion is Criterion.ENERGY_PER_RUN else "carbon of electricity"

    # --- use ---

    def busy(self, attempt: Attempt) -> float:
        """Return the share of its life for which an option is busy, or a lower bound if it is not settled."""
        if self._scenario.queue is not None:
            return sum(use.rate * use.seconds for use in self.uses(attempt))
        if not self.demands:
            return self.of(attempt.option).capacity
        return sum(d / cell.throughput for d, cell in zip(self.demands, attempt.cells, strict=True))

    def capacity(self, attempt: Attempt) -> float:
        """Return the largest share of its life for which runs, or jobs in its queue, can keep a settled option busy."""
        if self._scenario.queue is None or self._queue_of is None:
            return self.of(attempt.option).capacity
        return self._queue_of(attempt).capacity

    def sheet(self, attempt: Attempt) -> Sheet:
        """Return the costs of an option over its life at its utilisation."""
        return self.of(attempt.option).sheet(*self._use(attempt))

    def _use(self, attempt: Attempt) -> tuple[float, float]:
        """Return the share of its life for which an option is busy, and the share for which it is billed."""
        account, busy = self.of(attempt.option), self.busy(attempt)
        if not account.per_billed or (self._scenario.queue is None and not self.demands):
            return busy, busy
        return busy, sum(use.rate * use.billed for use in self.uses(attempt))

    def billed(self, attempt: Attempt, cell: Cell) -> float:
        """Return the billed time per run of a workload, seconds: that of all its instances divided by their number."""
        account = self.of(attempt.option)
        return min(account.billed(choice.makespan) / choice.instances for choice in cell.possible)

    def uses(self, attempt: Attempt) -> list[Use]:
        """Return the runs of an option per second, in the same order on all options.

        With jobs: those of each class on each number of ranks, and those without a class; empty until the option is
        settled. With runs a month: those of each workload. Otherwise each workload gets time by its weight.
        """
        if self._scenario.queue is not None:
            return self._queued(attempt) if attempt.settled else []
        workloads = self._scenario.workloads
        total = sum(workload.weight for workload in workloads)
        rates = self.demands or [
            workload.weight / total * cell.throughput for workload, cell in zip(workloads, attempt.cells, strict=True)
        ]
        return [
            Use(workload.name, rate, 1 / cell.throughput, self.billed(attempt, cell))
            for workload, rate, cell in zip(workloads, rates, attempt.cells, strict=True)
        ]

    def _queued(self, attempt: Attempt) -> list[Use]:
        """Return the runs of a queue, with rates that keep the nodes as busy as in its simulation."""
        assert self._queue_of is not None
        queue = self._queue_of(attempt)
        key = (id(attempt.option), id(queue))
        if key not in self._uses:
            busy = queue.capacity if queue.figures is None else queue.figures.utilisation
            found = list(self._kinds(attempt.option, queue))
            held = sum(use.rate * use.seconds for use in found)
            # The account keeps the option alive, and this dictionary the queue: so their ids stay unique.
            self.of(attempt.option)
            self._uses[key] = queue, [replace(use, rate=use.rate * busy / held) for use in found]
        return self._uses[key][1]

    def _kinds(self, option: Option, queue: QueueOutcome) -> Iterator[Use]:
        """Yield the kinds of jobs, with rates relative to each other."""
        mix, account = self._scenario.queue, self.of(option)
        assert mix is not None
        for of, by_ranks in zip(mix.classes, jobs_of_kinds(mix, queue.takes), strict=True):
            for jobs, taken in by_ranks:
                share = taken.nodes / queue.nodes
                billed = self._mean_billed(account, taken.run, of.variation)
                yield Use(of.workload, jobs, share * taken.run, share * billed)
        others = others_of(mix)
        if others:
            nodes_time = sum(nodes * run for nodes, run in others) / queue.nodes
            billed = sum(nodes * account.billed(run) for nodes, run in others) / queue.nodes
            yield Use("", len(others), nodes_time / len(others), billed / len(others))

    @staticmethod
    def _mean_billed(account: Account, run: float, variation: float) -> float:
        """Return the mean billed time of jobs with a mean run time, seconds."""
        if not account.quantum or not variation:
            return account.billed(run)
        normal = NormalDist()
        times = [varied(variation, normal.inv_cdf((i + 0.5) / _QUANTILES)) for i in range(_QUANTILES)]
        # The quantiles lack the longest times; their mean must be the stated one.
        mean = sum(times) / _QUANTILES
        return sum(account.billed(run * each / mean) for each in times) / _QUANTILES

    # --- criteria ---

    def figure(self, attempt: Attempt, w: int, criterion: Criterion) -> float:
        """Return an option's figure by a criterion of costs, per run of a workload, or per required run of any."""
        if criterion is Criterion.TOTAL_COST:
            return self.sheet(attempt).total
        of_any = bool(self.demands) or self._scenario.queue is not None
        if criterion is Criterion.COST_PER_RUN:
            return self._of_any(attempt, self.sheet(attempt).total) if of_any else self.cost_of_run(attempt, w)
        account = self.of(attempt.option)
        factor = account.carbon or 0.0 if criterion is Criterion.CARBON_PER_RUN else 1.0
        if of_any:
            return factor * self._of_any(attempt, account.energy(self.busy(attempt)))
        return factor * self.energy_of_run(attempt, w)

    def _of_any(self, attempt: Attempt, total: float) -> float:
        """Return a run's share of a total; 0 if the number of runs is not known yet."""
        if self._scenario.queue is not None and not attempt.settled:
            return 0.0
        runs = sum(use.rate for use in self.uses(attempt)) if self._scenario.queue is not None else sum(self.demands)
        return total / (runs * self._scenario.service_life)

    def cost_of_run(self, attempt: Attempt, w: int) -> float:
        """Return the cost of a run of a workload."""
        throughput, billed = self._of_run(attempt, w)
        return self.of(attempt.option).cost_of_run(self.busy(attempt), throughput, billed)

    def energy_of_run(self, attempt: Attempt, w: int) -> float:
        """Return the energy of a run of a workload, joules."""
        return self.of(attempt.option).energy_of_run(self.busy(attempt), self._of_run(attempt, w)[0])

    def _of_run(self, attempt: Attempt, w: int) -> tuple[float, float]:
        """Return the runs of a workload that keep the whole option busy for a second, and the billed time of one.

        A workload without jobs is treated as if it ran alone.
        """
        cell, name = attempt.cells[w], self._scenario.workloads[w].name
        if self._scenario.queue is not None:
            own = [use for use in self.uses(attempt) if use.workload == name and use.rate > 0]
            if own:
                return 1 / _mean(own, [use.seconds for use in own]), _mean(own, [use.billed for use in own])
        return cell.throughput, self.billed(attempt, cell)

    # --- reports ---

    def told(self, attempt: Attempt) -> OptionCost | None:
        """Return the costs of an option for reports, if they are stated."""
        option = attempt.option
        if option.costs is None or option.price is None:
            return None
        account, hardware = self.of(option), self.hardware(option)
        return OptionCost(
            sheet=self.sheet(attempt),
            currency=option.price.currency,
            per_run={each.name: self._run(attempt, w) for w, each in enumerate(self._scenario.workloads)},
            parts=hardware.numbers,
            racks=hardware.racks,
            rack_units=hardware.rack_units,
            power=account.busy if account.states_power else None,
            sources=option.costs.sources,
            by_year=tuple(self._by_year(attempt)),
        )

    def _by_year(self, attempt: Attempt) -> Iterator[tuple[float, float]]:
        """Yield each year, and the payments up to its end."""
        life, whole = self._scenario.life, self.sheet(attempt)
        years = life.seconds / YEAR
        if years > MOST_YEARS:
            return
        for year in range(math.ceil(years)):
            until = self._account(attempt.option, Life(year * YEAR, life.rate))
            sheet = until.sheet(*self._use(attempt))
            yield float(year), sheet.total - sheet.items.get("residual", 0.0)
        yield years, whole.total

    def _run(self, attempt: Attempt, w: int) -> RunCost:
        account = self.of(attempt.option)
        energy = self.energy_of_run(attempt, w) if account.states_power else None
        carbon = None if energy is None or account.carbon is None else energy * account.carbon
        return RunCost(self.cost_of_run(attempt, w), energy, carbon)


def _mean(uses: Sequence[Use], of: Iterable[float]) -> float:
    """Return the mean of a figure over all runs."""
    return sum(use.rate * each for use, each in zip(uses, of, strict=True)) / sum(use.rate for use in uses)
