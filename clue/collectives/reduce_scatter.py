"""Reductions whose result is scattered: ``sizes`` holds the block that each rank receives; n is their sum."""

from __future__ import annotations

from clue.collectives import reduce
from clue.collectives.blocks import Circle
from clue.collectives.reduce import handed_over
from clue.collectives.rounds import at_once, exchange, exchange_data, receive, send
from clue.collectives.schedule import Collective, Round, Schedule
from clue.collectives.trees import Fold, doubling_steps, doublings, halvings, is_power_of_two


def recursive_halving(collective: Collective, rank: int) -> Schedule:
    """Halve the vector with partners p/2, p/4, … away: log2 p α + (p - 1)/p n (β + γ). Short and commutative.

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
    """Return the final blocks of a member of the core: its own and that of the passive rank of its pair."""
    rank = fold.rank(number)
    partner = fold.partner(rank)
    return collective.sizes[rank] + (0 if partner is None else collective.sizes[partner])


def noncommutative(collective: Collective, rank: int) -> Schedule:
    """Halve the vector with partners 1, 2, 4, … away, its blocks in mirrored order: log2 p α + (p - 1)/p n (β + γ).

    Only for equal blocks on a power of two; else recursive doubling, as MPICH selects.
    Source: MPICH 5.0.1, MPIR_Reduce_scatter_intra_noncommutative, MPIR_Reduce_scatter_block_intra_noncommutative.
    """
    size = collective.size
    if not is_power_of_two(size) or not collective.is_regular:
        return recursive_doubling(collective, rank)
    halves = (collective.sizes[rank] * size // (2 * bit) for bit in doublings(size))
    return tuple(
        exchange(rank ^ bit, half, rank ^ bit, half) for bit, half in zip(doublings(size), halves, strict=True)
    )


def recursive_doubling(collective: Collective, rank: int) -> Schedule:
    """Send the rank that differs in bit k all partial results, except those for the blocks of the own subtree.

    Costs log2 p α + (log2 p - (p - 1)/p) n (β + γ) for powers of two. It preserves the order of ranks.
    Source: MPICH 5.0.1, MPIR_Reduce_scatter_intra_recursive_doubling; Open MPI 5.0.10,
    ompi_coll_base_reduce_scatter_block_intra_recursivedoubling; Thakur, Rabenseifner, Gropp 2005, section 4.4.
    """
    blocks, total = Circle(collective.sizes), sum(collective.sizes)
    rounds: list[Round] = []
    for step in doubling_steps(rank, collective.size):
        sent, got = total - blocks.between(step.own), total - blocks.between(step.other)
        if step.partner is not None:
            rounds.append(exchange(step.partner, sent, step.partner, got))
        if step.passed_on_from is not None:
            rounds.append(receive(step.passed_on_from, got))
        rounds += [send(peer, got) for peer in step.passed_on_to]
    return tuple(rounds)


def butterfly(collective: Collective, rank: int) -> Schedule:
    """Halve the vector with partners 1, 2, 4, … away, then exchange the blocks, which lie mirrored. Open MPI.

    For powers of two, Reduce_scatter_block mirrors the blocks beforehand, within each rank.
    Source: Träff 2005, EuroPVM/MPI, pp. 129-137; Open MPI 5.0.10, ompi_coll_base_reduce_scatter_intra_butterfly,
    ompi_coll_base_reduce_scatter_block_intra_butterfly.
    """
    if collective.manner.block and is_power_of_two(collective.size):
        return noncommutative(collective, rank)
    fold, sizes = Fold(collective.size), collective.sizes
    number = fold.number(rank)
    mirrored = _mirror(number, fold.core)
    folded = handed_over(fold, rank, sum(sizes))
    if fold.stands_by(rank):
        return (*folded, receive(fold.rank(mirrored)))
    blocks = Circle([_core_block(collective, fold, i) for i in range(fold.core)])
    rounds = list(folded)
    for step in halvings(number, fold.core, doublings(fold.core)):
        peer, kept = fold.rank(step.partner), blocks.between(step.kept)
        rounds.append(exchange(peer, blocks.between(step.given), peer, kept))
    owner = fold.rank(mirrored)
    absent = fold.partner(owner)
    if absent is not None:
        rounds.append(send(absent, sizes[absent]))
    if owner != rank:
        rounds.append(exchange(owner, sizes[owner], owner))
    return tuple(rounds)


def _mirror(number: int, core: int) -> int:
    """Return a number with its bits in reverse order."""
    return sum(core // (2 * bit) for bit in doublings(core) if number & bit)


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
    """Reduce to rank 0 by a binomial tree, then scatter from it, to all at once. Empty blocks are sent, too.

    Source: Open MPI 5.0.10, nbc_reduce_scatter_init, nbc_reduce_scatter_block_init, for nonblocking calls.
    """
    size, sizes = collective.size, collective.sizes
    reduced = reduce.binomial(Collective("reduce", size, (sum(sizes),) * size), rank)
    if rank:
        return (*reduced, receive(0))
    return (*reduced, at_once(tuple(enumerate(sizes))[1:])) if size > 1 else reduced
