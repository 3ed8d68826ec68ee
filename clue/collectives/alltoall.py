"""Total exchanges, with equal or different sizes.

For alltoall, ``sizes`` holds the block to each rank, the same everywhere; for alltoallv, ``size·size`` blocks,
one row per sender. A rank's block to itself is a local copy and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from clue.collectives.rounds import exchange, exchange_data
from clue.collectives.schedule import Collective, Round, Schedule
from clue.collectives.trees import doublings, is_power_of_two

#: Sends and receives that MPICH posts at a time (the default of MPIR_CVAR_ALLTOALL_THROTTLE).
THROTTLE = 32


def _block(collective: Collective, sender: int, receiver: int) -> int:
    if collective.name == "alltoallv":
        return collective.sizes[sender * collective.size + receiver]
    return collective.sizes[sender]


@lru_cache(maxsize=4)
def _equal_messages(nbytes: int, size: int) -> tuple[tuple[int, int], ...]:
    """Return the message to each rank if all have the same size; shared by all senders."""
    return tuple((dest, nbytes) for dest in range(size))


def _messages_from(collective: Collective, sender: int) -> tuple[tuple[int, int], ...]:
    """Return destination and size of the message to each rank."""
    if collective.name != "alltoallv":
        return _equal_messages(collective.sizes[sender], collective.size)
    return tuple(enumerate(collective.sizes[sender * collective.size : (sender + 1) * collective.size]))


def bruck(collective: Collective, rank: int) -> Schedule:
    """Forward, in round k, all blocks whose distance has bit k: ⌈log2 p⌉ α + n/2 log2 p β. MPICH, blocks to 256 B.

    Regular exchanges only; n = p blocks. Source: Bruck and others 1997, doi:10.1109/71.642949.
    """
    size, block = collective.size, collective.sizes[rank]
    return tuple(
        exchange((rank + bit) % size, block * _ways_with(bit, size), (rank - bit) % size) for bit in doublings(size)
    )


def _ways_with(bit: int, size: int) -> int:
    """Return how many of the numbers 0 … size - 1 have this bit set."""
    whole, rest = divmod(size, 2 * bit)
    return whole * bit + max(0, rest - bit)


def linear(collective: Collective, rank: int) -> Schedule:
    """Start all receives and all sends at once, and wait for all (Open MPI). Empty blocks are not sent.

    Other calls than a blocking alltoall go through the ranks from 0, so that all send to the first ones first.
    Source: Open MPI 5.0.10, ompi_coll_base_alltoall_intra_basic_linear, ompi_coll_base_alltoallv_intra_basic_linear,
    a2a_sched_linear, a2av_sched_linear.
    """
    size = collective.size
    if collective.name == "alltoall" and not collective.manner.nonblocking:
        after = [(rank + step) % size for step in range(1, size)]
        return _posted(collective, rank, after[::-1], after)
    others = [other for other in range(size) if other != rank]
    return _posted(collective, rank, others, others)


def scattered(collective: Collective, rank: int) -> Schedule:
    """Start receives and sends 32 at a time (MPICH: medium blocks, and always for alltoallv)."""
    size = collective.size
    batches = (range(max(start, 1), min(start + THROTTLE, size)) for start in range(0, size, THROTTLE))
    rounds = (
        _posted(
            collective,
            rank,
            [(rank - step) % size for step in batch],
            [(rank + step) % size for step in batch],
        )
        for batch in batches
    )
    return tuple(chain.from_iterable(rounds))


def _posted(collective: Collective, rank: int, dests: Sequence[int], sources: Sequence[int]) -> Schedule:
    """Return the round that posts all these messages at once, or no round if no data move."""
    messages = _messages_from(collective, rank)
    if collective.name != "alltoallv":
        # All blocks are equal, and there are thousands of them.
        moves = bool(dests) and collective.sizes[rank] > 0
        return (Round(tuple([messages[dest] for dest in dests]), tuple(sources)),) if moves else ()
    blocks = collective.sizes[rank :: collective.size]
    sends = tuple([messages[dest] for dest in dests if messages[dest][1]])
    receives = tuple([source for source in sources if blocks[source]])
    # Such rounds do not recur, so there is nothing to share.
    return (Round(sends, receives),) if sends or receives else ()


def pairwise_sendrecv_replace(collective: Collective, rank: int) -> Schedule:
    """Exchange with one partner after the other, in the order of ranks: MPICH, in place. Empty blocks are sent, too.

    Rank i can exchange with j > i only after both have finished with all lower ranks: i with those below j, j with
    those below i. That makes 2 p - 3 steps.
    Source: MPICH 5.0.1, MPIR_Alltoall_intra_pairwise_sendrecv_replace, MPIR_Ialltoall_intra_sched_inplace.
    """
    others = (other for other in range(collective.size) if other != rank)
    return tuple(exchange(other, _block(collective, rank, other), other) for other in others)


def in_place(collective: Collective, rank: int) -> Schedule:
    """Exchange with the ranks k before and k after, for k = 1 … p/2: Open MPI, in place. Empty blocks are not sent.

    Source: Open MPI 5.0.10, mca_coll_base_alltoall_intra_basic_inplace; a2a_sched_inplace does it the other way around.
    """
    size = collective.size
    rounds: Schedule = ()
    for step in range(1, size // 2 + 1):
        right, left = (rank + step) % size, (rank - step) % size
        for dest, source in ((left, right), (right, left))[: 2 if left != right else 1]:
            sent, expected = _block(collective, rank, dest), _block(collective, source, rank)
            rounds += exchange_data(dest, sent, source, expected)
    return rounds


def pairwise(collective: Collective, rank: int) -> Schedule:
    """Exchange with one partner after the other: (p - 1) (α + n/p β). Long blocks. Empty blocks are not sent.

    Partners differ in the bits of the round's number if p is a power of two; else rank + k and rank - k.
    Source: Thakur, Rabenseifner, Gropp 2005, section 4.2, doi:10.1177/1094342005051521.
    """
    if not is_power_of_two(collective.size):
        return pairwise_shifted(collective, rank)
    partners = [(rank ^ step, rank ^ step) for step in range(1, collective.size)]
    return _in_turn(collective, rank, partners)


def pairwise_shifted(collective: Collective, rank: int) -> Schedule:
    """Send to rank + k and receive from rank - k, for k = 1 … p - 1: Open MPI. Empty blocks are not sent.

    Source: Open MPI 5.0.10, ompi_coll_base_alltoall_intra_pairwise, ompi_coll_base_alltoallv_intra_pairwise.
    """
    size = collective.size
    return _in_turn(collective, rank, [((rank + step) % size, (rank - step) % size) for step in range(1, size)])


def _in_turn(collective: Collective, rank: int, partners: Sequence[tuple[int, int]]) -> Schedule:
    """Return one exchange after the other, each with a rank to send to and one to receive from."""
    rounds = (
        exchange_data(dest, _block(collective, rank, dest), source, _block(collective, source, rank))
        for dest, source in partners
    )
    return tuple(chain.from_iterable(rounds))
