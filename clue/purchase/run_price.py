"""The price of a run in each split, where a cloud bills begun quanta: the fastest split need not be the cheapest.

Of a workload that fills the machine, four runs in 61 min are more a second than three in 50 min; billed by the hour,
the four cost two hours and the three one hour. All other costs of a run fall as its throughput rises.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass

from clue.purchase.costs import Tariff, account_of, hardware_of
from clue.purchase.costs.figures import begun
from clue.purchase.scenario import IN_MONEY, Criterion, Option, Scenario

#: Tolerance for rounding errors of the least rate, relative.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class RunPrice:
    """The price of a run, as far as it depends on the split.

    Attributes:
        per_busy: Cost of a second for which runs keep the option busy.
        per_billed: Cost of a second that is billed.
        quantum: Billing quantum, seconds.
        least_rate: Least number of runs per second at which the option does all required ones.
    """

    per_busy: float
    per_billed: float
    quantum: float
    least_rate: float = 0.0

    def of(self, makespan: float, instances: int) -> float:
        """Return the price of each of some instances that take this time together, seconds; it grows with the time."""
        billed = begun(makespan / self.quantum) * self.quantum if makespan < math.inf else math.inf
        return (self.per_busy * makespan + self.per_billed * billed) / instances


def price_that_decides(option: Option, scenario: Scenario) -> RunPrice | None:
    """Return the price by which the splits of an option are chosen; ``None``: throughput decides.

    Runs a month of several workloads share the option's time, so that the cheapest splits may not leave enough of it:
    there the splits with the highest throughput are used.
    """
    is_alone = len(scenario.workloads) == 1 or scenario.workloads[0].demand is None
    return price_of_runs(option, scenario, {scenario.criterion}) if is_alone else None


def price_of_runs(option: Option, scenario: Scenario, criteria: Set[Criterion]) -> RunPrice | None:
    """Return the price of an option's runs; ``None``: by these criteria, the fastest splits are the cheapest ones."""
    cloud = None if option.costs is None else option.costs.cloud
    if option.costs is None or cloud is None or not cloud.quantum or cloud.tariff is Tariff.RESERVED:
        return None
    demand, machine = scenario.workloads[0].demand, option.machine
    # Without required runs, quanta count in the cost of a run only; of equal numbers of instances, the fastest is best.
    counts = criteria & ({Criterion.COST_PER_RUN} if demand is None else IN_MONEY)
    if not counts or scenario.queue is not None or all(each.instances is not None for each in scenario.workloads):
        return None
    price = 0.0 if option.price is None else option.price.amount
    hardware = hardware_of(option.costs, option.nodes)
    try:
        account = account_of(option.costs, price, hardware, len(machine.nodes), machine.processors, scenario.life)
    except ValueError:  # no licence covers it, so it has no position
        return None
    seconds, capacity = account.life.seconds, account.capacity
    if not capacity:
        return None
    busy = account.sheet(capacity, 0.0).total / capacity if demand is None else sum(account.per_busy.values())
    return RunPrice(
        busy / seconds,
        sum(account.per_billed.values()) / seconds,
        cloud.quantum,
        0.0 if demand is None else demand / (capacity * (1 + _ROUNDING)),
    )
