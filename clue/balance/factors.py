"""Speeds of a virtual machine's nodes, as times of the same work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from clue.balance.checking import not_negative, positive, whole
from clue.kernel.model.costs import Costs
from clue.kernel.model.program import HostSpeed
from clue.machine import Machine, Placement


def factors_on(
    machine: Machine,
    nodes: Sequence[int],
    region: str = "",
    time: float = 0.0,
    host_speeds: Mapping[str, float] = MappingProxyType({}),
) -> tuple[float, ...]:
    """Return the times of one second of recorded computation on each of some nodes, with one rank per node.

    Background load counts; the meaning is that of a replay.

    Args:
        machine: The virtual cluster.
        nodes: Indices of its nodes, one per rank.
        region: Region whose performance factors count.
        time: Virtual time, on a machine that changes.
        host_speeds: flop/s of the recording host by region, where known; then ``speed`` of a node type counts,
            if it is one number.

    Raises:
        UsageError: If there is no such node, the time is negative or not finite, or a speed is not positive and finite.
    """
    nodes = [whole("node", node) for node in nodes]
    not_negative("times", [time])
    for name, rate in host_speeds.items():
        positive(f"host speed of region {name!r}", rate)
    host = {name: HostSpeed(rate) for name, rate in host_speeds.items()}
    placement = Placement.listed(machine, tuple(nodes), len(nodes))
    costs = Costs(machine, placement, (region,), host)
    return tuple(1 / costs.rates(costs.node_type(node, time), ranks=1)[0] for node in nodes)
