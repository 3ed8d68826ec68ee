"""Collectives that Open MPI composes of others; it chooses an algorithm for each of these separately."""

from __future__ import annotations

from collections.abc import Callable

from clue.collectives.schedule import Collective, Schedule

#: Lowers a part: a collective for one rank, by the algorithm that a library chooses.
Part = Callable[[Collective, int], Schedule]
#: An algorithm, from the function that lowers its parts.
Composed = Callable[[Part, Collective, int], Schedule]


def allreduce(part: Part, collective: Collective, rank: int) -> Schedule:
    """Reduce to rank 0, then broadcast from it.

    Source: Open MPI 5.0.10, ompi_coll_base_allreduce_intra_nonoverlapping.
    """
    return _reduced(part, collective, collective.sizes[0], rank) + part(_like(collective, "bcast"), rank)


def reduce_scatter(part: Part, collective: Collective, rank: int) -> Schedule:
    """Reduce to rank 0, then scatter blocks of different sizes from it.

    Source: Open MPI 5.0.10, ompi_coll_base_reduce_scatter_intra_nonoverlapping.
    """
    return _reduced(part, collective, sum(collective.sizes), rank) + part(_like(collective, "scatterv"), rank)


def reduce_scatter_block(part: Part, collective: Collective, rank: int) -> Schedule:
    """Reduce to rank 0, then scatter blocks of one size from it.

    Source: Open MPI 5.0.10, ompi_coll_base_reduce_scatter_block_basic_linear.
    """
    return _reduced(part, collective, sum(collective.sizes), rank) + part(_like(collective, "scatter"), rank)


def allgatherv(part: Part, collective: Collective, rank: int) -> Schedule:
    """Gather at rank 0, then broadcast all blocks from it, as one element.

    Source: Open MPI 5.0.10, ompi_coll_base_allgatherv_intra_basic_default.
    """
    total = sum(collective.sizes)
    whole = collective.manner._replace(element=max(total, 1))
    everything = Collective("bcast", collective.size, (total,) * collective.size, manner=whole)
    return part(_like(collective, "gatherv"), rank) + part(everything, rank)


def _reduced(part: Part, collective: Collective, nbytes: int, rank: int) -> Schedule:
    return part(Collective("reduce", collective.size, (nbytes,) * collective.size, manner=collective.manner), rank)


def _like(collective: Collective, name: str) -> Collective:
    return Collective(name, collective.size, collective.sizes, manner=collective.manner)
