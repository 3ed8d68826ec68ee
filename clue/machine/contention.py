"""How messages between nodes slow each other down: three models, of which a machine states one.

========== =========================================================================================================
factor     the CLUE paper's: delays grow with the number of simultaneous communications, by a measured table
ports      each node's send and receive port serve messages in turn, as store-and-forward Ethernet does
flows      links of a topology are shared max-min fairly by the messages that cross them
========== =========================================================================================================

Messages within a node take part in none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clue.machine.curve import Curve

if TYPE_CHECKING:
    # It needs numpy, which those who only look at machines do not load.
    from clue.machine.topology import Topology


@dataclass(frozen=True, slots=True)
class FactorTable:
    """The paper's contention model (section 4.2): communication times grow with simultaneous communications.

    Attributes:
        factors: ``(n, factor)`` by rising n, the first n being 1. Linear between entries, constant beyond the last.
    """

    factors: tuple[tuple[int, float], ...]

    def factor(self, simultaneous: int) -> float:
        """Return the factor for so many communications under way, the new one included."""
        low_n, low = self.factors[0]
        for n, factor in self.factors:
            if simultaneous < n:
                return low + (factor - low) * (simultaneous - low_n) / (n - low_n)
            low_n, low = n, factor
        return low

    @property
    def measured_up_to(self) -> int:
        """The largest number of simultaneous communications in the table."""
        return self.factors[-1][0]


@dataclass(frozen=True, slots=True)
class Ports:
    """Each node has a send and a receive port, which serve messages in turn.

    Attributes:
        busy: Time for which a message of so many bytes keeps either port, whatever its link says; ``None``: as that
            says (:class:`clue.machine.Link`).
    """

    busy: Curve | None = None


@dataclass(frozen=True, slots=True)
class Flows:
    """Messages share the links of a topology max-min fairly.

    Attributes:
        topology: Which links there are, and which of them a message crosses.
    """

    topology: Topology


#: What a network may state.
Contention = FactorTable | Ports | Flows
