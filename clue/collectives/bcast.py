"""Broadcasts: ``sizes`` holds the payload, the same for every rank."""

from __future__ import annotations

from clue.collectives.blocks import Circle, full_blocks, segments
from clue.collectives.pipeline import downwards
from clue.collectives.rounds import at_once, exchange, receive, send
from clue.collectives.schedule import Collective, Schedule
from clue.collectives.trees import binary as binary_tree
from clue.collectives.trees import binomial as binomial_tree
from clue.collectives.trees import binomial_doubling as binomial_doubling_tree
from clue.collectives.trees import binomial_extent, doubling_steps, doublings, is_power_of_two, swapped
from clue.collectives.trees import chain as chain_tree
from clue.collectives.trees import knomial as knomial_tree

#: Radix of Open MPI's k-nomial broadcast.
RADIX = 4


def binomial(collective: Collective, rank: int) -> Schedule:
    """Pass the whole message down a binomial tree, a child at a time: ⌈log2 p⌉ (α + nβ). MPICH, short messages.

    Source: Thakur, Rabenseifner, Gropp 2005, section 4.3, doi:10.1177/1094342005051521.
    """
    tree = binomial_tree(rank, collective.root, collective.size)
    received = () if tree.parent is None else (receive(tree.parent),)
    return received + tuple(send(child, collective.sizes[rank]) for child in tree.children)


def binomial_at_once(collective: Collective, rank: int) -> Schedule:
    """Pass the whole message down a binomial tree, to all children at once.

    Source: MPICH 5.0.1, MPIR_Ibcast_intra_sched_binomial.
    """
    return downwards(binomial_tree(rank, collective.root, collective.size), collective.sizes[:1])


def binomial_doubling(collective: Collective, rank: int) -> Schedule:
    """Pass the whole message down the binomial tree whose edges double in length, to all children at once. Open MPI.

    Source: Open MPI 5.0.10, ompi_coll_base_bcast_intra_binomial.
    """
    return downwards(binomial_doubling_tree(rank, collective.root, collective.size), collective.sizes[:1])


def binomial_swapped(collective: Collective, rank: int) -> Schedule:
    """Do the same, but down the tree for rank 0, with the root and rank 0 swapped. Open MPI, nonblocking.

    Source: Open MPI 5.0.10, bcast_sched_binomial.
    """
    tree = swapped(binomial_doubling_tree, rank, collective.root, collective.size)
    return downwards(tree, collective.sizes[:1])


def scatter_ring_allgather(collective: Collective, rank: int) -> Schedule:
    """Scatter blocks down a binomial tree, then pass them around a ring. MPICH, long messages.

    Costs (log2 p + p - 1) α + 2 (p - 1)/p nβ for powers of two (van de Geijn's algorithm).
    Source: Thakur, Rabenseifner, Gropp 2005, section 4.3, doi:10.1177/1094342005051521.
    """
    blocks = _blocks(collective)
    return _scattered(collective, rank, blocks) + _ring(collective, rank, blocks)


def overlong_scatter_ring_allgather(collective: Collective, rank: int) -> Schedule:
    """Do the same, but scatter more than needed: inner ranks send on all that follows (MPICH, nonblocking).

    Source: MPICH 5.0.1, MPII_Iscatter_for_bcast_sched, MPIR_Ibcast_intra_sched_scatter_ring_allgather.
    """
    blocks = _blocks(collective)
    return _scattered_overlong(collective, rank, blocks) + _ring(collective, rank, blocks)


def _ring(collective: Collective, rank: int, blocks: Circle) -> Schedule:
    """Return the allgather around a ring."""
    size, place = collective.size, rank - collective.root
    left, right = (rank - 1) % size, (rank + 1) % size
    return tuple(exchange(right, blocks.span(place - step), left) for step in range(size - 1))


def scatter_recursive_doubling_allgather(collective: Collective, rank: int) -> Schedule:
    """Scatter blocks down a binomial tree, then gather them by recursive doubling. MPICH, medium messages.

    Costs 2 log2 p α + 2 (p - 1)/p nβ. Only for powers of two; else the ring, as MPICH selects.
    Source: Thakur, Rabenseifner, Gropp 2005, section 4.3, doi:10.1177/1094342005051521.
    """
    if not is_power_of_two(collective.size):
        return scatter_ring_allgather(collective, rank)
    blocks = _blocks(collective)
    return _scattered(collective, rank, blocks) + _doubled(collective, rank, blocks)


def overlong_scatter_recursive_doubling_allgather(collective: Collective, rank: int) -> Schedule:
    """Do the same, but scatter more than needed: inner ranks send on all that follows (MPICH, nonblocking).

    Source: MPICH 5.0.1, MPII_Iscatter_for_bcast_sched, MPIR_Ibcast_intra_sched_scatter_recursive_doubling_allgather.
    """
    if not is_power_of_two(collective.size):
        return overlong_scatter_ring_allgather(collective, rank)
    blocks = _blocks(collective)
    return _scattered_overlong(collective, rank, blocks) + _doubled(collective, rank, blocks)


