"""Totals of parts for a number of nodes: money, watts, rack units, racks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clue.purchase.costs.figures import Costs, Per


@dataclass(frozen=True, slots=True)
class Hardware:
    """The totals of an option's parts.

    Attributes:
        numbers: Number of each part in use.
        price: Price of all parts with their spares, and of the racks.
        idle: Idle power without the overhead of the site, watts.
        busy: Power at work without the overhead of the site, watts.
        rack_units: Rack units used.
        racks: Number of racks needed; 0 if none are described.
    """

    numbers: Mapping[str, int]
    price: float
    idle: float
    busy: float
    rack_units: float
    racks: int


def hardware_of(costs: Costs, nodes: Mapping[str, int]) -> Hardware:
    """Return the totals of an option's parts.

    Args:
        costs: The stated costs.
        nodes: Number of nodes by type.
    """
    # Parts per rack use no rack units and no power, so racks can be counted first.
    within = [(part, part.number.of(nodes)) for part in costs.parts if part.number.per is not Per.RACK]
    rack_units = sum(n * part.rack_units for part, n in within)
    busy = sum(n * part.busy for part, n in within)
    racks = costs.racks.needed(rack_units, busy) if costs.racks is not None else 0
    counted = [(part, part.number.of(nodes, racks)) for part in costs.parts]
    price = sum(part.bought(n) * part.price for part, n in counted)
    return Hardware(
        numbers={part.name: n for part, n in counted},
        price=price + (racks * costs.racks.price if costs.racks is not None else 0.0),
        idle=sum(n * part.idle for part, n in within),
        busy=busy,
        rack_units=rack_units,
        racks=racks,
    )
