"""A live run kept as a trace, so that it can be replayed on other machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clue.errors import ReplayError
from clue.kernel.live.mailboxes import LiveMessage
from clue.kernel.reference.matching import Receive
from clue.kernel.reference.rank import Rank
from clue.trace import ANY, COLLECTIVES, NO_REQUEST, PROC_NULL, Flag, Op, Trace, TraceBuilder
from clue.trace.calls import Call, LiveOp
from clue.trace.ops import COLUMNS

_COLUMN = {name: i for i, (name, _, _) in enumerate(COLUMNS)}
_ANY_SOURCE, _ANY_TAG, _INTER = int(Flag.ANY_SOURCE), int(Flag.ANY_TAG), int(Flag.INTER)
_RECEIVES = frozenset({Op.RECV, Op.IRECV, Op.PROBE, Op.MPROBE})
_OUTGOING = frozenset({Op.SEND, Op.ISEND, Op.RMA})
_BY_RANK = _RECEIVES | _OUTGOING | {Op.POLL}
#: Live ops that become rows of the trace, beside the ops of traces.
_KEPT = frozenset({LiveOp.TEST, LiveOp.IPROBE, LiveOp.IMPROBE, LiveOp.SLEEP})

#: A communicator from one member's side: its context and the group of that member.
_Comm = tuple[int, tuple[int, ...]]


class Record:
    """Counts the rows that a trace would have; keeps nothing else."""

    def __init__(self, ranks: int) -> None:
        self._rows = [0] * ranks

    def rows(self, rank: int) -> int:
        """Return how many rows a rank has."""
        return self._rows[rank]

    def add(self, rank: Rank, call: Call, cpu: int, begin: float, answer: Any) -> None:  # noqa: ARG002
        """Note a call that is done."""
        if call.op < LiveOp.ANNOUNCE or call.op in _KEPT:
            self._rows[rank.rank] += 1

    def wait(self, rank: Rank, nanoseconds: int) -> None:  # noqa: ARG002
        """Note that the latest poll lasted longer than a poll, until a time."""
        self._rows[rank.rank] += 1

    def communicator(
        self, context: int, rank: int, group: tuple[int, ...], remote: tuple[int, ...] | None, name: str
    ) -> None:
        """Note a communicator of a rank."""

    def world(self, world: int, children: Sequence[int]) -> None:  # noqa: ARG002
        """Note ranks that were spawned."""
        self._rows += [0] * len(children)

    def cancelled(self, rank: Rank, request: int) -> None:
        """Note that a receive was cancelled."""

    def work(self, rank: int, region: int, flops: int) -> None:
        """Note declared operations."""


def _give_up(row: list[int]) -> None:
    """Turn a receive that gets no message into a poll, which keeps only the time of the call."""
    row[_COLUMN["op"]] = Op.POLL
    row[_COLUMN["flags"]] |= Flag.CANCELLED


class FullRecord(Record):
    """Keeps everything that happened, for a trace."""

    def __init__(self, ranks: int, program: str) -> None:
        super().__init__(ranks)
        self._program = program
        self._first = ranks
        self._kept: list[list[list[int]]] = [[] for _ in range(ranks)]
        self._extras: list[list[int]] = [[] for _ in range(ranks)]
        self._pending = [0] * ranks
        self._regions = [0] * ranks
        self._calls: dict[str, int] = {}
        #: Rows of nonblocking receives whose message is not known yet, by rank and request.
        self._open: dict[tuple[int, int], tuple[list[int], int]] = {}
        self._comms: dict[_Comm, int] = {(-1, tuple(range(ranks))): 0}
        self._described: list[tuple[tuple[int, ...], tuple[int, ...] | None, str, int]] = [
            (tuple(range(ranks)), None, "WORLD", -1)
        ]
        self._of: dict[tuple[int, int], int] = {}
        self._places: dict[tuple[int, int], dict[int, int]] = {}
        self._worlds: dict[int, tuple[int, ...]] = {}
        self._work: list[tuple[int, int, int]] = []

    # -- communicators ------------------------------------------------------------------------------------

    def communicator(
        self, context: int, rank: int, group: tuple[int, ...], remote: tuple[int, ...] | None, name: str
    ) -> None:
        """Note a communicator of a rank."""
        index = self._comms.get((context, group))
        if index is None:
            index = self._comms[context, group] = len(self._described)
            self._described.append((group, remote, name, context))
        self._of[context, rank] = index
        self._places[context, rank] = {each: i for i, each in enumerate(group if remote is None else remote)}

    def world(self, world: int, children: Sequence[int]) -> None:
        """Note ranks that were spawned."""
        super().world(world, children)
        self._worlds[world] = tuple(children)
        self._kept += [[] for _ in children]
        self._extras += [[] for _ in children]
        self._pending += [0] * len(children)
        self._regions += [0] * len(children)

    # -- rows ---------------------------------------------------------------------------------------------

    def add(self, rank: Rank, call: Call, cpu: int, begin: float, answer: Any) -> None:
        """Note a call that is done."""
        self._burst(rank.rank, call.region, cpu, begin)
        op, kept = call.op, self._kept[rank.rank]
        if op < LiveOp.ANNOUNCE:
            fields = self._plain(rank.rank, call, answer)
        elif op in _KEPT:
            fields = self._polled(rank.rank, call, answer)
        else:
            return
        row = self._row(rank.rank, fields, begin, rank.clock)
        kept.append(row)
        self._rows[rank.rank] += 1
        if op == Op.IRECV and ANY in {call.peer, call.tag}:
            self._open[rank.rank, call.request] = row, call.context
        elif op in {Op.WAIT, LiveOp.TEST}:
            self._close(rank.rank, call, answer)

    def wait(self, rank: Rank, nanoseconds: int) -> None:
        """Note that the latest poll lasted longer than a poll, until a time."""
        super().wait(rank, nanoseconds)
        fields = {"op": Op.SLEEP, "nbytes": nanoseconds, "flags": Flag.CONTINUED}
        self._kept[rank.rank].append(self._row(rank.rank, fields, rank.clock, rank.clock))

    def _burst(self, rank: int, region: int, cpu: int, begin: float) -> None:
        """Note a burst; a burst before a call that is not a row counts for the next row of its region."""
        if region != self._regions[rank] and self._pending[rank]:
            self._kept[rank].append(self._row(rank, {"op": Op.COMPUTE}, begin, begin))
            self._rows[rank] += 1
        self._regions[rank] = region
        self._pending[rank] += cpu

    def _row(self, rank: int, fields: Mapping[str, Any], begin: float, end: float) -> list[int]:
        row = [0] * len(COLUMNS)
        row[_COLUMN["request"]] = NO_REQUEST
        row[_COLUMN["cpu"]], self._pending[rank] = self._pending[rank], 0
        row[_COLUMN["region"]] = self._regions[rank]
        row[_COLUMN["begin"]] = round(begin * 1e9)
        row[_COLUMN["took"]] = round((end - begin) * 1e9)
        extras = fields.get("extras", ())
        if extras:
            row[_COLUMN["extra"]], row[_COLUMN["count"]] = len(self._extras[rank]), len(extras)
            self._extras[rank] += extras
        name = fields.get("call") or Op(fields["op"]).name.capitalize()
        row[_COLUMN["call"]] = self._calls.setdefault(name, len(self._calls))
        for column in ("op", "nbytes", "peer", "tag", "comm", "request", "flags"):
            if column in fields:
                row[_COLUMN[column]] = int(fields[column])
        return row

    def _plain(self, rank: int, call: Call, answer: Any) -> dict[str, Any]:
        """Return the fields of a call that exists in traces, too."""
        op = call.op
        fields: dict[str, Any] = {"op": op, "request": call.request, "flags": call.flags, "nbytes": call.nbytes}
        if op in _BY_RANK:
            source, tag = (answer[0], answer[1]) if op in _RECEIVES and answer is not None else (call.peer, call.tag)
            fields |= self._partner(rank, call, source, tag)
            if op == Op.RMA:
                # Even one without a target belongs to a window, which has its rank as a member.
                fields |= {"comm": self._comm(rank, call.context), "extras": call.entries}
        elif op in COLLECTIVES:
            peer = call.peer if call.peer >= 0 else 0
            fields |= {"comm": self._comm(rank, call.context), "peer": peer, "tag": call.tag}
            sizes = {Op.NEIGHBOR: len(call.entries), Op.ALLTOALLV: len(call.entries) // 2}
            fields["extras"] = call.entries[: sizes.get(Op(op), 0)]
        elif op == Op.SPAWN:
            comm = self._comm(rank, call.context)
            root = self._described[comm][0].index(call.peer)
            fields |= {"comm": comm, "peer": root, "nbytes": len(answer[1]), "extras": (answer[0],)}
        elif op == Op.WAIT:
            fields["extras"] = call.entries
        elif op == Op.OTHER:
            fields["call"] = call.payload
        return fields

    def _comm(self, rank: int, context: int) -> int:
        comm = self._of.get((context, rank))
        if comm is None:
            raise ReplayError(f"rank {rank}: communicator must be announced, got context {context}")
        return comm

    def _partner(self, rank: int, call: Call, source: int, tag: int) -> dict[str, Any]:
        """Return the fields of a row that describe its partner, numbered within the communicator."""
        if source == PROC_NULL:
            return {"peer": PROC_NULL, "tag": max(tag, 0)}
        if call.op == Op.POLL and source == ANY:
            return {"peer": ANY}
        comm = self._comm(rank, call.context)
        flags = call.flags | (_INTER if self._described[comm][1] is not None else 0)
        if call.op not in _OUTGOING:
            flags |= (_ANY_SOURCE if call.peer == ANY else 0) | (_ANY_TAG if call.tag == ANY else 0)
        peer = source if source < 0 else self._places[call.context, rank][source]
        return {"comm": comm, "peer": peer, "tag": tag, "flags": flags}

    def _polled(self, rank: int, call: Call, answer: Any) -> dict[str, Any]:
        """Return the fields of a poll or a sleep."""
        if call.op == LiveOp.SLEEP:
            return {"op": Op.SLEEP, "nbytes": call.nbytes}
        if call.op == LiveOp.TEST:
            if answer is None:
                return {"op": Op.POLL, "peer": ANY}
            done = [call.entries[i] for i, _ in answer]
            return {"op": Op.WAIT, "extras": done} if done else {"op": Op.LOCAL, "call": "Test"}
        if answer is None:
            return {**self._partner(rank, call, call.peer, call.tag), "op": Op.POLL}
        op = Op.PROBE if call.op == LiveOp.IPROBE else Op.MPROBE
        return {**self._partner(rank, call, answer[0], answer[1]), "op": op, "request": call.request}

    def _close(self, rank: int, call: Call, answer: Any) -> None:
        """Write the matched source and tag into the rows of receives that are complete."""
        if not self._open or answer is None:
            return
        names = call.entries or (call.request,)
        done = enumerate(answer) if call.op == Op.WAIT else answer
        for i, outcome in done:
            opened = self._open.pop((rank, names[i]), None)
            if opened is not None and isinstance(outcome, tuple):
                self._fill(rank, *opened, outcome[0], outcome[1])

    def _fill(self, rank: int, row: list[int], context: int, source: int, tag: int) -> None:
        row[_COLUMN["peer"]] = self._places[context, rank][source]
        row[_COLUMN["tag"]] = tag

    def cancelled(self, rank: Rank, request: int) -> None:
        """Note that a receive was cancelled."""
        self._open.pop((rank.rank, request), None)
        for row in reversed(self._kept[rank.rank]):
            if row[_COLUMN["request"]] == request and row[_COLUMN["op"]] == Op.IRECV:
                _give_up(row)
                return

    def work(self, rank: int, region: int, flops: int) -> None:
        """Note declared operations."""
        self._work.append((rank, region, flops))

    # -- the trace ----------------------------------------------------------------------------------------

    def trace(self, ranks: Sequence[Rank], regions: Sequence[str]) -> Trace:
        """Return the run as a trace."""
        for (rank, request), (row, context) in self._open.items():
            pending = ranks[rank].requests.get(request)
            message = pending.message if isinstance(pending, Receive) else None
            if isinstance(message, LiveMessage):
                self._fill(rank, row, context, message.source, message.tag)
            else:
                _give_up(row)
        for rank, pending_cpu in enumerate(self._pending):
            if pending_cpu:
                clock = ranks[rank].clock
                self._kept[rank].append(self._row(rank, {"op": Op.COMPUTE}, clock, clock))
        return self._build(regions)

    def _build(self, regions: Sequence[str]) -> Trace:
        builder = TraceBuilder(len(self._kept), self._program)
        for region in regions:
            builder.region(region)
        for name in self._calls:
            builder.call(name)
        indices = self._tell_communicators(builder)
        for rank, (rows, extras) in enumerate(zip(self._kept, self._extras, strict=True)):
            for row in rows:
                row[_COLUMN["comm"]] = indices[row[_COLUMN["comm"]]]
            builder[rank].rows = [tuple(row) for row in rows]
            builder[rank].extras = extras
        for rank, index, flops in self._work:
            builder.declare(rank, region=regions[index], flops=flops)
        return builder.build()

    def _tell_communicators(self, builder: TraceBuilder) -> list[int]:
        """Add all worlds and communicators to a trace; return the index of each communicator there."""
        for _, children in sorted(self._worlds.items()):
            builder.spawned(children)
        indices = [0]
        sides: dict[int, tuple[int, int]] = {}
        for group, remote, name, context in self._described[1:]:
            if remote is None:
                indices.append(builder.communicator(group, name))
            elif context in sides:
                indices.append(sides[context][1])
            else:
                sides[context] = builder.intercommunicator(group, remote, name)
                indices.append(sides[context][0])
        return indices
