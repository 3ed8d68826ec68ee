"""The account of an option over its life: fixed costs, and costs that depend on its use.

It is the net present cost. With the life L in years, the discount rate r, and the present value A of 1 paid at the end
of every year and, for a part of a year, at the end of the life:

    A = sum over k = 1 … ⌊L⌋ of (1 + r)^-k, and (L - ⌊L⌋) · (1 + r)^-L

===========  ==================================================================================================
item         present value
===========  ==================================================================================================
purchase     paid at the start: nodes, parts with spares, racks
residual     - share · purchase · (1 + r)^-L
licences     the step that covers the cores or nodes, once, or per year · A
yearly       staff, hosting, support: per year · A
energy       PUE · (idle + busy share · (busy - idle) watts) · 8,760 h · price · A
cloud        nodes · price · billed share · (1 + repeated) · 8,760 h · A; reserved: share 1, plus the upfront payment
storage      per month · 12 · A; likewise egress
===========  ==================================================================================================

The busy share is the part of the life for which runs keep the option busy, the billed share the part for which a cloud
bills them. All costs are linear in both shares, and grow with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from clue.purchase.costs.figures import Cloud, Costs, Electricity, Tariff, begun
from clue.purchase.costs.hardware import Hardware
from clue.units import YEAR

_MONTHS = 12


@dataclass(frozen=True, slots=True)
class Life:
    """The service life of a purchase, and the discount rate.

    Attributes:
        seconds: Its length, seconds.
        rate: Discount rate per year: 0.03 for 3 %.
    """

    seconds: float
    rate: float = 0.0

    @property
    def yearly(self) -> float:
        """Present value of 1 paid each year."""
        return annuity(self.seconds / YEAR, self.rate)

    @property
    def end(self) -> float:
        """Present value of 1 paid at the end."""
        return math.exp(-self.seconds / YEAR * math.log1p(self.rate))


def annuity(years: float, rate: float) -> float:
    """Return the present value of 1 paid at the end of every year, and in proportion for a part of a year."""
    if rate == 0:
        return years
    whole, growth = math.floor(years), math.log1p(rate)
    return -math.expm1(-whole * growth) / rate + (years - whole) * math.exp(-years * growth)


@dataclass(frozen=True, slots=True)
class Sheet:
    """The costs of an option at one utilisation.

    Attributes:
        items: Present value of each item.
        busy: Share of the life for which runs keep it busy.
        energy: Energy over the life with the overhead of the site, joules; ``None``: no power is stated.
        carbon: Carbon dioxide over the life, kg; ``None``: not stated.
    """

    items: Mapping[str, float]
    busy: float
    energy: float | None
    carbon: float | None

    @property
    def total(self) -> float:
        """The sum of all items."""
        return sum(self.items.values())


@dataclass(frozen=True, slots=True)
class Account:
    """The costs of an option as a linear function of its use.

    Attributes:
        life: The service life.
        capacity: Largest share of its life for which runs can keep it busy.
        fixed: Cost of each item if unused.
        per_busy: Additional cost of each item if it is busy all its life.
        per_billed: Additional cost of each item if it is billed all its life.
        quantum: Billing quantum, seconds; 0: exact time.
        idle: Power when idle with the overhead of the site, watts.
        busy: Power when busy with the overhead of the site, watts.
        carbon: Carbon dioxide per energy, kg/J; ``None``: not stated.
        states_power: Whether power is stated.
    """

    life: Life
    capacity: float
    fixed: Mapping[str, float]
    per_busy: Mapping[str, float]
    per_billed: Mapping[str, float]
    quantum: float
    idle: float
    busy: float
    carbon: float | None
    states_power: bool

    def billed(self, seconds: float) -> float:
        """Return the time billed for a run of this length, seconds: rounded up to whole quanta, if there are any."""
        return begun(seconds / self.quantum) * self.quantum if self.quantum else seconds

    def sheet(self, busy: float, billed: float) -> Sheet:
        """Return the costs if it is busy, and billed, for these shares of its life."""
        items = dict(self.fixed)
        for share, rates in ((busy, self.per_busy), (billed, self.per_billed)):
            for item, amount in rates.items():
                items[item] = items.get(item, 0.0) + share * amount
        energy = self.energy(busy) if self.states_power else None
        carbon = None if energy is None or self.carbon is None else energy * self.carbon
        return Sheet(items, busy, energy, carbon)

    def energy(self, busy: float) -> float:
        """Return the energy over its life if it is busy for a share of it, joules."""
        return (self.idle + busy * (self.busy - self.idle)) * self.life.seconds

    def cost_of_run(self, busy: float, throughput: float, billed: float) -> float:
        """Return the cost of a run.

        It is the run's share, by time, of the cost of all runs, plus what is billed for it.

        Args:
            busy: Share of the life for which runs keep it busy.
            throughput: Runs per second while it is busy with such runs.
            billed: Billed time of a run, seconds.
        """
        runs = self.runs(busy, throughput)
        shared = self.sheet(busy, 0.0).total / runs if runs else math.inf
        return shared + sum(self.per_billed.values()) * billed / self.life.seconds

    def energy_of_run(self, busy: float, throughput: float) -> float:
        """Return the energy of a run, joules: its share, by time, of the energy of all runs, idle time included."""
        runs = self.runs(busy, throughput)
        return self.energy(busy) / runs if runs else math.inf

    def runs(self, busy: float, throughput: float) -> float:
        """Return the number of runs in the busy time, if all were such runs."""
        return throughput * (self.life.seconds * busy)


def account_of(  # noqa: PLR0917 - what an option is, and for how long
    costs: Costs, purchase: float, hardware: Hardware, nodes: int, cores: int, life: Life
) -> Account:
    """Return the account of an option.

    Args:
        costs: The stated costs.
        purchase: Price paid at the start, parts and racks included.
        hardware: Totals of the parts.
        nodes: Number of nodes.
        cores: Number of CPU cores.
        life: The service life.

    Raises:
        ValueError: If a licence does not cover it.
    """
    electricity, cloud = costs.electricity or Electricity(), costs.cloud
    fixed = {"purchase": purchase}
    if costs.residual:
        fixed["residual"] = -costs.residual * purchase * life.end
    if costs.licences:
        fixed["licences"] = _licences(costs, nodes, cores, life)
    fixed |= {name: amount * life.yearly for name, amount in costs.yearly.items()}
    per_busy, per_billed = {}, {}
    if electricity.price is not None and costs.states_power:
        joule_a_second = electricity.pue * electricity.price * YEAR * life.yearly
        fixed["energy"] = hardware.idle * joule_a_second
        per_busy["energy"] = (hardware.busy - hardware.idle) * joule_a_second
    if cloud is not None:
        hours = nodes * cloud.price * YEAR * life.yearly
        if cloud.tariff is Tariff.RESERVED:
            fixed["cloud"] = cloud.upfront + hours
        else:
            per_billed["cloud"] = hours * (1 + cloud.repeated)
        fixed |= _kept(cloud, life)
    return Account(
        life=life,
        capacity=costs.capacity,
        fixed=fixed,
        per_busy=per_busy,
        per_billed=per_billed,
        quantum=cloud.quantum if cloud is not None and cloud.tariff is not Tariff.RESERVED else 0.0,
        idle=electricity.pue * hardware.idle,
        busy=electricity.pue * hardware.busy,
        carbon=electricity.carbon,
        states_power=costs.states_power,
    )


def _licences(costs: Costs, nodes: int, cores: int, life: Life) -> float:
    total = 0.0
    for licence in costs.licences:
        number = cores if licence.of == "cores" else nodes
        price = licence.price(number)
        if price is None:
            raise ValueError(f"licence {licence.name} covers {licence.steps[-1][0]} {licence.of} at most, got {number}")
        total += price * (life.yearly if licence.yearly else 1.0)
    return total


def _kept(cloud: Cloud, life: Life) -> Mapping[str, float]:
    paid = {"storage": cloud.storage, "egress": cloud.egress}
    return {item: _MONTHS * monthly * life.yearly for item, monthly in paid.items() if monthly}
