"""The figures behind an option's costs, each with a function that multiplies it alone, and their uncertainty.

==============================  ========================================================================================
name                            effect of a factor of 1.1
==============================  ========================================================================================
options.NAME.price              the option costs 10 % more
FILE.price                      options cost 10 % more whose machine has a price as a whole in its file
generate.node_types.KIND.price  parts of generated options cost 10 % more: nodes, processors, memory, networks, switches
node_types.KIND.price           nodes cost 10 % more whose machine states their price, not one of the whole
parts.PART.price, racks.price   each part costs 10 % more
electricity.price, .pue,        the figure is 1.1 times as high
  .carbon
licences.NAME.steps             all its prices are 1.1 times as high
staff, hosting, support         the yearly cost is 1.1 times as high
cloud.price, .upfront           the price is 1.1 times as high
cloud.storage, .egress          the monthly cost is 1.1 times as high
utilisation, availability       the share is 1.1 times as high, at most 1
residual                        the share is 1.1 times as high, at most 1
==============================  ========================================================================================

Figures with the same name and value are one figure: if several options have it, it changes in all of them at once, and
a sample draws it once. Prices may be uncertain (``4200 EUR ± 5 %``): log-normal with the stated median and relative
standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from clue.purchase.costs import Costs, Licence, Stated, hardware_of
from clue.purchase.scenario import IN_MONEY, Criterion, Option, Scenario
from clue.uncertainty import TAIL, Sample
from clue.uncertainty.noise import log_deviation
from clue.units import Money

#: Criteria that depend on power.
_POWER = {Criterion.ENERGY_PER_RUN, Criterion.CARBON_PER_RUN}
#: Further figures on which energy or carbon of a run depend.
_OF_POWER = ("electricity.pue", "electricity.carbon", "utilisation", "availability")
_SHARES = ("utilisation", "availability", "residual")
_Change = Callable[[Costs, float], Costs]


def figures_of(option: Option) -> dict[str, Stated]:
    """Return the figures of an option's costs by name, without those that are 0, which no factor changes."""
    costs = option.costs or Costs()
    of_price = {each.name: each for each in _of_price(option) if each.value}
    return of_price | {
        name: Stated(name, value, costs.deviations.get(name, 0.0)) for name, value, _ in _of_costs(costs) if value
    }


def figures_for(criterion: Criterion, option: Option) -> dict[str, Stated]:
    """Return the figures of an option's costs that a criterion may depend on, by name."""
    if criterion in IN_MONEY:
        return {name: each for name, each in figures_of(option).items() if name != "electricity.carbon"}
    if criterion in _POWER:
        return {name: each for name, each in figures_of(option).items() if name in _OF_POWER}
    return {}


def figures_in(scenario: Scenario, option: Option) -> dict[str, Stated]:
    """Return the figures of an option's costs on which its place may depend: by criterion, budget and limits."""
    limits = scenario.limits
    criteria = {scenario.criterion, *scenario.weighted}
    if limits.total_cost is not None:
        criteria.add(Criterion.TOTAL_COST)
    names = {name for criterion in criteria for name in figures_for(criterion, option)}
    if scenario.budget is not None:
        parts = () if option.costs is None else option.costs.parts
        names |= {each.name for each in _of_price(option)} | {f"parts.{part.name}.price" for part in parts}
        names.add("racks.price")
    if limits.power is not None:
        names.add("electricity.pue")
    if any(workload.demand is not None for workload in scenario.workloads):
        names |= {"utilisation", "availability"}
    return {name: each for name, each in figures_of(option).items() if name in names}


def with_factors(option: Option, factors: Mapping[str, float]) -> Option:
    """Return an option with some of its figures multiplied.

    Args:
        option: The option.
        factors: Factor of each figure by name; names that the option does not have are ignored.
    """
    stated = tuple(replace(each, value=each.value * factors.get(each.name, 1.0)) for each in _of_price(option))
    costs = option.costs
    if costs is not None:
        for name, _, change in list(_of_costs(costs)):
            if name in factors:
                costs = change(costs, factors[name])
    price = option.price
    if price is not None:
        parts = 0.0 if costs is None else hardware_of(costs, option.nodes).price
        price = Money(sum(each.value * each.number for each in stated) + parts, price.currency)
    return replace(option, price=price, costs=costs, stated=stated)


# --- uncertainty ---


def is_uncertain(option: Option) -> bool:
    """Tell whether any of an option's prices is uncertain."""
    return bool(option.costs is not None and option.costs.deviations) or any(each.deviation for each in option.stated)


