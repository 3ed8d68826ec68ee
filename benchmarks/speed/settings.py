"""The machines on which everything is timed: one processor per node, 2 us between nodes, and a contention model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from clue.machine import Contention, Curve, FactorTable, Flows, Link, Machine, Network, NoContention, NodeType, Ports
from clue.machine.contention.topology import FatTree, Switch

LATENCY = 2e-6
#: Number of nodes at each leaf of the fat tree, and of its uplinks: two nodes share an uplink.
LEAF, UPLINKS = 16, 8


class ContentionKind(Enum):
    """The ways in which messages slow each other; the value is the name in tables."""

    NONE = "no contention"
    FACTOR = "contention factor"
    PORTS = "ports"
    CROSSBAR = "flows, crossbar"
    FAT_TREE = "flows, fat tree 2:1"


FLOWS = (ContentionKind.CROSSBAR, ContentionKind.FAT_TREE)


@dataclass(frozen=True, slots=True)
class NetworkSetting:
    """A network.

    Attributes:
        model: Contention model.
        bandwidth: Bandwidth of a node's link, bytes per second.
    """

    model: ContentionKind = ContentionKind.NONE
    bandwidth: float = 1e9

    @property
    def name(self) -> str:
        """Its name in tables."""
        return f"{self.model.value}, {self.bandwidth / 1e9:g} GB/s"


def build_machine(setting: NetworkSetting, nodes: int, library: str = "mpich", latency: float = LATENCY) -> Machine:
    """Return a machine of equal nodes, each with one processor."""
    link = Link(send_delay=Curve.line(0.0), transmission_delay=Curve.line(latency, 1.0 / setting.bandwidth))
    network = Network(link, link, contention=_contention(setting, nodes), collective_library=library)
    return Machine(setting.name, (NodeType("node"),) * nodes, network)


def _contention(setting: NetworkSetting, nodes: int) -> Contention:
    if setting.model is ContentionKind.FACTOR:
        # With as many messages under way as nodes, times double: a slope, so that every message counts.
        return FactorTable(((1, 1.0), (nodes, 2.0)))
    if setting.model is ContentionKind.PORTS:
        return Ports()
    if setting.model is ContentionKind.CROSSBAR:
        return Flows(Switch(setting.bandwidth))
    if setting.model is ContentionKind.FAT_TREE:
        return Flows(FatTree((LEAF, leaves(nodes)), (1, UPLINKS), (1, 1), (setting.bandwidth,) * 2))
    return NoContention()


def leaves(nodes: int) -> int:
    """Return the number of leaf switches of a fat tree with this many nodes."""
    return math.ceil(nodes / LEAF)
