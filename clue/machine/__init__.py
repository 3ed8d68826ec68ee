"""Virtual machines: what a cluster that exists only on paper is made of."""

from clue.machine.curve import Curve
from clue.machine.machine import (
    AlgorithmChoice,
    Contention,
    Link,
    Machine,
    Network,
    NodeType,
    Placement,
    Waiting,
)

__all__ = [
    "AlgorithmChoice",
    "Contention",
    "Curve",
    "Link",
    "Machine",
    "Network",
    "NodeType",
    "Placement",
    "Waiting",
]
