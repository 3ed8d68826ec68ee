"""The figures of an option's costs, as they are stated. Values only."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

#: What rounding may leave of a number: a quantum of which this is used is not begun.
_ROUNDING = 1e-9


def begun(number: float) -> int:
    """Round up, but not for what rounding left of a whole number."""
    return math.ceil(number * (1 - _ROUNDING))


@dataclass(frozen=True, slots=True)
class Stated:
    """A figure of a price, as it is stated.

    Attributes:
        name: Where it is stated: ``"node_types.fast.price"``. Figures of one name and value are one figure.
        value: Of one.
        deviation: Its relative standard deviation: 0.05 for 5 %.
        number: How many of it there are.
    """

    name: str
    value: float
    deviation: float = 0.0
    number: float = 1.0


class Per(Enum):
    """What a number of parts is stated for."""

    OPTION = "count"
    NODE = "per_node"
    PORTS = "ports"
    RACK = "per_rack"


@dataclass(frozen=True, slots=True)
class Number:
    """How many of a part there are.

    Attributes:
        per: What the figure is for: the whole, a node, a rack; ``PORTS``: there is one for so many nodes.
        figure: The figure.
        node_type: Counts nodes of this type alone; empty: all.
    """

    per: Per = Per.OPTION
    figure: int = 1
    node_type: str = ""

    def of(self, nodes: Mapping[str, int], racks: int = 0) -> int:
        """Return how many there are beside nodes, by type, and racks; under "" that of all nodes, or it is the sum."""
        counted = nodes.get(self.node_type, 0) if self.node_type else nodes.get("", sum(nodes.values()))
        if self.per is Per.PORTS:
            return -(-counted // self.figure)
        return self.figure * {Per.OPTION: 1, Per.NODE: counted, Per.RACK: racks}[self.per]


@dataclass(frozen=True, slots=True)
class Part:
    """A kind of part of a machine: nodes, switches, cables, PDUs.

    Attributes:
        name: Its name.
        number: How many there are.
        price: Of one; 0 where the price of the whole has it.
        idle: Watts of one that does nothing.
        busy: Watts of one at work.
        rack_units: That one takes.
        spares: So many more are bought, as a share of the number, rounded up; they lie on the shelf.
    """

    name: str
    number: Number = Number()
    price: float = 0.0
    idle: float = 0.0
    busy: float = 0.0
    rack_units: float = 0.0
    spares: float = 0.0

    def bought(self, number: int) -> int:
        """Return how many are bought where so many are in use."""
        return number + begun(self.spares * number)


@dataclass(frozen=True, slots=True)
class Racks:
    """Racks, of which there are as many as their parts fill by units and by power.

    Attributes:
        rack_units: That one has room for.
        power: Watts that one feeds and cools.
        price: Of one.
    """

    rack_units: float = math.inf
    power: float = math.inf
    price: float = 0.0

    def needed(self, rack_units: float, power: float) -> int:
        """Return how many take parts of so many units and watts."""
        return begun(max(rack_units / self.rack_units, power / self.power))


@dataclass(frozen=True, slots=True)
class Electricity:
    """What power costs.

    Attributes:
        price: Of a joule; ``None``: not stated.
        carbon: Kilograms of carbon dioxide for a joule; ``None``: not stated.
        pue: Power usage effectiveness: power of the whole site by that of the parts, cooling above all.
    """

    price: float | None = None
    carbon: float | None = None
    pue: float = 1.0


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence whose price is a step function of what it covers.

    Attributes:
        name: Its name.
        of: ``"cores"`` or ``"nodes"``: what is counted.
        steps: Largest number and price, both rising.
        yearly: Whether it is paid each year; else once.
    """

    name: str
    of: str
    steps: tuple[tuple[int, float], ...]
    yearly: bool = True

    def price(self, number: int) -> float | None:
        """Return the price of the first step that covers a number, ``None`` if none does."""
        step = bisect_left(self.steps, number, key=lambda each: each[0])
        return self.steps[step][1] if step < len(self.steps) else None


class Tariff(Enum):
    """How nodes of a cloud are paid."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    RESERVED = "reserved"


@dataclass(frozen=True, slots=True)
class Cloud:
    """Nodes by the hour.

    Attributes:
        price: Of a node for a second.
        tariff: On demand and spot are paid while runs have them; reserved all the time.
        quantum: Seconds that are billed at a time: a run is billed for as many as it begins.
        repeated: Of spot: time that is paid again because nodes were taken away, as a share of that of the runs.
        upfront: Of reserved: paid at once, for all nodes.
        storage: Paid for data that are kept, a month.
        egress: Paid for data that leave, a month.
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
    """Where figures come from: what they are of, whose they are, and of which day; as far as stated."""

    of: str
    source: str
    date: str


@dataclass(frozen=True, slots=True)
class Costs:
    """What is stated of an option's costs, beside its price.

    Attributes:
        parts: What it is made of.
        racks: Its racks.
        electricity: What power costs; ``None``: not stated.
        licences: What programs need.
        yearly: Paid each year, by name: staff, hosting, support.
        cloud: Nodes by the hour; ``None``: nodes are bought.
        residual: What is left of the purchase at the end of its life, as a share.
        utilisation: The largest share of the time that it is available for which runs keep it busy; 1 where jobs are
            stated, whose queue says that.
        availability: The share of the time that it is available.
        sources: Where the figures come from.
        deviations: Relative standard deviations of prices that are uncertain, by where they stand
            (:mod:`clue.purchase.prices`).
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
        """The largest share of the time for which runs keep it busy."""
        return self.availability * self.utilisation

    @property
    def states_power(self) -> bool:
        """Whether any power is stated."""
        return any(part.busy for part in self.parts)
