"""Reductions to a root: ``sizes`` holds one rank's vector, the same for every rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from clue.collectives.blocks import Circle, Cut, cut_circle, even_blocks, halved_blocks, rest_last, segments
from clue.collectives.pipeline import upwards
from clue.collectives.rounds import exchange, receive, send
from clue.collectives.schedule import Collective, Round, Schedule
from clue.collectives.trees import Fold, Halving, Node, doublings, halvings, swapped
from clue.collectives.trees import binary as binary_tree
from clue.collectives.trees import binomial as binomial_tree
from clue.collectives.trees import chain as chain_tree
from clue.collectives.trees import in_order_binary as in_order_tree

#: Bytes of a fragment of libnbc's chain.
_FRAGMENT = 8192


def binomial(collective: Collective, rank: int) -> Schedule:
    """Combine whole vectors up a binomial tree: ⌈log2 p⌉ (α + nβ + nγ). MPICH, short messages; Open MPI.

    Source: Thakur, Rabenseifner, Gropp 2005, section 4.5, doi:10.1177/1094342005051521.
    """
    return _up(binomial_tree(rank, collective.root, collective.size), collective.sizes[rank])


def binomial_swapped(collective: Collective, rank: int) -> Schedule:
    """Do the same, but up the tree for rank 0, with the root and rank 0 swapped. Open MPI, nonblocking.

    Source: Open MPI 5.0.10, red_sched_binomial.
    """
    return _up(swapped(binomial_tree, rank, collective.root, collective.size), collective.sizes[rank])


def _up(tree: Node, nbytes: int) -> Schedule:
    """Receive and combine the nearest child's vector first, a child at a time; then send the result to the parent."""
    combined = tuple(receive(child, nbytes) for child in reversed(tree.children))
    return combined if tree.parent is None else (*combined, send(tree.parent, nbytes))


def binomial_to_first(collective: Collective, rank: int) -> Schedule:
    """Combine up a binomial tree to rank 0, which sends the result to the root: in the order of ranks. MPICH.

    Source: MPICH 5.0.1, MPIR_Reduce_intra_binomial; Open MPI 5.0.10, red_sched_binomial: for operations that do not
    commute.
    """
    return _sent_on(collective, rank, 0, binomial(replace(collective, root=0), rank))


def in_order_binary(collective: Collective, rank: int) -> Schedule:
    """Combine up a binary tree to the last rank, which sends the result to the root: in the order of ranks. Open MPI.

    Source: Open MPI 5.0.10, ompi_coll_base_reduce_intra_in_order_binary.
    """
    last = collective.size - 1
    return _sent_on(collective, rank, last, upwards(in_order_tree(rank, collective.size), collective.sizes[:1]))


def _sent_on(collective: Collective, rank: int, holder: int, combined: Schedule) -> Schedule:
    """Let the rank with the result send it to the root, unless it is the root."""
    if collective.root == holder:
        return combined
    if rank == holder:
        return (*combined, send(collective.root, collective.sizes[rank]))
    return (*combined, receive(holder)) if rank == collective.root else combined


def reduce_scatter_gather(collective: Collective, rank: int) -> Schedule:
    """Combine by recursive halving, then gather the blocks at the root (Rabenseifner). MPICH, long messages.

    Costs 2 log2 p α + 2 (p - 1)/p nβ + (p - 1)/p nγ for powers of two.
    Source: Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1; Thakur, Rabenseifner, Gropp 2005, section 4.5.
    """
    return _reduced_and_gathered(collective, rank, handed_over, mpich_cut(collective))


def mpich_cut(collective: Collective) -> Cut:
    """Return how MPICH cuts a vector.

    Source: MPICH 5.0.1, MPIR_{Allreduce,Reduce}_intra_reduce_scatter_*, MPIR_{Iallreduce,Ireduce}_intra_sched_*.
    """
    return rest_last if collective.manner.nonblocking else even_blocks


def rabenseifner(collective: Collective, rank: int) -> Schedule:
    """Do the same, but let the ranks of a pair combine half a vector each beforehand. Open MPI.

    Source: Open MPI 5.0.10, ompi_coll_base_reduce_intra_redscat_gather, red_sched_redscat_gather.
    """
    by_halves = partial(combined_by_halves, unit=collective.unit)
    return _reduced_and_gathered(collective, rank, by_halves, halved_blocks)


