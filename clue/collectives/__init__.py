"""Collectives lowered to point-to-point: which messages and reductions each rank makes, and in which order.

Pure functions on sizes, and on which ranks share nodes; nothing here knows machines or time. ``lower(collective, rank,
algorithm)`` gives the rounds of one rank, ``default_choice`` the algorithm that MPICH or Open MPI would take.
In formulas of cost α is a message's latency, β and γ the times per byte sent and combined, n bytes, p ranks.
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
from clue.collectives.defaults import LIBRARIES, default_choice
from clue.collectives.schedule import PLAIN, Collective, Manner, Round, Schedule

__all__ = [
    "ALGORITHMS",
    "BY_NODES",
    "COLLECTIVE_NAMES",
    "LIBRARIES",
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