def drawn(option: Option, sample: Sample) -> Option:
    """Return an option with its uncertain prices drawn for a sample."""
    if not is_uncertain(option):
        return option
    uncertain = (each for each in figures_of(option).values() if each.deviation)
    draws = {each.name: sample.multiplier(each.deviation, "price", each.name, each.value) for each in uncertain}
    return with_factors(option, draws)


def at_best(option: Option) -> Option:
    """Return an option with all its uncertain prices at the lower end of their intervals."""
    if not is_uncertain(option):
        return option
    uncertain = (each for each in figures_of(option).values() if each.deviation)
    return with_factors(option, {each.name: math.exp(-TAIL * log_deviation(each.deviation)) for each in uncertain})


# --- figures ---


def _of_price(option: Option) -> tuple[Stated, ...]:
    """Return the figures whose sum is the price, besides the prices in the costs."""
    if option.stated or option.price is None:
        return option.stated
    parts = 0.0 if option.costs is None else hardware_of(option.costs, option.nodes).price
    return (Stated(f"options.{option.name}.price", option.price.amount - parts),)


def _of_costs(costs: Costs) -> Iterator[tuple[str, float, _Change]]:
    """Yield the figures of costs: name, value, and a function that multiplies it."""
    for part in costs.parts:
        yield f"parts.{part.name}.price", part.price, _part(part.name)
    if costs.racks is not None:
        yield "racks.price", costs.racks.price, _racks
    if costs.electricity is not None:
        for key in ("price", "pue", "carbon"):
            yield f"electricity.{key}", getattr(costs.electricity, key) or 0.0, _electricity(key)
    for licence in costs.licences:
        yield f"licences.{licence.name}.steps", licence.steps[-1][1], _licence(licence.name)
    for name, yearly in costs.yearly.items():
        yield name, yearly, _yearly(name)
    if costs.cloud is not None:
        for key in ("price", "upfront", "storage", "egress"):
            yield f"cloud.{key}", getattr(costs.cloud, key), _cloud(key)
    for key in _SHARES:
        yield key, getattr(costs, key), _share(key)


def _part(name: str) -> _Change:
    def change(costs: Costs, factor: float) -> Costs:
        parts = (replace(each, price=each.price * factor) if each.name == name else each for each in costs.parts)
        return replace(costs, parts=tuple(parts))

    return change


def _racks(costs: Costs, factor: float) -> Costs:
    racks = costs.racks
    return costs if racks is None else replace(costs, racks=replace(racks, price=racks.price * factor))


def _electricity(key: str) -> _Change:
    def change(costs: Costs, factor: float) -> Costs:
        of = costs.electricity
        if of is None:
            return costs
        if key == "pue":  # a site draws at least the power of its parts
            return replace(costs, electricity=replace(of, pue=max(1.0, of.pue * factor)))
        if key == "carbon":
            return replace(costs, electricity=replace(of, carbon=(of.carbon or 0.0) * factor))
        return replace(costs, electricity=replace(of, price=(of.price or 0.0) * factor))

    return change


def _licence(name: str) -> _Change:
    def change(costs: Costs, factor: float) -> Costs:
        def dearer(licence: Licence) -> Licence:
            return replace(licence, steps=tuple((number, price * factor) for number, price in licence.steps))

        return replace(costs, licences=tuple(dearer(each) if each.name == name else each for each in costs.licences))

    return change


def _yearly(name: str) -> _Change:
    return lambda costs, factor: replace(costs, yearly={**costs.yearly, name: costs.yearly[name] * factor})


def _cloud(key: str) -> _Change:
    def change(costs: Costs, factor: float) -> Costs:
        cloud, scaled = costs.cloud, {"price": 1.0, "upfront": 1.0, "storage": 1.0, "egress": 1.0, key: factor}
        if cloud is None:
            return costs
        return replace(
            costs,
            cloud=replace(
                cloud,
                price=cloud.price * scaled["price"],
                upfront=cloud.upfront * scaled["upfront"],
                storage=cloud.storage * scaled["storage"],
                egress=cloud.egress * scaled["egress"],
            ),
        )

    return change


def _share(key: str) -> _Change:
    def change(costs: Costs, factor: float) -> Costs:
        shares: dict[str, Any] = {each: getattr(costs, each) for each in _SHARES}
        shares[key] = min(1.0, shares[key] * factor)
        return replace(costs, **shares)

    return change
