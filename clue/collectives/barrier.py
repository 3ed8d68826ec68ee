"""Barriers: empty messages after which every rank has heard from every other, directly or indirectly."""

from __future__ import annotations

from clue.collectives.rounds import at_once, exchange, receive, send
from clue.collectives.schedule import Collective, Schedule
from clue.collectives.trees import binomial as binomial_tree
from clue.collectives.trees import core_size, doublings


def dissemination(collective: Collective, rank: int) -> Schedule:
    """Signal the rank 2^k further on in round k: ⌈log2 p⌉ rounds for any p. MPICH; Open MPI's "bruck".

    Source: Hensgen, Finkel, Manber 1988, doi:10.1007/BF01379320.
    """
    size = collective.size
    return tuple(exchange((rank + step) % size, 0, (rank - step) % size) for step in doublings(size))


def recursive_doubling(collective: Collective, rank: int) -> Schedule:
    """Exchange with the rank that differs in bit k; those beyond the largest power of two report to a proxy.

    Open MPI's choice for small communicators: log2 p rounds, 2 more if p is not a power of two.
    """
    core = core_size(collective.size)
    if rank >= core:
        return (send(rank - core, 0), receive(rank - core))
    rounds = tuple(exchange(rank ^ bit, 0, rank ^ bit) for bit in doublings(core))
    if rank + core < collective.size:
        return (receive(rank + core), *rounds, send(rank + core, 0))
    return rounds


def binomial(collective: Collective, rank: int) -> Schedule:
    """Gather signals up a binomial tree, then send releases down it."""
    tree = binomial_tree(rank, 0, collective.size)
    reports = tuple(receive(child) for child in reversed(tree.children))
    releases = tuple(send(child, 0) for child in tree.children)
    if tree.parent is None:
        return reports + releases
    return (*reports, send(tree.parent, 0), receive(tree.parent), *releases)


def double_ring(collective: Collective, rank: int) -> Schedule:
    """Send a token twice around the ring of ranks: 2p messages, one after the other (Open MPI)."""
    left, right = (rank - 1) % collective.size, (rank + 1) % collective.size
    lap = (send(right, 0), receive(left)) if rank == 0 else (receive(left), send(right, 0))
    return lap * 2 if collective.size > 1 else ()


def linear(collective: Collective, rank: int) -> Schedule:
    """Let rank 0 receive a signal from all, then signal all (Open MPI)."""
    if rank:
        return (send(0, 0), receive(0))
    others = range(1, collective.size)
    return (at_once((), tuple(others)), at_once(tuple((other, 0) for other in others))) if others else ()
