"""Parts of a machine with their costs multiplied: what sensitivities, refits and drawn machines are made of.

Curves scale themselves (:class:`clue.machine.Curve`); here is what is made of several figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast

from clue.machine.contention import Contention, FactorTable, Flows, Ports
from clue.machine.curve import Curve
from clue.machine.machine import Link, NodeType

if TYPE_CHECKING:
    from clue.machine.topology import Topology


def slower(node: NodeType, factor: float) -> NodeType:
    """Return a node type on which all computation takes so many times as long."""
    return replace(
        node,
        # 0 stands for "as recorded".
        performance_factor=(node.performance_factor or 1.0) * factor,
        performance_factors={region: (f or 1.0) * factor for region, f in node.performance_factors.items()},
        speeds={region: speed / factor for region, speed in node.speeds.items()},
    )


def busier(contention: Contention | None, factor: float) -> Contention | None:
    """Return contention in which messages keep what they share so many times as long: ports, or links of a topology.

    A table of factors says nothing of that, nor do ports that are busy as the delays of links say: these stay.
    """
    if isinstance(contention, Ports) and contention.busy is not None:
        return Ports(contention.busy.scaled(factor))
    if isinstance(contention, Flows):
        return wider(contention, bandwidth_names(contention.topology), 1 / factor)
    return contention


def steeper(table: FactorTable, factor: float) -> FactorTable:
    """Return a table of factors, of which what is above 1 is so many times as much."""
    return FactorTable(tuple((n, 1 + (f - 1) * factor) for n, f in table.factors))


def bandwidth_names(topology: Topology) -> list[str]:
    """Return the names of a topology's fields that are bandwidths."""
    return [each.name for each in fields(cast("Any", topology)) if "bandwidth" in each.name]


def wider(flows: Flows, names: Sequence[str], factor: float) -> Flows:
    """Return flows over a topology, of whose bandwidths those named are multiplied."""
    topology: Any = flows.topology
    values = {name: getattr(topology, name) for name in names}
    more = {
        name: tuple(each * factor for each in value) if isinstance(value, tuple) else value * factor
        for name, value in values.items()
    }
    return Flows(cast("Topology", replace(topology, **more)))


def kept_longer(link: Link, factor: float) -> Link:
    """Return a link whose messages keep what they share so many times as long, and take no longer alone."""
    return replace(link, busy=own_occupation(link).scaled(factor))


def own_occupation(link: Link) -> Curve:
    """Return how long a message keeps what it shares, as its link says.

    Where that states nothing, it is the largest of what the send delay and the transmission delay grow by with size,
    and 0.
    """
    if link.busy is not None:
        return link.busy
    return Curve.upper([Curve.line(0.0), link.send_delay.growth, link.transmission_delay.growth])
