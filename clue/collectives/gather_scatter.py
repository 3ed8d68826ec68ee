"""Gathers and scatters, with equal or different sizes: ``sizes`` holds one block per rank."""

from __future__ import annotations

from clue.collectives.blocks import Circle
from clue.collectives.rounds import at_once, exchange, receive, send
from clue.collectives.schedule import Collective, Schedule
from clue.collectives.trees import Node, binomial, binomial_extent


def gather_binomial(collective: Collective, rank: int) -> Schedule:
    """Gather up a binomial tree: ⌈log2 p⌉ α + (p - 1)/p nβ for n bytes in all. MPICH; Open MPI.

    Subtrees without data send nothing.
    Source: Thakur, Rabenseifner, Gropp 2005, doi:10.1177/1094342005051521.
    """
    tree, nbytes, below = _filled_tree(collective, rank)
    received = tuple(receive(child) for child, part in reversed(below) if part)
    return (*received, send(tree.parent, nbytes)) if tree.parent is not None and nbytes else received


def scatter_binomial(collective: Collective, rank: int) -> Schedule:
    """Scatter down a binomial tree: ⌈log2 p⌉ α + (p - 1)/p nβ for n bytes in all. MPICH; Open MPI.

    Subtrees without data receive nothing.
    Source: Thakur, Rabenseifner, Gropp 2005, doi:10.1177/1094342005051521.
    """
    tree, nbytes, below = _filled_tree(collective, rank)
    sent = tuple(send(child, part) for child, part in below if part)
    return (receive(tree.parent), *sent) if tree.parent is not None and nbytes else sent


def _filled_tree(collective: Collective, rank: int) -> tuple[Node, int, list[tuple[int, int]]]:
    """Return a rank's place in the tree, the bytes of its subtree, and its children with theirs."""
    root, size = collective.root, collective.size
    blocks = Circle(collective.sizes)

    def held(member: int) -> int:
        return blocks.span(member, binomial_extent(member, root, size))

    tree = binomial(rank, root, size)
    return tree, held(rank), [(child, held(child)) for child in tree.children]


def gather_linear(collective: Collective, rank: int) -> Schedule:
    """Let all send to the root, which has posted every receive. MPICH's gatherv. Empty blocks are not sent."""
    others = _others_with_data(collective)
    if rank == collective.root:
        return (at_once((), others),) if others else ()
    return (send(collective.root, collective.sizes[rank]),) if collective.sizes[rank] else ()


def gather_linear_in_turn(collective: Collective, rank: int) -> Schedule:
    """Let all send to the root, which receives from one after the other. Empty blocks are not sent.

    Source: Open MPI 5.0.10, ompi_coll_base_gather_intra_basic_linear, mca_coll_basic_gatherv_intra.
    """
    if rank == collective.root:
        return tuple(receive(other) for other in _others_with_data(collective))
    return gather_linear(collective, rank)


def gather_linear_sync(collective: Collective, rank: int) -> Schedule:
    """Let the root ask one rank after the other for its block and an empty message. Empty blocks are not sent.

    Source: Open MPI 5.0.10, ompi_coll_base_gather_intra_linear_sync, whose second segment is empty by default.
    """
    root, others = collective.root, _others_with_data(collective)
    if rank == root:
        asked = tuple(exchange(other, 0, other) for other in others)
        return (*asked, at_once((), others)) if others else ()
    nbytes = collective.sizes[rank]
    return (receive(root), send(root, nbytes), send(root, 0)) if nbytes else ()


def scatter_linear_in_turn(collective: Collective, rank: int) -> Schedule:
    """Let the root send to one after the other. Empty blocks are not sent.

    Source: Open MPI 5.0.10, ompi_coll_base_scatter_intra_basic_linear, mca_coll_basic_scatterv_intra.
    """
    if rank == collective.root:
        return tuple(send(other, collective.sizes[other]) for other in _others_with_data(collective))
    return scatter_linear(collective, rank)


def scatter_linear(collective: Collective, rank: int) -> Schedule:
    """Let the root send to all at once. MPICH's scatterv; Open MPI's linear_nb. Empty blocks are not sent."""
    if rank != collective.root:
        return (receive(collective.root),) if collective.sizes[rank] else ()
    others = _others_with_data(collective)
    return (at_once(tuple((other, collective.sizes[other]) for other in others)),) if others else ()


def _others_with_data(collective: Collective) -> tuple[int, ...]:
    return tuple(r for r, nbytes in enumerate(collective.sizes) if nbytes and r != collective.root)
