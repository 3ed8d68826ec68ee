"""What options cost over their life, by what is known of their runs.

Where runs a month are stated, they are what an option is used for: with θ the runs per second of a workload and d those
that are wanted, it is busy for the share Σ d / θ of its life. Else it is busy for as long as it may be. A run costs its
share, by time, of what all runs cost together, and what a cloud bills for it alone.

Cost, energy and carbon of a run grow with its makespan, or stay; so does the cost of all runs that are wanted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from clue.purchase.attempts import Attempt, Cell
from clue.purchase.costs import Account, Costs, Hardware, Life, Sheet, account_of, hardware_of
from clue.purchase.outcome import OptionCost, RunCost
from clue.purchase.scenario import Criterion, Option, Scenario
from clue.units import YEAR

#: Of a longer life it is not told what is paid year by year.
MOST_YEARS = 50
_NOTHING = Costs()


class Accounts:
    """The accounts of a scenario's options."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._known: dict[int, Account] = {}
        self._options: list[Option] = []  # keeps alive what is known by identity
        self._hardware: dict[tuple[int, int], Hardware] = {}
        demands = [workload.demand for workload in scenario.workloads]
        #: Runs per second of each workload that are wanted, where they are stated.
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
        """Return what the parts of an option amount to; generated ones on other networks have the same."""
        costs = option.costs or _NOTHING
        if option.built is None:
            return hardware_of(costs, option.nodes)
        key = (id(costs), id(option.built.nodes))
        if key not in self._hardware:
            self._options.append(option)
            self._hardware[key] = hardware_of(costs, option.nodes)
        return self._hardware[key]

    def lacks(self, option: Option, criterion: Criterion) -> str:
        """Return what is not stated of an option that a criterion needs, or ``""``."""
        if criterion in {Criterion.COST_PER_RUN, Criterion.TOTAL_COST}:
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
        """Return the share of its life for which an option is busy; of one that is not settled, no more."""
        if not self.demands:
            return self.of(attempt.option).capacity
        return sum(d / cell.throughput for d, cell in zip(self.demands, attempt.cells, strict=True))

    def sheet(self, attempt: Attempt) -> Sheet:
        """Return what an option costs over its life, as it is used."""
        return self.of(attempt.option).sheet(*self._use(attempt))

    def _use(self, attempt: Attempt) -> tuple[float, float]:
        """Return the shares of its life for which an option is busy, and billed."""
        account, busy = self.of(attempt.option), self.busy(attempt)
        if not self.demands or not account.per_billed:
            return busy, busy
        return busy, sum(d * self.billed(attempt, c) for d, c in zip(self.demands, attempt.cells, strict=True))

    def billed(self, attempt: Attempt, cell: Cell) -> float:
        """Return the seconds that are billed for a run of a workload: the whole campaign's by its instances."""
        account = self.of(attempt.option)
        return min(account.billed(choice.makespan) / choice.instances for choice in cell.possible)

    # --- criteria ---

    def figure(self, attempt: Attempt, w: int, criterion: Criterion) -> float:
        """Return an option's figure by a criterion of costs: of a run of one workload, or of any that is wanted."""
        if criterion is Criterion.TOTAL_COST:
            return self.sheet(attempt).total
        if criterion is Criterion.COST_PER_RUN:
            return self._of_any(self.sheet(attempt).total) if self.demands else self.cost_of_run(attempt, w)
        account = self.of(attempt.option)
        factor = account.carbon or 0.0 if criterion is Criterion.CARBON_PER_RUN else 1.0
        if self.demands:
            return factor * self._of_any(account.energy(self.busy(attempt)))
        return factor * self.energy_of_run(attempt, w)

    def _of_any(self, total: float) -> float:
        return total / (sum(self.demands) * self._scenario.service_life)

    def cost_of_run(self, attempt: Attempt, w: int) -> float:
        """Return what a run of a workload costs."""
        account, cell = self.of(attempt.option), attempt.cells[w]
        return account.cost_of_run(self.busy(attempt), cell.throughput, self.billed(attempt, cell))

    def energy_of_run(self, attempt: Attempt, w: int) -> float:
        """Return the joules of a run of a workload."""
        return self.of(attempt.option).energy_of_run(self.busy(attempt), attempt.cells[w].throughput)

    # --- what is told ---

    def told(self, attempt: Attempt) -> OptionCost | None:
        """Return what an option costs, for a reader, if its costs are stated."""
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
        """Yield years and what is paid up to their end."""
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
