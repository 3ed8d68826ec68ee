"""The steps of the micro-tests. Each is written once, for real ranks and for ranks of a trace.

Ranks 0 and 1 are on one node, 2 and 3 on another. All four ranks begin a step at the same instant. Messages between
nodes go between 0 and 3, and between 1 and 2: on a testbed the two ranks of each pair have cores of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

RANKS = 4
SIZES = (0, 100, 1000, 10_000, 65_536, 1_000_000)
#: Time for which computing ranks compute, in seconds of their processor.
BUSY = 0.02
#: Largest total size of a stream, bytes, and largest number of its messages.
_STREAM_BYTES, _STREAM = 4_000_000, 32


class Rank(Protocol):
    """Operations of a step on a rank. Messages are received in the order in which they are sent."""

    @property
    def rank(self) -> int:
        """The rank's number."""

    def compute(self, seconds: float) -> None:
        """Compute for a time, without MPI calls."""

    def send(self, dest: int, nbytes: int) -> None:
        """Send."""

    def recv(self, source: int, nbytes: int) -> None:
        """Receive."""

    def sendrecv(self, other: int, nbytes: int) -> None:
        """Send and receive."""

    def isend(self, dest: int, nbytes: int) -> Any:
        """Start to send."""

    def irecv(self, source: int, nbytes: int) -> Any:
        """Start to receive."""

    def wait(self, *requests: Any) -> None:
        """Wait for all of these."""


