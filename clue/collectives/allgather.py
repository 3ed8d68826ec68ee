"""Gathers to all ranks, with equal or different sizes: ``sizes`` holds each rank's contribution; n is their sum."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest

from clue.collectives.blocks import MOST_SEGMENTS, Circle
from clue.collectives.rounds import at_once, exchange, exchange_data
from clue.collectives.schedule import Collective, Schedule
from clue.collectives.trees import doublings, is_power_of_two


def recursive_doubling(collective: Collective, rank: int) -> Schedule:
    """Exchange all known blocks with the rank that differs in bit k: log2 p α + (p - 1)/p nβ.

    Only for powers of two; else Bruck's algorithm, as MPICH and Open MPI select.
    Source: Thakur, Rabenseifner, Gropp 2005, section 4.1, doi:10.1177/1094342005051521.
    """
    if not is_power_of_two(collective.size):
        return bruck(collective, rank)
    blocks = Circle(collective.sizes)
    return tuple(exchange(rank ^ bit, blocks.span(rank & -bit, bit), rank ^ bit) for bit in doublings(collective.size))


def bruck(collective: Collective, rank: int) -> Schedule:
    """Send all known blocks to the rank 2^k before: ⌈log2 p⌉ α + (p - 1)/p nβ for any p. Short messages.

    Source: Bruck and others 1997, doi:10.1109/71.642949; Thakur, Rabenseifner, Gropp 2005, section 4.1.
    """
    size = collective.size
    blocks = Circle(collective.sizes)
    return tuple(
        exchange((rank - step) % size, blocks.span(rank, min(step, size - step)), (rank + step) % size)
        for step in doublings(size)
    )


#: Bytes of a piece, beyond which MPICH sends the blocks of an allgatherv in pieces
#: (the default of MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE).
PIECE = 32768


def ring(collective: Collective, rank: int) -> Schedule:
    """Pass blocks around the ring of ranks: (p - 1) α + (p - 1)/p nβ. Long messages.

    Empty blocks are not sent.
    Source: Thakur, Rabenseifner, Gropp 2005, section 4.1, doi:10.1177/1094342005051521.
    """
    size, blocks = collective.size, collective.sizes
    left, right = (rank - 1) % size, (rank + 1) % size
    steps = (
        exchange_data(right, blocks[(rank - step) % size], left, blocks[(rank - step - 1) % size])
        for step in range(size - 1)
    )
    return tuple(chain.from_iterable(steps))


def pipelined_ring(collective: Collective, rank: int) -> Schedule:
    """Pass blocks around the ring in pieces, so that a long block is on its way in several places at once.

    In each step a rank sends the next piece and receives the next one; an empty block is a step without a message.
    There are at most 1024 pieces of all blocks together, which are longer if necessary.
    Source: MPICH 5.0.1, MPIR_Allgatherv_intra_ring, MPIR_Iallgatherv_intra_sched_ring.
    """
    size = collective.size
    left, right = (rank - 1) % size, (rank + 1) % size
    piece = _piece(collective)
    sent = _pieces(collective, [(rank - step) % size for step in range(size - 1)], piece)
    expected = _pieces(collective, [(left - step) % size for step in range(size - 1)], piece)
    steps = (exchange_data(right, out, left, come) for out, come in zip_longest(sent, expected, fillvalue=0))
    return tuple(chain.from_iterable(steps))


def _piece(collective: Collective) -> int:
    """Return the bytes of a piece: whole elements, and at least the shortest block if the call is nonblocking.

    That block is whole elements, even if their size is not known.
    """
    sizes, element = collective.sizes, collective.element
    if not collective.manner.nonblocking and max(sizes) <= PIECE:
        return PIECE
    least = max(PIECE, -(-sum(sizes) // MOST_SEGMENTS))
    piece = max(1, least // element) * element
    return max(piece, min(sizes)) if collective.manner.nonblocking else piece


def _pieces(collective: Collective, ranks: list[int], piece: int) -> Iterator[int]:
    """Yield the bytes of each piece of the blocks of some ranks; those of an empty block: 0."""
    for rank in ranks:
        block = collective.sizes[rank]
        yield from (min(piece, block - start) for start in range(0, block, piece))
        if not block:
            yield 0


def neighbor_exchange(collective: Collective, rank: int) -> Schedule:
    """Exchange with the left and the right neighbour in turn, two blocks each time: p/2 rounds. Open MPI.

    Only for even p; else the ring, as Open MPI does. Source: Chen, Zhang, Zhang, Yuan 2005, Performance
    evaluation of allgather algorithms on terascale Linux cluster with fast Ethernet (HPC Asia).
    """
    size = collective.size
    if size % 2:
        return ring(collective, rank)
    blocks = Circle(collective.sizes)
    towards = 1 if rank % 2 == 0 else -1
    first, second = (rank + towards) % size, (rank - towards) % size
    rounds = [exchange(first, blocks.span(rank), first)]
    for step in range(1, size // 2):
        partner = second if step % 2 else first
        rounds.append(exchange(partner, blocks.span(_newest_pair(rank, step), 2), partner))
    return tuple(rounds)


def _newest_pair(rank: int, step: int) -> int:
    """Return the first block of the pair that a rank learnt last before a step of the neighbour exchange."""
    # Pairs arrive from both sides in turn, each time from one pair further away; even ranks begin with those
    # on the left.
    away = step // 2 * 2
    own = rank - rank % 2
    return own - away if (rank + step) % 2 == 0 else own + away


def linear(collective: Collective, rank: int) -> Schedule:
    """Send one's own block to all and receive theirs, all at once, in the order of ranks: (p - 1) (α + n/p β).

    Source: Open MPI 5.0.10, nbc_allgather_init and nbc_allgatherv_init, for nonblocking calls.
    """
    nbytes, others = collective.sizes[rank], tuple(other for other in range(collective.size) if other != rank)
    return (at_once(tuple((other, nbytes) for other in others), others),) if others else ()
