"""Reductions to a root: ``sizes`` holds one rank's vector, the same for every rank."""

from __future__ import annotations

from clue.collectives.blocks import Circle, even_circle, segments
from clue.collectives.pipeline import upwards
from clue.collectives.rounds import exchange, receive, send
from clue.collectives.schedule import Collective, Round, Schedule
from clue.collectives.trees import Fold, Halving, doublings, halvings
from clue.collectives.trees import binary as binary_tree
from clue.collectives.trees import binomial as binomial_tree
from clue.collectives.trees import chain as chain_tree


def binomial(collective: Collective, rank: int) -> Schedule:
    """Combine whole vectors up a binomial tree: ⌈log2 p⌉ (α + nβ + nγ). MPICH, short messages; Open MPI.

    Source: Thakur, Rabenseifner, Gropp 2005, section 4.5, doi:10.1177/1094342005051521.
    """
    tree = binomial_tree(rank, collective.root, collective.size)
    nbytes = collective.sizes[rank]
    combined = tuple(receive(child, nbytes) for child in reversed(tree.children))
    return combined if tree.parent is None else (*combined, send(tree.parent, nbytes))


def reduce_scatter_gather(collective: Collective, rank: int) -> Schedule:
    """Combine by recursive halving, then gather the blocks at the root (Rabenseifner). MPICH, long messages.

    Costs 2 log2 p α + 2 (p - 1)/p nβ + (p - 1)/p nγ for powers of two. Otherwise odd ranks of the first pairs
    hand their vector to the even ones beforehand; if the root is among them, it takes the place of rank 0 for
    the gather.
    Source: Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1; Thakur, Rabenseifner, Gropp 2005, section 4.5.
    """
    fold = Fold(collective.size, keeper=0)
    root = collective.root
    nbytes = collective.sizes[rank]
    partner = fold.partner(rank)
    if partner is not None and fold.stands_by(rank):
        handed_over = (send(partner, nbytes),)
        return handed_over if rank != root else handed_over + _late_root(collective, fold)
    folded = () if partner is None else (receive(partner, nbytes),)
    blocks = even_circle(nbytes, fold.core)
    combined = folded + _halved(fold, fold.number(rank), blocks)
    if fold.stands_by(root) and rank == 0:
        return (*combined, send(root, blocks.span(0)))
    return combined + _gathered(fold, fold.number(rank), root, blocks)


def _halved(fold: Fold, number: int, blocks: Circle) -> Schedule:
    rounds: list[Round] = []
    for step in _steps(fold, number):
        partner, kept = fold.rank(step.partner), blocks.between(step.kept)
        rounds.append(exchange(partner, blocks.between(step.given), partner, kept))
    return tuple(rounds)


def _steps(fold: Fold, number: int) -> list[Halving]:
    return list(halvings(number, fold.core, doublings(fold.core)))


def _late_root(collective: Collective, fold: Fold) -> Schedule:
    """Return what a root that stood by does at the end: take over block 0 and the part of rank 0."""
    blocks = even_circle(collective.sizes[0], fold.core)
    return (receive(0), *_gathered(fold, 0, collective.root, blocks))


def _gathered(fold: Fold, number: int, root: int, blocks: Circle) -> Schedule:
    """Return the gather: undo the halvings; who is not on the root's side sends what it holds and is done."""
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


def pipeline(collective: Collective, rank: int) -> Schedule:
    """Combine along a chain in k segments: (p + k - 2) (α + n/k (β + γ)). Open MPI, long messages.

    Source: Pješivac-Grbović and others 2007, doi:10.1007/s10586-007-0012-0.
    """
    return upwards(chain_tree(rank, collective.root, collective.size), segments(collective.sizes[0]))