def _reduced_and_gathered(collective: Collective, rank: int, fold_pair: FoldPair, cut: Cut) -> Schedule:
    fold = Fold(collective.size, keeper=0)
    root = collective.root
    nbytes = collective.sizes[rank]
    folded = fold_pair(fold, rank, nbytes)
    blocks = cut_circle(cut, nbytes, fold.core, collective.unit)
    if fold.stands_by(rank):
        # A passive root takes over block 0 and the part of rank 0.
        return folded if rank != root else (*folded, receive(0), *_gathered(fold, 0, root, blocks))
    combined = folded + _halved(fold, fold.number(rank), blocks)
    if fold.stands_by(root) and rank == 0:
        return (*combined, send(root, blocks.span(0)))
    return combined + _gathered(fold, fold.number(rank), root, blocks)


#: How the ranks of a folded pair combine their two vectors: from the fold, a rank and the bytes of a vector.
FoldPair = Callable[[Fold, int, int], Schedule]


def handed_over(fold: Fold, rank: int, nbytes: int) -> Schedule:
    """Let the passive rank send its vector to the active one, which combines them (MPICH)."""
    partner = fold.partner(rank)
    if partner is None:
        return ()
    return (send(partner, nbytes),) if fold.stands_by(rank) else (receive(partner, nbytes),)


def combined_by_halves(fold: Fold, rank: int, nbytes: int, unit: int) -> Schedule:
    """Let both combine a half, and the passive rank send its half to the active one (Open MPI)."""
    partner = fold.partner(rank)
    if partner is None:
        return ()
    kept, given = halved_blocks(nbytes, 2, unit)
    if fold.stands_by(rank):
        return (exchange(partner, kept, partner, given), send(partner, given))
    return (exchange(partner, given, partner, kept), receive(partner))


def _halved(fold: Fold, number: int, blocks: Circle) -> Schedule:
    rounds: list[Round] = []
    for step in _steps(fold, number):
        partner, kept = fold.rank(step.partner), blocks.between(step.kept)
        rounds.append(exchange(partner, blocks.between(step.given), partner, kept))
    return tuple(rounds)


def _steps(fold: Fold, number: int) -> list[Halving]:
    return list(halvings(number, fold.core, doublings(fold.core)))


def _gathered(fold: Fold, number: int, root: int, blocks: Circle) -> Schedule:
    """Return the gather: undo the halvings; a rank that is not on the root's side sends its blocks and is done."""
    goal = 0 if fold.stands_by(root) else fold.number(root)
    rounds: list[Round] = []
    for step in reversed(_steps(fold, number)):
        partner = root if step.partner == goal else fold.rank(step.partner)
        if (number ^ goal) & step.bit:
            return (*rounds, send(partner, blocks.between(step.kept)))
        rounds.append(receive(partner))
    return tuple(rounds)


def linear(collective: Collective, rank: int) -> Schedule:
    """Let the root receive and combine a vector at a time, from the last rank to the first (Open MPI)."""
    nbytes = collective.sizes[rank]
    if rank != collective.root:
        return (send(collective.root, nbytes),)
    return tuple(receive(other, nbytes) for other in reversed(range(collective.size)) if other != rank)


def binary(collective: Collective, rank: int) -> Schedule:
    """Combine whole vectors up a complete binary tree (Open MPI)."""
    return upwards(binary_tree(rank, collective.root, collective.size), collective.sizes[:1])


def chain(collective: Collective, rank: int) -> Schedule:
    """Combine whole vectors along a chain: (p - 1) (α + nβ + nγ) (Open MPI)."""
    return upwards(chain_tree(rank, collective.root, collective.size), collective.sizes[:1])


def chain_in_fragments(collective: Collective, rank: int) -> Schedule:
    """Combine along a chain in fragments of about 8 KiB, one after the other. Open MPI, nonblocking, few ranks.

    Source: Open MPI 5.0.10, red_sched_chain.
    """
    node = swapped(chain_tree, rank, collective.root, collective.size)
    nbytes = collective.sizes[0]
    rounds: list[Round] = []
    for fragment in rest_last(nbytes, len(segments(nbytes, _FRAGMENT)), collective.unit):
        rounds += [receive(child, fragment) for child in node.children]
        if node.parent is not None:
            rounds.append(send(node.parent, fragment))
    return tuple(rounds)


def pipeline(collective: Collective, rank: int) -> Schedule:
    """Combine along a chain in k segments: (p + k - 2) (α + n/k (β + γ)). Open MPI, long messages.

    Source: Pješivac-Grbović and others 2007, doi:10.1007/s10586-007-0012-0.
    """
    return upwards(chain_tree(rank, collective.root, collective.size), segments(collective.sizes[0]))
