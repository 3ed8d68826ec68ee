"""Where a program could run: the unit of comparisons, samples and fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.kernel.model.cold import starts_cold
from clue.kernel.model.crowding import crowded_nodes
from clue.kernel.model.shared_links import shares_copies
from clue.machine import Machine, NoContention, Placement, Progress


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A machine with a program's ranks placed on it.

    Attributes:
        machine: Where.
        placement: Node of each rank of all instances, instance by instance.
        instances: Copies of the program side by side.
        bursts: CPU ns before each op, shape (ops,), 0 exactly where the program's are; ``None``: the program's.
    """

    machine: Machine
    placement: Placement
    instances: int = 1
    bursts: npt.NDArray[np.int64] | None = None

    @property
    def coupled_by_messages_alone(self) -> bool:
        """Whether messages alone couple ranks: no contention, sharing, cold starts, changes or waits for libraries."""
        machine, network = self.machine, self.machine.network
        if network.contention != NoContention() or network.progress is not Progress.ASYNCHRONOUS:
            return False
        if network.acknowledges or network.reads:
            return False
        if machine.changes or starts_cold(machine, self.placement.nodes):
            return False
        if shares_copies(machine) or network.states_copies:
            return False
        return not crowded_nodes(machine, self.placement)
