"""The stated figures of an option's costs. Values only."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

#: Tolerance for rounding errors, as a share: a quantum used by less is not begun.
_ROUNDING = 1e-9


def begun(number: float) -> int:
    """Round up, ignoring rounding errors just above a whole number."""
    return math.ceil(number * (1 - _ROUNDING))


@dataclass(frozen=True, slots=True)
class Stated:
    """A stated price.

    Attributes:
        name: Its path in the file: ``"node_types.fast.price"``. Figures with the same name and value are one figure.
        value: Price of one.
        deviation: Its relative standard deviation: 0.05 for 5 %.
        number: Number of pieces.
    """

    name: str
    value: float
    deviation: float = 0.0
    number: float = 1.0


class Per(Enum):
    """The unit to which a stated number of parts refers."""

    OPTION = "count"
    NODE = "per_node"
    PORTS = "ports"
    RACK = "per_rack"


@dataclass(frozen=True, slots=True)
class Number:
    """The number of a part.

    Attributes:
        per: Unit of the figure: the whole, a node, a rack; ``PORTS``: the figure is the number of nodes that share one.
        figure: The figure.
        node_type: Only nodes of this type count; empty: all nodes.
    """

    per: Per = Per.OPTION
    figure: int = 1
    node_type: str = ""

    def of(self, nodes: Mapping[str, int], racks: int = 0) -> int:
        """Return the number of the part for these nodes by type and racks; key "" may state the number of all nodes."""
        counted = nodes.get(self.node_type, 0) if self.node_type else nodes.get("", sum(nodes.values()))
        if self.per is Per.PORTS:
            return -(-counted // self.figure)
        return self.figure * {Per.OPTION: 1, Per.NODE: counted, Per.RACK: racks}[self.per]


@dataclass(frozen=True, slots=True)
class Part:
    """A kind of part of a machine: nodes, switches, cables, PDUs.

    Attributes:
        name: Its name.
        number: Its number.
        price: Price of one; 0 if the price of the whole includes it.
        idle: Idle power of one, watts.
        busy: Power of one at work, watts.
        rack_units: Rack units of one.
        spares: Unused spares bought in addition, as a share of the number, rounded up.
    """

    name: str
    number: Number = Number()
    price: float = 0.0
    idle: float = 0.0
    busy: float = 0.0
    rack_units: float = 0.0
    spares: float = 0.0

    def bought(self, number: int) -> int:
        """Return the number to buy for a number in use."""
        return number + begun(self.spares * number)


@dataclass(frozen=True, slots=True)
class Racks:
    """Racks: as many as the parts need by rack units and by power.

    Attributes:
        rack_units: Rack units of one rack.
        power: Power that one rack supplies and cools, watts.
        price: Price of one rack.
    """

    rack_units: float = math.inf
    power: float = math.inf
    price: float = 0.0

    def needed(self, rack_units: float, power: float) -> int:
        """Return the number of racks for parts with these rack units and this power in watts."""
        return begun(max(rack_units / self.rack_units, power / self.power))


@dataclass(frozen=True, slots=True)
class Electricity:
    """The cost of electricity.

    Attributes:
        price: Price per joule; ``None``: not stated.
        carbon: Carbon dioxide per energy, kg/J; ``None``: not stated.
        pue: Power usage effectiveness: power of the whole site, mainly cooling, divided by that of the parts.
    """

    price: float | None = None
    carbon: float | None = None
    pue: float = 1.0


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence whose price is a step function of the covered number.

    Attributes:
        name: Its name.
        of: The unit counted: ``"cores"`` or ``"nodes"``.
        steps: Pairs of largest number and price, both rising.
        yearly: Whether it is paid each year; else once.
    """

    name: str
    of: str
    steps: tuple[tuple[int, float], ...]
    yearly: bool = True

    def price(self, number: int) -> float | None:
        """Return the price of the first step that covers a number; ``None`` if none does."""
        step = bisect_left(self.steps, number, key=lambda each: each[0])
        return self.steps[step][1] if step < len(self.steps) else None


class Tariff(Enum):
    """The billing of cloud nodes."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    RESERVED = "reserved"


@dataclass(frozen=True, slots=True)
class Cloud:
    """Cloud nodes, billed by time.

    Attributes:
        price: Price of a node per second.
        tariff: On-demand and spot nodes are paid while runs use them, reserved nodes all the time.
        quantum: Billing quantum, seconds: a run is billed for every quantum that it begins.
        repeated: With spot: time repeated because nodes were revoked, as a share of the time of the runs.
        upfront: With reserved: payment in advance for all nodes.
        storage: Cost of stored data per month.
        egress: Cost of data transferred out per month.
    """

    price: float
    tariff: Tariff = Tariff.ON_DEMAND
    quantum: float = 0.0
    repeated: float = 0.0
    upfront: float = 0.0
    storage: float = 0.0
    egress: float = 0.0


@dataclass(frozen=True, slots=True)
class Source:
    """The source of figures: their subject, author and date, as far as stated."""

    of: str
    source: str
    date: str


@dataclass(frozen=True, slots=True)
class Costs:
    """The stated costs of an option, besides its price.

    Attributes:
        parts: Its parts.
        racks: Its racks.
        electricity: The cost of electricity; ``None``: not stated.
        licences: Licences of programs.
        yearly: Yearly payments by name: staff, hosting, support.
        cloud: Nodes by the hour; ``None``: nodes are bought.
        residual: Residual value at the end of its life, as a share of the purchase.
        utilisation: Largest share of its available time for which runs keep it busy; 1 if jobs are stated, because
            their queue gives the utilisation.
        availability: Share of the time for which it is available.
        sources: Sources of the figures.
        deviations: Relative standard deviations of uncertain prices, by their paths (:mod:`clue.purchase.prices`).
    """

    parts: tuple[Part, ...] = ()
    racks: Racks | None = None
    electricity: Electricity | None = None
    licences: tuple[Licence, ...] = ()
    yearly: Mapping[str, float] = field(default_factory=dict)
    cloud: Cloud | None = None
    residual: float = 0.0
    utilisation: float = 1.0
    availability: float = 1.0
    sources: tuple[Source, ...] = ()
    deviations: Mapping[str, float] = field(default_factory=dict)

    @property
    def capacity(self) -> float:
        """The largest share of the time in which runs can keep it busy; repeated time on spot nodes does not count."""
        repeated = 0.0 if self.cloud is None else self.cloud.repeated
        return self.availability * self.utilisation / (1 + repeated)

    @property
    def states_power(self) -> bool:
        """Whether any power is stated."""
        return any(part.busy for part in self.parts)
