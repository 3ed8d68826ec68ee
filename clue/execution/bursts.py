"""Cost of a rank's computation between two calls: measured, or fixed so that runs are reproducible.

A burst is its CPU time on the reference processor in nanoseconds; the machine scales it, as in a replay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from clue.errors import LiveError
from clue.trace import Trace
from clue.trace.calls import Call

#: Minimum length of synthetic bursts, and range of the variation added to it, ns.
SYNTHETIC, SPREAD = 10_000, 1024


class Bursts(Protocol):
    """Source of the bursts of a live run."""

    @property
    def rate(self) -> float | None:
        """Speed (flop/s) for operations declared by regions, or ``None``: CPU time is measured."""

    def burst(self, rank: int, index: int, call: Call) -> int:
        """Return the burst before an op, in ns.

        Args:
            rank: Rank of the program.
            index: Index of the op on its rank, from 0, as in a trace.
            call: The op's call, with the rank's own measurement of the burst (``cpu``).
        """


@dataclass(frozen=True, slots=True)
class Measured:
    """CPU time of the rank's thread, by its own clock, at this computer's best speed (:mod:`.core_speed`)."""

    rate: float | None = None

    def burst(self, rank: int, index: int, call: Call) -> int:  # noqa: ARG002 - one of several sources
        """Return the measured CPU time."""
        return call.cpu


@dataclass(frozen=True, slots=True)
class Declared(Measured):
    """Operations declared by regions (``region(name, flops=…)``) at a stated speed; other computation takes no time."""


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Synthetic bursts of 10 us and up to a tenth more, which depend only on rank and op."""

    rate: float | None = None

    def burst(self, rank: int, index: int, call: Call) -> int:  # noqa: ARG002
        """Return a length that rarely equals another rank's at the same op, so that ties are rare."""
        # Knuth's multiplicative hash spreads neighbours over the whole range.
        return SYNTHETIC + ((rank * 40503 + index + 1) * 2654435761 >> 16) % SPREAD


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """The bursts of a trace, op by op: the program must make the same calls as in the trace."""

    trace: Trace
    rate: float | None = None

    def burst(self, rank: int, index: int, call: Call) -> int:  # noqa: ARG002
        """Return the burst of the op in the trace, or 0 at the end of a rank without a last burst.

        Raises:
            LiveError: If the program makes more calls than the trace has.
        """
        offsets = self.trace.head.offsets
        known = offsets[rank + 1] - offsets[rank] if rank < self.trace.ranks else -1
        if index == known:
            return 0
        if index > known:
            raise LiveError(
                f"{self.trace.name}: bursts must be for the calls of this run, got {max(known, 0)} for rank {rank}, "
                "which makes more: use bursts of the same run, or synthetic ones",
                rank,
            )
        return int(self.trace.bursts[offsets[rank] + index])


MEASURED = Measured()
