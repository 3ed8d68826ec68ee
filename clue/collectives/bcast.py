"""Broadcasts: ``sizes`` holds the payload, the same for every rank."""

from __future__ import annotations

from clue.collectives.blocks import Circle, full_blocks, segments
from clue.collectives.pipeline import downwards
from clue.collectives.rounds import at_once, exchange, receive, send
from clue.collectives.schedule import Collective, Schedule
from clue.collectives.trees import binary as binary_tree
from clue.collectives.trees import binomial as binomial_tree
from clue.collectives.trees import binomial_extent, doublings, is_power_of_two
from clue.collectives.trees import chain as chain_tree
from clue.collectives.trees import knomial as knomial_tree

#: Radix of Open MPI's k-nomial broadcast.
RADIX = 4


def binomial(collective: Collective, rank: int) -> Schedule:
    """Pass the whole message down a binomial tree, a child at a time: ⌈log2 p⌉ (α + nβ). Short messages.

    Source: Thakur, Rabenseifner, Gropp 2005, section 4.3, doi:10.1177/1094342005051521.
    """
    tree = binomial_tree(rank, collective.root, collective.size)
    received = () if tree.parent is None else (receive(tree.parent),)
    return received + tuple(send(child, collective.sizes[rank]) for child in tree.children)


def scatter_ring_allgather(collective: Collective, rank: int) -> Schedule:
    """Scatter blocks down a binomial tree, then pass them around a ring. MPICH, long messages.

    Costs (log2 p + p - 1) α + 2 (p - 1)/p nβ for powers of two (van de Geijn's algorithm).
    Source: Thakur, Rabenseifner, Gropp 2005, section 4.3, doi:10.1177/1094342005051521.
    """
    size = collective.size
    blocks = _blocks(collective)
    place = rank - collective.root
    left, right = (rank - 1) % size, (rank + 1) % size
    ring = (exchange(right, blocks.span(place - step), left) for step in range(size - 1))
    return (*_scattered(collective, rank, blocks), *ring)


def scatter_recursive_doubling_allgather(collective: Collective, rank: int) -> Schedule:
    """Scatter blocks down a binomial tree, then gather them by recursive doubling. MPICH, medium messages.

    Costs 2 log2 p α + 2 (p - 1)/p nβ. Only for powers of two; else the ring, as MPICH selects.
    Source: Thakur, Rabenseifner, Gropp 2005, section 4.3, doi:10.1177/1094342005051521.
    """
    size, root = collective.size, collective.root
    if not is_power_of_two(size):
        return scatter_ring_allgather(collective, rank)
    blocks = _blocks(collective)
    place = (rank - root) % size
    partners = ((bit, ((place ^ bit) + root) % size) for bit in doublings(size))
    gathered = (exchange(partner, blocks.span(place & -bit, bit), partner) for bit, partner in partners)
    return (*_scattered(collective, rank, blocks), *gathered)


def _blocks(collective: Collective) -> Circle:
    """Return the blocks by place, counted from the root."""
    return Circle(full_blocks(collective.sizes[0], collective.size))


def _scattered(collective: Collective, rank: int, blocks: Circle) -> Schedule:
    """Return the scatter part: every rank gets the blocks of its subtree; empty ones are not sent."""
    root, size = collective.root, collective.size
    tree = binomial_tree(rank, root, size)

    def held(member: int) -> int:
        return blocks.span(member - root, binomial_extent(member, root, size))

    received = () if tree.parent is None or not held(rank) else (receive(tree.parent),)
    return received + tuple(send(child, held(child)) for child in tree.children if held(child))


def linear(collective: Collective, rank: int) -> Schedule:
    """Let the root send to all at once (Open MPI's basic linear)."""
    if rank != collective.root:
        return (receive(collective.root),)
    others = (other for other in range(collective.size) if other != rank)
    sends = tuple((other, collective.sizes[rank]) for other in others)
    return (at_once(sends),) if sends else ()


def knomial(collective: Collective, rank: int) -> Schedule:
    """Pass the whole message down a 4-nomial tree, to all children at once (Open MPI)."""
    return downwards(knomial_tree(rank, collective.root, collective.size, RADIX), collective.sizes[:1])


def binary(collective: Collective, rank: int) -> Schedule:
    """Pass the whole message down a complete binary tree, to both children at once (Open MPI)."""
    return downwards(binary_tree(rank, collective.root, collective.size), collective.sizes[:1])


def chain(collective: Collective, rank: int) -> Schedule:
    """Pass the whole message along a chain: (p - 1) (α + nβ). What Open MPI's fixed rules call chain."""
    return downwards(chain_tree(rank, collective.root, collective.size), collective.sizes[:1])


def pipeline(collective: Collective, rank: int) -> Schedule:
    """Pass the message along a chain in k segments: (p + k - 2) (α + n/k β). Open MPI, long messages.

    Source: Pješivac-Grbović and others 2007, doi:10.1007/s10586-007-0012-0.
    """
    return downwards(chain_tree(rank, collective.root, collective.size), segments(collective.sizes[0]))
