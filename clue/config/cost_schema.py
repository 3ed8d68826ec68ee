"""The form of an option's costs, key by key: every figure with its unit, each group with its source and date.

Pydantic models only, as in :mod:`clue.config.schema`; :mod:`clue.config.costs` checks rules over several keys, and that
the keys in :data:`NEEDED` are given: a block that is laid over others states only what differs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict

from clue.config.forms import Form, Name, OneOrTable
from clue.config.quantities import (
    Amount,
    Carbon,
    Date,
    Duration,
    Number,
    PositiveInt,
    Power,
    Price,
    PricePerEnergy,
    PricePerSize,
    PricePerSizeAndTime,
    PricePerTime,
    Size,
)
from clue.config.schema import Share
from clue.units import Money

UpToOne = Annotated[Number, Field(le=1)]


class SourcedForm(Form):
    """Figures with their source and date."""

    source: str = Field("", description="Where the figures come from.")
    date: Date | None = Field(None, description="Date of the figures, as 2026-11-02.")


class DrawForm(Form):
    """Power that a part draws."""

    idle: Power | None = Field(None, description="Power when idle; must be given.")
    busy: Power | None = Field(None, description="Power at work; default: that of the part in the hardware library.")


class PartForm(SourcedForm):
    """A kind of part: nodes, switches, cables, PDUs; one of count, per_node, ports and per_rack gives their number."""

    part: Name | None = Field(
        None,
        description="A processor or switch of the hardware library (parts/nvidia-qm9700), or a file with one. It "
        "supplies defaults for the power, and for the rack units and ports of a switch, but not for the price. "
        "Overlaid on other blocks, it replaces these keys there.",
    )
    count: PositiveInt | None = Field(None, description="A fixed number, whatever the number of nodes.")
    per_node: PositiveInt | None = Field(None, description="Number for each node.")
    ports: PositiveInt | None = Field(None, description="Number of nodes that share one; the last may have fewer.")
    per_rack: PositiveInt | None = Field(None, description="Number for each rack.")
    type: Name | None = Field(None, description="With per_node or ports: only nodes of this type count.")
    price: Price | None = Field(None, description="Price of one, added to the option's price; default: included there.")
    power: OneOrTable[Power, DrawForm] | None = Field(
        None, description="Power that one draws: constant, or idle and busy; default: none."
    )
    rack_units: Number = Field(0.0, description="Rack units that one takes.")
    spares: UpToOne = Field(0.0, description="Spare parts bought in addition, as a share of the number: 0.05 for 5 %.")


class RacksForm(SourcedForm):
    """Racks: as many as the parts need by rack units and by power."""

    rack_units: PositiveInt | None = Field(None, description="Rack units of one rack; default: no limit.")
    power: Power | None = Field(None, description="Power that one rack supplies and cools; default: no limit.")
    price: Price | None = Field(None, description="Price of one, added to the option's price; default: included there.")


class ElectricityForm(SourcedForm):
    """Cost of electricity."""

    price: PricePerEnergy | None = Field(None, description="Price of energy.")
    carbon: Carbon | None = Field(None, description="Carbon dioxide emitted per energy.")
    pue: Annotated[Number, Field(ge=1)] = Field(
        1.0, description="Power usage effectiveness: power of the whole site divided by that of the machine's parts."
    )


Step = Annotated[tuple[PositiveInt, Price], Strict(False)]


def _rising_steps(steps: list[tuple[int, Money]]) -> list[tuple[int, Money]]:
    for (before, less), (number, price) in pairwise(steps):
        if number <= before:
            raise ValueError(f"must be sorted by strictly rising number, got {number} after {before}")
        if price.currency == less.currency and price.amount < less.amount:
            raise ValueError(f"must not fall in price, got {price} after {less}")
    return steps


class LicenceForm(SourcedForm):
    """A licence priced in steps."""

    of: Literal["cores", "nodes"] = Field("cores", description="Unit by which the licence counts.")
    steps: Annotated[list[Step], Field(min_length=1), AfterValidator(_rising_steps)] | None = Field(
        None,
        description="[number, price]: the price up to that number; options above the last number cannot be licensed. "
        "Must be given.",
    )
    paid: Literal["yearly", "once"] = Field("yearly", description="When the price is paid.")


class YearlyForm(SourcedForm):
    """A cost that accrues continuously."""

    price: PricePerTime | None = Field(None, description="Price per time: 80000 EUR/year; must be given.")


Yearly = OneOrTable[PricePerTime, YearlyForm]


class StorageForm(SourcedForm):
    """Data stored in a cloud."""

    size: Size | None = Field(None, description="How much; must be given.")
    price: PricePerSizeAndTime | None = Field(
        None, description="Price per size and time: 0.023 USD/GB/month; must be given."
    )


class EgressForm(SourcedForm):
    """Data transferred out of a cloud."""

    monthly: Size | None = Field(None, description="Amount per month; must be given.")
    price: PricePerSize | None = Field(None, description="Price per size: 0.09 USD/GB; must be given.")


class CloudForm(SourcedForm):
    """Cloud nodes, billed by time."""

    price: PricePerTime | None = Field(None, description="Price of a node per time: 5.06 USD/h; must be given.")
    tariff: Literal["on_demand", "spot", "reserved"] = Field(
        "on_demand", description="on_demand and spot: paid while runs use the nodes; reserved: over the service life."
    )
    quantum: Duration | None = Field(
        None, description="Billing quantum: time is rounded up to a multiple of it; default: exact time."
    )
    repeated: UpToOne = Field(
        0.0,
        description="With spot: time repeated because nodes were revoked, as a share of the time of the runs.",
    )
    upfront: Price | None = Field(None, description="With reserved: paid in advance for all nodes.")
    storage: StorageForm | None = Field(None, description="Data stored there.")
    egress: EgressForm | None = Field(None, description="Data transferred out.")


#: Keys that must be given once all blocks of an option's costs are laid over each other.
NEEDED: dict[type[Form], tuple[str, ...]] = {
    DrawForm: ("idle",),
    LicenceForm: ("steps",),
    YearlyForm: ("price",),
    StorageForm: ("size", "price"),
    EgressForm: ("monthly", "price"),
    CloudForm: ("price",),
}


class CostForm(Form):
    """The costs of an option beyond its price, and the power and room that it takes."""

    parts: dict[Name, PartForm] = Field(default={}, description="Its parts, by name.")
    racks: RacksForm | None = Field(None, description="Its racks.")
    electricity: ElectricityForm | None = Field(None, description="Cost of electricity.")
    licences: dict[Name, LicenceForm] = Field(default={}, description="Licences that programs need, by name.")
    staff: Yearly | None = Field(None, description="Cost of staff over time.")
    hosting: Yearly | None = Field(None, description="Cost of floor space over time.")
    support: Yearly | None = Field(None, description="Cost of support and maintenance over time.")
    cloud: CloudForm | None = Field(None, description="Cloud nodes, billed by time, instead of a price.")
    residual: UpToOne = Field(
        0.0, description="Residual value after the service life, as a share of the purchase price."
    )
    utilisation: Share = Field(
        1.0,
        description="The largest share of the time that it is available for which runs keep it busy. Must be left "
        "out with jobs, whose queue determines it.",
    )
    availability: Share = Field(1.0, description="Share of the time in which it is available.")


class RateForm(SourcedForm):
    """An exchange rate."""

    rate: Amount = Field(description="Value of one unit of the currency: 0.92 EUR.")
    date: Date = Field(description="Date of the rate, as 2026-11-02.")


class LimitsForm(Form):
    """Limits for options besides the budget."""

    power: Power | None = Field(None, description="Largest power, with the overhead of the site (PUE).")
    cooling: Power | None = Field(None, description="Largest heat: the power of the parts.")
    rack_units: Number | None = Field(None, description="At most.")
    nodes: PositiveInt | None = Field(None, description="Largest number of nodes that can be delivered.")
    memory_per_core: Size | None = Field(None, description="Smallest memory per core of every node.")
    total_cost: Amount | None = Field(None, description="Largest total cost over the service life.")
    waiting: Duration | None = Field(None, description="Largest mean waiting time of jobs in the queue.")
