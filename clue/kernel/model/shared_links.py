"""The resources that messages share max-min fairly: links of a topology, and the memory of a node that copies them."""

from __future__ import annotations

import numpy as np

from clue.machine import Machine
from clue.machine.contention.topology import Bandwidths, Indices, Routes


class SharedLinks:
    """Links and the routes of messages over them; a message with an empty route shares nothing.

    Args:
        machine: The machine, with its links as they are at time 0.

    Attributes:
        capacities: Capacity of each link, bytes per second: first the topology's links, if any, then the nodes'
            memories.
    """

    def __init__(self, machine: Machine) -> None:
        self._topology = machine.contention.topology
        self._nodes = len(machine.nodes)
        between = np.zeros(0) if self._topology is None else self._topology.capacities(self._nodes)
        memories = {i: node.copy_bandwidth for i, node in enumerate(machine.nodes) if node.copy_bandwidth is not None}
        self._memory = np.full(self._nodes, -1, np.int32)
        self._memory[list(memories)] = len(between) + np.arange(len(memories))
        self.capacities: Bandwidths = np.concatenate([between, np.array([*memories.values()], np.float64)])

    def routes(self, source: Indices, dest: Indices) -> Routes:
        """Return the links from nodes to nodes, in order of travel.

        Args:
            source: Node indices, shape (n,).
            dest: Node indices, shape (n,).

        Returns:
            Link numbers, shape (n, longest route), rows padded with -1 at their end.
        """
        within, apart = source == dest, source != dest
        between = np.empty((int(apart.sum()), 0), np.int32)
        if self._topology is not None:
            between = self._topology.routes(self._nodes, source[apart], dest[apart])
        found = np.full((len(source), max(1, between.shape[1])), -1, np.int32)
        found[apart, : between.shape[1]] = between
        found[within, 0] = self._memory[source[within]]
        return found


def shares_copies(machine: Machine) -> bool:
    """Tell whether copies within some node of a machine share its memory."""
    return any(node.copy_bandwidth is not None for node in machine.node_types().values())