def _one(nbytes: int) -> int:
    del nbytes
    return 1


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        name: Name of the step.
        run: The operations of each rank.
        messages: Number of successive messages of a size, by which the step's time is divided.
        calls: Further reported times, by name: a rank, and the first and last of its calls that are timed.
    """

    name: str
    run: Callable[[Rank, int], None]
    messages: Callable[[int], int] = _one
    calls: dict[str, tuple[int, int, int]] = field(default_factory=dict)


def stream_length(nbytes: int) -> int:
    """Return the number of messages of a size in a stream."""
    return max(4, min(_STREAM, _STREAM_BYTES // max(1, nbytes)))


def rounds(nbytes: int) -> int:
    """Return how often a short step is repeated: the first messages after a pause find caches cold."""
    return 8 if nbytes < 100_000 else 2


def _stream(rank: Rank, nbytes: int, pairs: tuple[tuple[int, int], ...] = ((0, 3),)) -> None:
    for source, dest in pairs:
        for _ in range(stream_length(nbytes)):
            if rank.rank == source:
                rank.send(dest, nbytes)
            elif rank.rank == dest:
                rank.recv(source, nbytes)


def _stream_nonblocking(rank: Rank, nbytes: int, pairs: tuple[tuple[int, int], ...] = ((0, 3),)) -> None:
    for source, dest in pairs:
        if rank.rank == source:
            rank.wait(*[rank.isend(dest, nbytes) for _ in range(stream_length(nbytes))])
        elif rank.rank == dest:
            rank.wait(*[rank.irecv(source, nbytes) for _ in range(stream_length(nbytes))])


_PAIRS = ((0, 3), (1, 2))


def _pair_streams(rank: Rank, nbytes: int) -> None:
    _stream(rank, nbytes, _PAIRS)


def _pair_streams_nonblocking(rank: Rank, nbytes: int) -> None:
    _stream_nonblocking(rank, nbytes, _PAIRS)


def _ping_pong(rank: Rank, nbytes: int) -> None:
    _to_and_fro(rank, nbytes, 3)


def _ping_pong_within(rank: Rank, nbytes: int) -> None:
    _to_and_fro(rank, nbytes, 1)


def _to_and_fro(rank: Rank, nbytes: int, other: int) -> None:
    for _ in range(rounds(nbytes)):
        if rank.rank == 0:
            rank.send(other, nbytes)
            rank.recv(other, nbytes)
        elif rank.rank == other:
            rank.recv(0, nbytes)
            rank.send(0, nbytes)


def _to_and_fro_messages(nbytes: int) -> int:
    return 2 * rounds(nbytes)


def _sendrecv(rank: Rank, nbytes: int) -> None:
    for _ in range(rounds(nbytes)):
        if rank.rank in {0, 3}:
            rank.sendrecv(3 - rank.rank, nbytes)


def _both_ways(rank: Rank, nbytes: int) -> None:
    for _ in range(rounds(nbytes)):
        if rank.rank in {0, 3}:
            other = 3 - rank.rank
            rank.wait(rank.irecv(other, nbytes), rank.isend(other, nbytes))


def _isend(rank: Rank, nbytes: int) -> None:
    for _ in range(rounds(nbytes)):
        if rank.rank == 0:
            rank.wait(rank.isend(3, nbytes))
        elif rank.rank == 3:
            rank.recv(0, nbytes)


def _late_receiver(rank: Rank, nbytes: int) -> None:
    if rank.rank == 0:
        rank.send(3, nbytes)
    elif rank.rank == 3:
        rank.compute(BUSY)
        rank.recv(0, nbytes)


def _receiver_in_mpi(rank: Rank, nbytes: int) -> None:
    """The receiver is already blocked in a receive from another rank, which computes first."""
    if rank.rank == 0:
        rank.send(3, nbytes)
    elif rank.rank == 3:
        rank.recv(1, 0)
        rank.recv(0, nbytes)
    elif rank.rank == 1:
        rank.compute(BUSY)
        rank.send(3, 0)


def _early_receiver(rank: Rank, nbytes: int) -> None:
    """The receive is posted early, and its rank computes meanwhile."""
    if rank.rank == 0:
        rank.compute(BUSY / 10)
        rank.send(3, nbytes)
    elif rank.rank == 3:
        request = rank.irecv(0, nbytes)
        rank.compute(BUSY)
        rank.wait(request)


def _late_receiver_isend(rank: Rank, nbytes: int) -> None:
    if rank.rank == 0:
        rank.wait(rank.isend(3, nbytes))
    elif rank.rank == 3:
        rank.compute(BUSY)
        rank.recv(0, nbytes)


def _sender_overlaps(rank: Rank, nbytes: int) -> None:
    if rank.rank == 0:
        request = rank.isend(3, nbytes)
        rank.compute(BUSY)
        rank.wait(request)
    elif rank.rank == 3:
        rank.recv(0, nbytes)


def _both_overlap(rank: Rank, nbytes: int) -> None:
    if rank.rank in {0, 3}:
        other = 3 - rank.rank
        requests = rank.irecv(other, nbytes), rank.isend(other, nbytes)
        rank.compute(BUSY)
        rank.wait(*requests)


STEPS = (
    Step("stream, blocking", _stream, stream_length, {"first send": (0, 0, 0), "last send": (0, -1, -1)}),
    Step("stream, nonblocking", _stream_nonblocking, stream_length, {"last isend": (0, -2, -2)}),
    Step("two pairs, blocking", _pair_streams, stream_length),
    Step("two pairs, nonblocking", _pair_streams_nonblocking, stream_length),
    Step("ping-pong (half)", _ping_pong, _to_and_fro_messages),
    Step("ping-pong within (half)", _ping_pong_within, _to_and_fro_messages),
    Step("sendrecv", _sendrecv, rounds),
    Step("both ways", _both_ways, rounds),
    Step("isend, wait", _isend, rounds, {"isend": (0, -2, -2), "wait": (0, -1, -1), "recv": (3, -1, -1)}),
    Step("late receiver", _late_receiver, calls={"send": (0, 0, 0), "recv": (3, 1, 1)}),
    Step("late receiver, isend, wait", _late_receiver_isend, calls={"isend": (0, 0, 0), "wait": (0, 1, 1)}),
    Step("receiver in MPI", _receiver_in_mpi, calls={"send": (0, 0, 0), "late recv": (3, 1, 1)}),
    Step("early receiver", _early_receiver, calls={"send": (0, 1, 1), "wait": (3, 2, 2)}),
    Step("sender overlaps", _sender_overlaps, calls={"isend": (0, 0, 0), "wait": (0, 2, 2), "recv": (3, 0, 0)}),
    Step("both overlap", _both_overlap, calls={"isend": (0, 1, 1), "wait": (0, 3, 3)}),
)
