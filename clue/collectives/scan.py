"""Prefix reductions, inclusive (scan) and exclusive (exscan): ``sizes`` holds one rank's vector."""

from __future__ import annotations

from clue.collectives.rounds import exchange, receive, send
from clue.collectives.schedule import Collective, Schedule
from clue.collectives.trees import doublings


def recursive_doubling(collective: Collective, rank: int) -> Schedule:
    """Exchange partial results with the rank that differs in bit k, if there is one: ⌈log2 p⌉ rounds. MPICH.

    Data from a lower rank are combined twice: into the partial result and into the prefix.
    Source: Thakur, Rabenseifner, Gropp 2005, doi:10.1177/1094342005051521.
    """
    nbytes = collective.sizes[rank]
    return tuple(
        exchange(partner, nbytes, partner, 2 * nbytes if partner < rank else nbytes)
        for partner in _partners(collective, rank)
    )


def exclusive_recursive_doubling(collective: Collective, rank: int) -> Schedule:
    """Do the same without a rank's own vector: the first prefix to arrive is only combined once. MPICH."""
    nbytes = collective.sizes[rank]
    partners = _partners(collective, rank)
    first = next((partner for partner in partners if partner < rank), None)
    return tuple(
        exchange(partner, nbytes, partner, 2 * nbytes if partner < rank and partner != first else nbytes)
        for partner in partners
    )


def _partners(collective: Collective, rank: int) -> list[int]:
    return [rank ^ bit for bit in doublings(collective.size) if rank ^ bit < collective.size]


def linear(collective: Collective, rank: int) -> Schedule:
    """Pass the prefix from rank to rank: (p - 1) (α + nβ + nγ). Open MPI."""
    return _passed(collective, rank, collective.sizes[rank])


def exclusive_linear(collective: Collective, rank: int) -> Schedule:
    """Do the same without a rank's own vector: the last rank combines nothing. Open MPI."""
    return _passed(collective, rank, collective.sizes[rank] if rank + 1 < collective.size else 0)


def _passed(collective: Collective, rank: int, reduced: int) -> Schedule:
    received = (receive(rank - 1, reduced),) if rank else ()
    return (*received, send(rank + 1, collective.sizes[rank])) if rank + 1 < collective.size else received
