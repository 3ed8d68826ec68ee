"""Reductions to all ranks: ``sizes`` holds one rank's vector, the same for every rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

from clue.collectives import bcast, reduce
from clue.collectives.blocks import Cut, cut_circle, even_blocks, halved_blocks
from clue.collectives.rounds import exchange, receive, send
from clue.collectives.schedule import Collective, Round, Schedule
from clue.collectives.trees import Fold, doublings, halvings


def recursive_doubling(collective: Collective, rank: int) -> Schedule:
    """Exchange whole vectors with the rank that differs in bit k: log2 p (α + nβ + nγ). Short messages.

    Source: Thakur, Rabenseifner, Gropp 2005, section 4.5, doi:10.1177/1094342005051521.
    """
    nbytes = collective.sizes[rank]

    def doubled(fold: Fold, number: int) -> Schedule:
        exchanges = _whole_exchanges(collective.size, nbytes)
        return tuple([exchanges[fold.rank(number ^ bit)] for bit in doublings(fold.core)])

    return _within_core(collective, rank, doubled)


@lru_cache(maxsize=4)
def _whole_exchanges(size: int, nbytes: int) -> tuple[Round, ...]:
    """Return the exchange of whole vectors with each rank; all ranks share them."""
    return tuple(exchange(partner, nbytes, partner, nbytes) for partner in range(size))


def reduce_scatter_allgather(collective: Collective, rank: int) -> Schedule:
    """Combine by recursive halving, then gather by recursive doubling (Rabenseifner). Long messages.

    Costs 2 log2 p α + 2 (p - 1)/p nβ + (p - 1)/p nγ for powers of two.
    Source: Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1; Thakur, Rabenseifner, Gropp 2005, section 4.5.
    """
    return _within_core(collective, rank, _halved_and_doubled(collective, reduce.mpich_cut(collective)))


def rabenseifner(collective: Collective, rank: int) -> Schedule:
    """Do the same, but let the ranks of a pair combine half a vector each beforehand. Open MPI.

    Source: Open MPI 5.0.10, ompi_coll_base_allreduce_intra_redscat_allgather, allred_sched_redscat_allgather.
    """
    among = _halved_and_doubled(collective, halved_blocks)
    by_halves = partial(reduce.combined_by_halves, unit=collective.unit)
    return _within_core(collective, rank, among, keeper=0, fold_pair=by_halves)


#: The rounds of one member of the core, from the fold and the member's number.
_Among = Callable[[Fold, int], Schedule]


def _halved_and_doubled(collective: Collective, cut: Cut) -> _Among:
    def halved_and_doubled(fold: Fold, number: int) -> Schedule:
        blocks = cut_circle(cut, collective.sizes[0], fold.core, collective.unit)
        steps = [
            (fold.rank(step.partner), blocks.between(step.kept), blocks.between(step.given))
            for step in halvings(number, fold.core, doublings(fold.core))
        ]
        halved = tuple(exchange(partner, given, partner, kept) for partner, kept, given in steps)
        return halved + tuple(exchange(partner, kept, partner) for partner, kept, _ in reversed(steps))

    return halved_and_doubled


def _within_core(
    collective: Collective, rank: int, among: _Among, keeper: int = 1, fold_pair: reduce.FoldPair = reduce.handed_over
) -> Schedule:
    """Run an algorithm for powers of two on any number of ranks: surplus ranks hand their data to others."""
    fold = Fold(collective.size, keeper)
    nbytes = collective.sizes[rank]
    partner = fold.partner(rank)
    folded = fold_pair(fold, rank, nbytes)
    if partner is None:
        return among(fold, fold.number(rank))
    if fold.stands_by(rank):
        return (*folded, receive(partner))
    return (*folded, *among(fold, fold.number(rank)), send(partner, nbytes))


def ring(collective: Collective, rank: int) -> Schedule:
    """Combine blocks around a ring, then pass the results around.

    Costs 2 (p - 1) α + 2 (p - 1)/p nβ + (p - 1)/p nγ.
    Source: Patarasuk, Yuan 2009, doi:10.1016/j.jpdc.2008.09.002; Open MPI 5.0.10,
    ompi_coll_base_allreduce_intra_ring, allred_sched_ring.
    """
    size, nbytes, unit = collective.size, collective.sizes[rank], collective.unit
    nonblocking = collective.manner.nonblocking
    if nbytes // unit < size and not nonblocking:
        return recursive_doubling(collective, rank)
    blocks = cut_circle(even_blocks, nbytes, size, unit)
    left, right = (rank - 1) % size, (rank + 1) % size
    first = rank + 1 if nonblocking else rank
    combined = (
        exchange(right, blocks.span(first - step), left, blocks.span(first - step - 1)) for step in range(size - 1)
    )
    passed = (exchange(right, blocks.span(first + 1 - step), left) for step in range(size - 1))
    return (*combined, *passed)


def reduce_bcast(collective: Collective, rank: int) -> Schedule:
    """Reduce to rank 0, then broadcast from it, both by binomial trees.

    Source: Open MPI 5.0.10, allred_sched_diss, for nonblocking calls.
    """
    rooted = replace(collective, root=0)
    return reduce.binomial(rooted, rank) + bcast.binomial_doubling(rooted, rank)


def linear(collective: Collective, rank: int) -> Schedule:
    """Let rank 0 receive and combine a vector at a time, then send the result to all at once.

    Source: Open MPI 5.0.10, ompi_coll_base_allreduce_intra_basic_linear: for vectors of fewer elements than ranks.
    """
    rooted = replace(collective, root=0)
    return reduce.linear(rooted, rank) + bcast.linear(rooted, rank)
