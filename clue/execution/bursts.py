"""What a rank's computation between two calls costs: measured, or fixed so that two runs are equal.

A burst is what the reference processor takes for it, in nanoseconds of CPU time; the machine scales it, as in a replay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from clue.errors import LiveError
from clue.trace import Trace
from clue.trace.calls import Call

#: Made-up bursts last so long at least (ns), and up to so much longer.
SYNTHETIC, SPREAD = 10_000, 1024


class Bursts(Protocol):
    """Where the bursts of a live run come from."""

    @property
    def rate(self) -> float | None:
        """Speed (flop/s) at which ranks count what their regions declare, or ``None``: they measure CPU time."""

    def burst(self, rank: int, index: int, call: Call) -> int:
        """Return the burst before an op, in ns.

        Args:
            rank: Rank of the program.
            index: Which of the rank's ops it is, from 0, as a trace numbers them.
            call: It, with what the rank itself says of the burst (``cpu``).
        """


@dataclass(frozen=True, slots=True)
class Measured:
    """What the rank's thread computed, by its own clock."""

    rate: float | None = None

    def burst(self, rank: int, index: int, call: Call) -> int:  # noqa: ARG002 - one of several sources
        """Return what was measured."""
        return call.cpu


@dataclass(frozen=True, slots=True)
class Declared(Measured):
    """What regions declare (``region(name, flops=…)``) at a stated speed; all other computation takes no time."""


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Made-up bursts of 10 us and up to a tenth more, which depend on nothing but rank and op."""

    rate: float | None = None

    def burst(self, rank: int, index: int, call: Call) -> int:  # noqa: ARG002
        """Return a length that hardly ever equals another rank's at the same op, so that ties are rare."""
        # Knuth's multiplicative hash spreads neighbours over the whole range.
        return SYNTHETIC + ((rank * 40503 + index + 1) * 2654435761 >> 16) % SPREAD


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """The bursts of a trace, op by op: the program must make the calls that it made there."""

    trace: Trace
    rate: float | None = None

    def burst(self, rank: int, index: int, call: Call) -> int:  # noqa: ARG002
        """Return the burst that the trace has there, or 0 at the end of a rank whose last burst is none.

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