def _doubled(collective: Collective, rank: int, blocks: Circle) -> Schedule:
    """Return the allgather by recursive doubling among a power of two."""
    size, root = collective.size, collective.root
    place = (rank - root) % size
    partners = ((bit, ((place ^ bit) + root) % size) for bit in doublings(size))
    return tuple(exchange(partner, blocks.span(place & -bit, bit), partner) for bit, partner in partners)


def scatter_doubling_allgather(collective: Collective, rank: int) -> Schedule:
    """Scatter blocks down a binomial tree, then gather them by recursive doubling, with any number of ranks. Open MPI.

    Source: Open MPI 5.0.10, ompi_coll_base_bcast_intra_scatter_allgather.
    """
    size, root = collective.size, collective.root
    blocks = _blocks(collective, collective.unit)
    rounds = list(_scattered(collective, rank, blocks))

    def placed(place: int) -> int:
        return (place + root) % size

    for step in doubling_steps((rank - root) % size, size):
        if step.partner is not None:
            rounds.append(exchange(placed(step.partner), blocks.between(step.own), placed(step.partner)))
        if step.passed_on_from is not None:
            rounds.append(receive(placed(step.passed_on_from)))
        rounds += [send(placed(place), blocks.between(step.other)) for place in step.passed_on_to]
    return tuple(rounds)


def _blocks(collective: Collective, unit: int = 1) -> Circle:
    """Return the blocks by position, counted from the root: MPICH cuts a broadcast by bytes, Open MPI by elements."""
    return Circle(full_blocks(collective.sizes[0], collective.size, unit))


def _scattered(collective: Collective, rank: int, blocks: Circle) -> Schedule:
    """Return the scatter part: every rank gets the blocks of its subtree; empty ones are not sent."""
    root, size = collective.root, collective.size
    tree = binomial_tree(rank, root, size)

    def held(member: int) -> int:
        return blocks.span(member - root, binomial_extent(member, root, size))

    received = () if tree.parent is None or not held(rank) else (receive(tree.parent),)
    return received + tuple(send(child, held(child)) for child in tree.children if held(child))


def _scattered_overlong(collective: Collective, rank: int, blocks: Circle) -> Schedule:
    """Return the scatter part whose inner ranks send their first child all blocks from its own to the last."""
    root, size = collective.root, collective.size
    tree = binomial_tree(rank, root, size)

    def held(member: int) -> int:
        return blocks.span(member - root, binomial_extent(member, root, size))

    def sent(nth: int, child: int) -> int:
        place = (child - root) % size
        return blocks.between((place, size)) if nth == 0 and rank != root else held(child)

    received = () if tree.parent is None or not held(rank) else (receive(tree.parent),)
    sends = tuple((child, sent(nth, child)) for nth, child in enumerate(tree.children) if held(child))
    return (*received, at_once(sends)) if sends else received


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


def split_binary(collective: Collective, rank: int) -> Schedule:
    """Pass a half down either side of a complete binary tree, then exchange halves across. Open MPI.

    Source: Open MPI 5.0.10, ompi_coll_base_bcast_intra_split_bintree, without segments.
    """
    size, root = collective.size, collective.root
    place, tree = (rank - root) % size, binary_tree(rank, root, size)
    halves = full_blocks(collective.sizes[0], 2, collective.unit)
    mine = 0 if place % 2 else 1  # odd places are on the first child's side; the root counts as on the other
    if tree.parent is None:
        first = tuple(send(child, half) for child, half in zip(tree.children, halves, strict=False))
        return (*first, send((root - 1) % size, halves[1])) if size % 2 == 0 else first
    passed = (receive(tree.parent), *(send(child, halves[mine]) for child in tree.children))
    if size % 2 == 0 and place == size - 1:
        return (*passed, receive(root))
    pair = (rank + 1) % size if mine == 0 else (rank - 1) % size
    return (*passed, exchange(pair, halves[mine], pair))


def chain(collective: Collective, rank: int) -> Schedule:
    """Pass the whole message along a chain: (p - 1) (α + nβ). Open MPI's fixed rules call this chain."""
    return downwards(chain_tree(rank, collective.root, collective.size), collective.sizes[:1])


def pipeline(collective: Collective, rank: int) -> Schedule:
    """Pass the message along a chain in k segments: (p + k - 2) (α + n/k β). Open MPI, long messages.

    Source: Pješivac-Grbović and others 2007, doi:10.1007/s10586-007-0012-0.
    """
    return downwards(chain_tree(rank, collective.root, collective.size), segments(collective.sizes[0]))
