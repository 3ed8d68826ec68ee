"""The network where messages slow each other down."""

from __future__ import annotations

from heapq import heappop, heappush

from clue.kernel.costs import Costs, MessageCost
from clue.kernel.observation import Observation


class SharedNetwork:
    """The paper's contention: communications between nodes slow each other by a factor of their number."""

    def __init__(self, costs: Costs, observation: Observation) -> None:
        self._costs = costs
        self._observation = observation
        self._ends: list[float] = []

    def begin(self, time: float, cost: MessageCost) -> float:
        """Start a communication; returns its factor. Times must not decrease from call to call."""
        while self._ends and self._ends[0] <= time:
            heappop(self._ends)
        simultaneous = len(self._ends) + 1
        factor = self._costs.contention(time, simultaneous)
        heappush(self._ends, time + factor * (cost.send + cost.transmission))
        self._observation.most_simultaneous = max(self._observation.most_simultaneous, simultaneous)
        return factor
