"""Cost of a rank's computation between two calls: measured, or fixed so that runs are reproducible.

A burst is its CPU time on the reference processor in nanoseconds; the machine scales it, as in a replay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from clue.errors import LiveError
from clue.trace import COLLECTIVES, PROC_NULL, Flag, Op, Trace
from clue.trace.calls import Call, LiveOp

#: Minimum length of synthetic bursts, and range of the variation added to it, ns.
SYNTHETIC, SPREAD = 10_000, 1024
_END = int(LiveOp.END)
#: By call of a live run, the ops that it can be in a trace, if these are others.
_ALIKE: dict[int, tuple[int, ...]] = {
    LiveOp.TEST: (Op.POLL, Op.WAIT),
    LiveOp.IPROBE: (Op.POLL, Op.PROBE),
    LiveOp.IMPROBE: (Op.POLL, Op.MPROBE),
    LiveOp.SLEEP: (Op.SLEEP,),
}
#: Calls and ops that only one of the two may have: ends of regions, sleeps, and what the model leaves out.
_LIVE_ONLY = frozenset({Op.COMPUTE, Op.OTHER, LiveOp.SLEEP})
_RECORDED_ONLY = frozenset({Op.COMPUTE, Op.OTHER, Op.SLEEP})
#: The call of a row whose request was cancelled, by its op.
_CANCELLED = {Op.POLL: Op.IRECV, Op.LOCAL: Op.ISEND}
_TO_PARTNERS = frozenset({Op.SEND, Op.ISEND, Op.RECV, Op.IRECV, Op.POLL, Op.PROBE, Op.MPROBE})


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
    """The bursts of a trace, op by op: the program must make the same calls as in the trace.

    Bursts before ops that a live run does not have, such as messages to null partners, count for the op after them.
    """

    trace: Trace
    rate: float | None = None
    _steps: dict[int, _Steps] = field(default_factory=dict, init=False)

    def burst(self, rank: int, index: int, call: Call) -> int:
        """Return the burst of the op in the trace, or 0 at the end of a rank without a last burst.

        Raises:
            LiveError: If the program makes other calls than the trace has, more, or fewer.
        """
        if not index:
            self._steps[rank] = _Steps(self.trace, rank)
        steps = self._steps[rank]
        burst = steps.take(call.op, call.payload if call.op == Op.COMPUTE else "")
        if burst is None:
            if steps.op == _END:
                got = f"{index} for rank {rank}, which makes more"
            elif call.op == _END:
                got = f"more than {index} for rank {rank}, which makes fewer"
            else:
                made = (LiveOp if call.op >= LiveOp.ANNOUNCE else Op)(call.op).name
                got = f"{Op(steps.op).name} as call {index} of rank {rank}, which makes {made}"
            raise LiveError(
                f"{self.trace.name}: bursts must be for the calls of this run, got {got}: use bursts of the same run, "
                "or synthetic ones",
                rank,
            )
        return burst


class _Steps:
    """The ops of a rank in a trace that a live run has, too, one after the other.

    Whether some nanoseconds outside regions, or between two of them, are a burst of their own may differ between a
    trace and a run, so bursts that end regions are matched by their regions. A burst of the trace that is passed over
    counts for the next one of its region in the run, at the latest for the next call that both have.
    """

    def __init__(self, trace: Trace, rank: int) -> None:
        self._rows = list(_rows(trace, rank)) if rank < trace.ranks else []
        self._at = 0
        #: By region, nanoseconds in bursts that were passed over.
        self._passed: dict[str, int] = {}

    @property
    def op(self) -> int:
        """The next one, or ``END``."""
        return self._rows[self._at][0] if self._at < len(self._rows) else _END

    def take(self, op: int, region: str) -> int | None:
        """Return the burst before a call, ns; ``None`` if the trace has another one here.

        Args:
            op: The call.
            region: Region of a burst that ends it; ``""`` outside any, and of other calls.
        """
        rows, end = self._rows, self._at
        if op not in _LIVE_ONLY or (region and region not in self._passed):
            while end < len(rows) and rows[end][0] in _RECORDED_ONLY and not self._is(end, op, region):
                end += 1
        if not self._is(end, op, region):
            if op in _LIVE_ONLY:
                return self._passed.pop(region, 0) if op == Op.COMPUTE else 0
            self._at = end
            return None
        total = 0
        for row, of, burst in rows[self._at : end]:
            total += burst
            if row == Op.COMPUTE:
                self._passed[of] = self._passed.get(of, 0) + total
                total = 0
        total += rows[end][2]
        self._at = end + 1
        if op == Op.COMPUTE:
            total += self._passed.pop(region, 0)
        elif op not in _LIVE_ONLY:
            total += sum(self._passed.values())
            self._passed.clear()
        return total

    def _is(self, at: int, op: int, region: str) -> bool:
        """Tell whether a row is a call."""
        if at == len(self._rows):
            return False
        row, of, _ = self._rows[at]
        return row in _ALIKE.get(op, (op,)) and (op != Op.COMPUTE or of == region)


def _rows(trace: Trace, rank: int) -> Iterator[tuple[int, str, int]]:
    """Yield the ops of a rank that a live run has, too, each with its region and the bursts since the last one, ns.

    A live run leaves to the real library: calls that cost nothing, null partners, collectives of a rank alone, and
    waits for these only, or the receive of a message that a matched probe of a null partner returned. How long a poll
    goes on is no call either.
    """
    ops, alone = trace.rank(rank), [len(each.group) == 1 and each.remote is None for each in trace.head.communicators]
    bursts = trace.bursts[slice(*trace.head.offsets[rank : rank + 2])]
    columns = (ops.op, ops.region, ops.flags, ops.peer, ops.comm, ops.request, ops.extra, ops.count, bursts)
    left_out: set[int] = set()
    total = 0
    lists = [each.tolist() for each in columns]
    for op, region, flags, peer, comm, request, extra, count, burst in zip(*lists, strict=True):
        total += burst
        made = _CANCELLED.get(op, op) if flags & Flag.CANCELLED else op
        waited = ops.extras[extra : extra + count].tolist() if count else [request]
        if (
            made == Op.LOCAL
            or (made == Op.SLEEP and flags & Flag.CONTINUED)
            or (made in _TO_PARTNERS and peer == PROC_NULL)
            or (made in COLLECTIVES and alone[comm])
            or (made in {Op.WAIT, Op.MRECV} and left_out.issuperset(waited))
        ):
            left_out.add(request)
            continue
        yield made, trace.head.regions[region], total
        total = 0
    yield _END, "", total


MEASURED = Measured()
