"""The form of what an option costs, key by key: every figure with its unit, each group with its source and date.

Pydantic models only, as in :mod:`clue.config.schema`; what several keys say together is checked in
:mod:`clue.config.costs`.
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
    """Figures that say where they come from."""

    source: str = Field("", description="Where the figures come from.")
    date: Date | None = Field(None, description="Of which day they are, as 2026-11-02.")


class DrawForm(Form):
    """What power a part takes."""

    idle: Power = Field(description="Where it does nothing.")
    busy: Power | None = Field(None, description="At work; left out: the power of the part of the hardware library.")


class PartForm(SourcedForm):
    """A kind of part: nodes, switches, cables, PDUs; one of count, per_node, ports and per_rack says how many."""

    part: Name | None = Field(
        None,
        description="A part of the hardware library (parts/nvidia-qm9700), or a file with one: a processor or switch. "
        "Its power, and the rack units and ports of a switch, hold where nothing else is said; its price does not.",
    )
    count: PositiveInt | None = Field(None, description="So many, however many nodes there are.")
    per_node: PositiveInt | None = Field(None, description="So many for each node.")
    ports: PositiveInt | None = Field(None, description="One for so many nodes, the last of them perhaps not full.")
    per_rack: PositiveInt | None = Field(None, description="So many for each rack.")
    type: Name | None = Field(None, description="With per_node or ports: only nodes of this type count.")
    price: Price | None = Field(None, description="Of one, on top of the option's price; left out: that has it.")
    power: OneOrTable[Power, DrawForm] | None = Field(
        None, description="What one takes: always the same, or idle and busy; left out: nothing."
    )
    rack_units: Number = Field(0.0, description="Of a rack, that one takes.")
    spares: UpToOne = Field(0.0, description="So many more are bought, as a share of the number: 0.05 for 5 %.")


class RacksForm(SourcedForm):
    """Racks: as many as the parts fill by units and by power."""

    rack_units: PositiveInt | None = Field(None, description="That one has room for; left out: any number.")
    power: Power | None = Field(None, description="That one feeds and cools; left out: any.")
    price: Price | None = Field(None, description="Of one, on top of the option's price; left out: that has it.")


class ElectricityForm(SourcedForm):
    """What power costs."""

    price: PricePerEnergy | None = Field(None, description="Of the energy.")
    carbon: Carbon | None = Field(None, description="Carbon dioxide for the energy.")
    pue: Annotated[Number, Field(ge=1)] = Field(
        1.0, description="Power usage effectiveness: power of the whole site by that of the machine's parts."
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
    """A licence in steps of what it covers."""

    of: Literal["cores", "nodes"] = Field("cores", description="What is counted.")
    steps: Annotated[list[Step], Field(min_length=1), AfterValidator(_rising_steps)] = Field(
        description="[number, price]: the price up to that number; options with more than the last are not licensed."
    )
    paid: Literal["yearly", "once"] = Field("yearly", description="When the price is paid.")


class YearlyForm(SourcedForm):
    """What is paid all the time."""

    price: PricePerTime = Field(description="For a time: 80000 EUR/year.")


Yearly = OneOrTable[PricePerTime, YearlyForm]


class StorageForm(SourcedForm):
    """Data kept with a cloud."""

    size: Size = Field(description="How much.")
    price: PricePerSizeAndTime = Field(description="For a size and a time: 0.023 USD/GB/month.")


class EgressForm(SourcedForm):
    """Data that leave a cloud."""

    monthly: Size = Field(description="How much a month.")
    price: PricePerSize = Field(description="For a size: 0.09 USD/GB.")


class CloudForm(SourcedForm):
    """Nodes by the hour."""

    price: PricePerTime = Field(description="Of a node for a time: 5.06 USD/h.")
    tariff: Literal["on_demand", "spot", "reserved"] = Field(
        "on_demand", description="on_demand and spot: paid while runs have the nodes; reserved: all the service life."
    )
    quantum: Duration | None = Field(None, description="Time that is billed at once; left out: any time.")
    repeated: UpToOne = Field(
        0.0,
        description="Of spot: what is paid again because nodes were taken away, as a share of the time of the runs.",
    )
    upfront: Price | None = Field(None, description="Of reserved: paid at once for all nodes.")
    storage: StorageForm | None = Field(None, description="Data kept there.")
    egress: EgressForm | None = Field(None, description="Data that leave.")


class CostForm(Form):
    """What an option costs beside its price, and what it takes."""

    parts: dict[Name, PartForm] = Field(default={}, description="What it is made of, by name.")
    racks: RacksForm | None = Field(None, description="Its racks.")
    electricity: ElectricityForm | None = Field(None, description="What power costs.")
    licences: dict[Name, LicenceForm] = Field(default={}, description="What programs need, by name.")
    staff: Yearly | None = Field(None, description="People, all the time.")
    hosting: Yearly | None = Field(None, description="Room, all the time.")
    support: Yearly | None = Field(None, description="Support and maintenance, all the time.")
    cloud: CloudForm | None = Field(None, description="Nodes by the hour, instead of a price.")
    residual: UpToOne = Field(0.0, description="What is left of the purchase after the service life, as a share.")
    utilisation: Share = Field(
        1.0,
        description="The largest share of the time that it is available for which runs keep it busy. Must be left out "
        "beside jobs, whose queue says that.",
    )
    availability: Share = Field(1.0, description="The share of the time that it is available.")


class RateForm(SourcedForm):
    """What a currency is worth."""

    rate: Amount = Field(description="Of one unit of it: 0.92 EUR.")
    date: Date = Field(description="Of which day it is, as 2026-11-02.")


class LimitsForm(Form):
    """What an option has to keep beside the budget."""

    power: Power | None = Field(None, description="At most, those of the site included (PUE).")
    cooling: Power | None = Field(None, description="Heat at most: the power of the parts.")
    rack_units: Number | None = Field(None, description="At most.")
    nodes: PositiveInt | None = Field(None, description="At most, as can be delivered.")
    memory_per_core: Size | None = Field(None, description="At least, of every node.")
    total_cost: Amount | None = Field(None, description="At most, over the service life.")
    waiting: Duration | None = Field(None, description="Of jobs in the queue, on average, at most.")
