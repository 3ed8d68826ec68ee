"""The form every collective algorithm takes: per rank, rounds of sends, receives and reductions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Round:
    """One step of one rank: post all receives, start all sends in order, wait for all, then combine or copy.

    Attributes:
        sends: ``(peer, nbytes)`` in order; the rank is blocked for each one's send delay in turn.
        receives: Peers to receive one message each from, in this order; the sender knows the size. Messages
            between two ranks within one collective match in order.
        reduced: Bytes combined after the receives, at the machine's time per byte.
    """

    sends: tuple[tuple[int, int], ...] = ()
    receives: tuple[int, ...] = ()
    reduced: int = 0


#: All rounds of one rank, in order.
Schedule = tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective operation on a communicator of ``size`` ranks.

    Attributes:
        name: ``"bcast"``, ``"allreduce"``, … (see :data:`clue.collectives.COLLECTIVE_NAMES`).
        size: Ranks in the communicator.
        root: Its root, where it has one.
        sizes: Bytes by rank as :mod:`clue.trace.ops` defines ``nbytes``: all equal for the regular ones,
            one block per rank for the v-variants; for alltoallv ``size·size`` entries, row by sender.
    """

    name: str
    size: int
    sizes: tuple[int, ...]
    root: int = 0

    @property
    def mean_size(self) -> int:
        """What libraries choose algorithms by where ranks contribute differently: bytes, rounded down."""
        return sum(self.sizes) // len(self.sizes)
