"""The budget and further limits of options: power, room, memory, deadlines, runs per month; how far they are missed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from clue.errors import UsageError
from clue.purchase.accounts import Accounts
from clue.purchase.attempts import Attempt
from clue.purchase.costs import Costs, Electricity
from clue.purchase.scenario import Criterion, Limits, Option, Scenario, most_within
from clue.units import Money, format_number, format_power, format_share, format_size, format_time

#: Tolerance for rounding errors of a figure at its limit, relative.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Miss:
    """A limit that an option misses.

    Attributes:
        limit: The limit, in words.
        got: The option's figure, in words.
        figure: Tells how near it is: the smaller, the nearer to the limit; infinite if unknown.
        bound: Whether that is a lower bound: it suffices to rule the option out.
    """

    limit: str
    got: str
    figure: float
    bound: bool = False

    def __str__(self) -> str:
        return f"{self.limit}, got {self.amount}"

    @property
    def amount(self) -> str:
        """The option's figure, and whether it is a bound."""
        return f"at least {self.got}" if self.bound else self.got


def is_affordable(option: Option, scenario: Scenario) -> bool | None:
    """Tell whether the budget covers an option; ``None`` if that is unknown, because its price is not stated.

    Raises:
        UsageError: If its price and the budget are in different currencies.
    """
    if scenario.budget is None:
        return True
    if option.price is None:
        return None
    if option.price.currency != scenario.budget.currency:
        raise UsageError(
            f"{scenario.name}: price of {option.name} must be in {scenario.budget.currency} like the budget, "
            f"got {option.price}"
        )
    return option.price.amount <= most_within(scenario.budget.amount)


def unpriced_nodes(option: Option) -> list[str]:
    """Return the node types of an option that state no price, if others do: prices of some nodes are no price of it."""
    types = option.machine.node_types()
    lacking = [name for name, node in types.items() if node.price is None]
    return lacking if len(lacking) < len(types) else []


def misses_of(option: Option, limits: Limits, accounts: Accounts) -> Iterator[Miss]:
    """Yield the limits that an option misses, whatever runs on it."""
    if option.costs is None and limits == Limits():
        return
    costs, machine = option.costs or Costs(), option.machine
    hardware = accounts.hardware(option)
    watts = hardware.busy if costs.states_power else None
    units = hardware.rack_units or None
    pue = (costs.electricity or Electricity()).pue
    if costs.cloud is None:  # rented nodes need no room here
        yield from _at_most("power", limits.power, None if watts is None else pue * watts, format_power)
        yield from _at_most("heat", limits.cooling, watts, format_power)
        yield from _at_most("rack units", limits.rack_units, units, lambda number: f"{number:,.6g}")
    yield from _at_most("nodes", limits.nodes, len(machine.nodes), format_number)
    if limits.memory_per_core is not None:
        least = min(math.inf if node.memory is None else node.memory / node.processors for node in machine.nodes)
        limit = f"memory per core must be at least {format_size(limits.memory_per_core)}"
        if any(node.memory is None for node in machine.nodes):
            yield Miss(limit, "none stated", math.inf)
        elif least < limits.memory_per_core:
            yield Miss(limit, format_size(least), -least)
    for licence in costs.licences:
        number = machine.processors if licence.of == "cores" else len(machine.nodes)
        yield from _at_most(f"{licence.of} (licence {licence.name})", licence.steps[-1][0], number, format_number)


def misses_in_use(attempt: Attempt, scenario: Scenario, accounts: Accounts) -> Iterator[Miss]:
    """Yield the limits that an option misses in use; until it is settled, those that it certainly misses."""
    for workload, cell in zip(scenario.workloads, attempt.cells, strict=True):
        if cell.late:
            seconds = min(choice.seconds for choice in cell.possible)
            limit = f"{workload.name}: a run must end within {format_time(workload.deadline)}"
            yield Miss(limit, format_time(seconds), seconds, not cell.settled)
    bound = not attempt.settled
    if accounts.demands:
        capacity = accounts.of(attempt.option).capacity
        what = "share of the time that the runs a month take"
        yield from _at_most(what, capacity, accounts.busy(attempt), lambda share: format_share(share, 1), bound)
    if (most := scenario.limits.total_cost) is not None:
        known = accounts.lacks(attempt.option, Criterion.TOTAL_COST) == ""
        total = accounts.sheet(attempt).total if known else None
        yield from _at_most("total cost", most.amount, total, lambda amount: str(Money(amount, most.currency)), bound)


def _at_most(
    what: str, most: float | None, got: float | None, text: Callable[[float], str], bound: bool = False
) -> Iterator[Miss]:
    if most is not None and got is None:
        yield Miss(f"{what} must be at most {text(most)}", "none stated", math.inf)
    elif most is not None and got is not None and got > most * (1 + _ROUNDING):
        yield Miss(f"{what} must be at most {text(most)}", text(got), got, bound)


def nobody_keeps(missed: Mapping[str, Sequence[Miss]]) -> Iterator[str]:
    """Yield a sentence about each limit that no option meets, with the nearest option as far as that is known.

    Args:
        missed: The missed limits of each option.
    """
    limits = dict.fromkeys(miss.limit for misses in missed.values() for miss in misses)
    for limit in limits:
        found = [(miss.figure, i, option, miss) for i, (option, misses) in enumerate(missed.items())
                 for miss in misses if miss.limit == limit]  # fmt: skip
        if len(found) == len(missed):
            *_, option, miss = min(found, key=itemgetter(0, 1))
            nearest = "may be" if miss.bound else "is"
            yield f"{limit}: none of the options meets it; the nearest {nearest} {option} with {miss.amount}"
