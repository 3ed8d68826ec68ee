"""Collectives lowered to point-to-point operations: the messages and reductions of each rank, in order.

Pure functions of sizes and of the placement of ranks on nodes, independent of machines and time. ``lower(collective,
rank, algorithm)`` gives the rounds of one rank, ``default_choice`` the algorithm that MPICH or Open MPI would take.
docs/pages/model/collectives.md describes the rounds of each algorithm; docstrings say where it is used, what it costs,
and where it comes from.
In cost formulas, α is the latency of a message, β and γ are the times per byte sent and combined, n bytes, p ranks.
"""

from clue.collectives.catalogue import (
    ALGORITHMS,
    BY_NODES,
    COLLECTIVE_NAMES,
    NAMES_BY_OP,
    Algorithm,
    lower,
    lower_all,
    neighbor,
)
from clue.collectives.defaults import LIBRARIES, LIBRARIES_BY_NODES, default_choice
from clue.collectives.schedule import PLAIN, Collective, Manner, Round, Schedule

__all__ = [
    "ALGORITHMS",
    "BY_NODES",
    "COLLECTIVE_NAMES",
    "LIBRARIES",
    "LIBRARIES_BY_NODES",
    "NAMES_BY_OP",
    "PLAIN",
    "Algorithm",
    "Collective",
    "Manner",
    "Round",
    "Schedule",
    "default_choice",
    "lower",
    "lower_all",
    "neighbor",
]
