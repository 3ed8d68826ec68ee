"""Reductions whose result is scattered: ``sizes`` holds the block that each rank receives; n is their sum."""

from __future__ import annotations

from clue.collectives import reduce
from clue.collectives.blocks import Circle
from clue.collectives.gather_scatter import scatter_linear
from clue.collectives.rounds import exchange, exchange_data, receive, send
from clue.collectives.schedule import Collective, Schedule
from clue.collectives.trees import Fold, doublings, halvings


def recursive_halving(collective: Collective, rank: int) -> Schedule:
    """Halve the vector with partners p/2, p/4, … away: log2 p α + (p - 1)/p n (β + γ). Short and commutative.

    For other than powers of two, even ranks of the first pairs hand their vector to the odd ones and get
    their block at the end. Empty messages are not sent.
    Source: Thakur, Rabenseifner, Gropp 2005, section 4.4, doi:10.1177/1094342005051521.
    """
    fold = Fold(collective.size)
    total = sum(collective.sizes)
    partner = fold.partner(rank)
    if partner is None:
        return _halved(collective, fold, fold.number(rank))
    if fold.stands_by(rank):
        return (send(partner, total), *((receive(partner),) if collective.sizes[rank] else ()))
    block = collective.sizes[partner]
    result = (send(partner, block),) if block else ()
    return (receive(partner, total), *_halved(collective, fold, fold.number(rank)), *result)


def _halved(collective: Collective, fold: Fold, number: int) -> Schedule:
    blocks = Circle([_core_block(collective, fold, i) for i in range(fold.core)])
    rounds: Schedule = ()
    for step in halvings(number, fold.core, doublings(fold.core)[::-1]):
        partner, kept = fold.rank(step.partner), blocks.between(step.kept)
        rounds += exchange_data(partner, blocks.between(step.given), partner, kept, kept)
    return rounds


def _core_block(collective: Collective, fold: Fold, number: int) -> int:
    """Return what a number of the core ends up with: its own block and that of the one it stands for."""
    rank = fold.rank(number)
    partner = fold.partner(rank)
    return collective.sizes[rank] + (0 if partner is None else collective.sizes[partner])


def pairwise(collective: Collective, rank: int) -> Schedule:
    """Send each rank its block and combine one's own: (p - 1) α + (p - 1)/p n (β + γ). MPICH, long messages.

    Source: Thakur, Rabenseifner, Gropp 2005, section 4.4, doi:10.1177/1094342005051521.
    """
    size, blocks = collective.size, collective.sizes
    return tuple(
        exchange((rank + step) % size, blocks[(rank + step) % size], (rank - step) % size, blocks[rank])
        for step in range(1, size)
    )


def ring(collective: Collective, rank: int) -> Schedule:
    """Combine blocks around the ring of ranks: (p - 1) α + (p - 1)/p n (β + γ). Open MPI, long messages."""
    size, blocks = collective.size, collective.sizes
    left, right = (rank - 1) % size, (rank + 1) % size
    rounds = []
    for step in range(1, size):
        passed, combined = blocks[(rank - step) % size], blocks[(rank - step - 1) % size]
        rounds.append(exchange(right, passed, left, combined))
    return tuple(rounds)


def reduce_scatterv(collective: Collective, rank: int) -> Schedule:
    """Reduce to rank 0, then scatter from it (Open MPI's nonoverlapping)."""
    total = Collective("reduce", collective.size, (sum(collective.sizes),) * collective.size)
    blocks = Collective("scatterv", collective.size, collective.sizes)
    return reduce.binomial(total, rank) + scatter_linear(blocks, rank)
