"""Topologies: the links of a network and the way of a message through them, computed, never tabulated.

Links are directed and numbered from 0. Routes are minimal, deterministic, and depend on the two nodes only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


class Topology(ABC):
    """The links of a network of nodes."""

    @abstractmethod
    def capacities(self, nodes: int) -> npt.NDArray[np.float64]:
        """Return the bandwidth of every link, bytes per second, shape (links,).

        Raises:
            UsageError: If the topology has no room for so many nodes.
        """

    @abstractmethod
    def routes(self, nodes: int, source: npt.NDArray[np.int64], dest: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Return the links from each source node to each destination node (never the same), in order of travel.

        Args:
            nodes: How many nodes there are.
            source: Node indices, shape (n,).
            dest: Node indices, shape (n,).

        Returns:
            Link numbers, shape (n, longest route), rows padded with -1.
        """


@dataclass(frozen=True, slots=True)
class Switch(Topology):
    """One switch that never blocks: a link up and a link down for each node.

    Attributes:
        bandwidth: Of each link, bytes per second.
    """

    bandwidth: float

    def capacities(self, nodes: int) -> npt.NDArray[np.float64]:  # noqa: D102 - see Topology
        return np.full(2 * nodes, self.bandwidth)

    def routes(  # noqa: D102 - see Topology
        self, nodes: int, source: npt.NDArray[np.int64], dest: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        return np.stack([source, nodes + dest], axis=1).astype(np.int32)
