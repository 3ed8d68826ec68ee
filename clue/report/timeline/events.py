"""Timelines of all ranks in the terms of other tools: bursts, calls and messages, in whole nanoseconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clue.kernel import Program
from clue.report.shared.call_sites import labels
from clue.result import Activity, Calls, Result
from clue.trace import COLLECTIVES, NO_REQUEST, Flag, Op, Trace
from clue.trace.ops import ROOTED

Integers = npt.NDArray[np.int64]
_NONBLOCKING = int(Flag.NONBLOCKING)
_SENDS = frozenset({Op.SEND, Op.ISEND})
#: Ops that name the rank to which data go.
_NAME_DESTS = _SENDS | {Op.RMA}
_POSTS = frozenset({Op.RECV, Op.IRECV, Op.MPROBE})
#: Ops that name a source rank.
_NAME_SOURCES = _POSTS | {Op.PROBE}


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a rank.

    Attributes:
        instance: The copy of the program that it belongs to, from 0.
        rank: Its rank in that copy.
        node: Index of its node.
        start: When it begins, ns; later than 0 if it is spawned.
        finish: When it ends, ns.
    """

    instance: int
    rank: int
    node: int
    start: int
    finish: int


@dataclass(frozen=True, slots=True)
class Slice:
    """A time interval of a rank.

    Attributes:
        rank: The rank, counted over all instances.
        begin: When it begins, ns.
        end: When it ends, ns.
        activity: What the rank does.
        region: Index of the region, for computation.
    """

    rank: int
    begin: int
    end: int
    activity: Activity
    region: int


@dataclass(frozen=True, slots=True)
class Call:
    """An MPI call.

    Attributes:
        rank: The rank that makes it, counted over all instances.
        begin: When it begins, ns.
        end: When it ends, ns.
        name: Its name, such as ``Send``.
        ops: Codes of the ops that it consists of.
        site: Index of its call site; 0 if unknown.
        dests: Ranks of the program that it sends to.
        sources: Ranks of the program that it receives from, or probes for messages from.
        sent: Bytes that it sends or packs; for a collective call as in :attr:`clue.trace.Trace.sent`.
        received: Bytes of the messages whose receives it posts.
        root: Rank of the program that is the root of a collective call, or ``None``.
        members: Number of ranks that take part in a collective call, or 0.
    """

    rank: int
    begin: int
    end: int
    name: str
    ops: tuple[int, ...]
    site: int
    dests: tuple[int, ...]
    sources: tuple[int, ...]
    sent: int
    received: int
    root: int | None
    members: int

    @property
    def title(self) -> str:
        """Its name in MPI: mpi4py's lower-case methods, which send objects, have the name of the upper-case call."""
        return f"MPI_{self.name[:1].upper()}{self.name[1:]}".replace(".", "_")

    @property
    def is_exchange(self) -> bool:
        """Whether it both sends and receives messages, as a Sendrecv does."""
        return not _SENDS.isdisjoint(self.ops) and not _POSTS.isdisjoint(self.ops)

    @property
    def is_collective(self) -> bool:
        """Whether all ranks of a communicator make it."""
        return self.ops[0] in COLLECTIVES


@dataclass(frozen=True, slots=True)
class Message:
    """A message that was received, times in ns.

    Attributes:
        source: The sender, counted over all instances.
        dest: The receiver.
        nbytes: Its size.
        tag: Its tag.
        sent: When the send began.
        sending: Begin and end of the call that sends it.
        leaves: When its data started to leave.
        posted: When its receive was posted.
        arrival: When it arrived.
        taken: Begin and end of the call that ended with the message received.
    """

    source: int
    dest: int
    nbytes: int
    tag: int
    sent: int
    sending: tuple[int, int]
    leaves: int
    posted: int
    arrival: int
    taken: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """The events of all ranks.

    Attributes:
        program: Name of the program.
        engine: The engine that simulated it.
        makespan: When the last rank ends, ns.
        places: The place of each rank.
        regions: Names of regions by index.
        sites: Names of call sites by index; ``""`` for the unknown one.
        slices: Computation, and the activities and waits of ranks within calls; by rank and time.
        calls: Calls by rank and time.
        messages: Messages by sender and time.
    """

    program: str
    engine: str
    makespan: int
    places: tuple[Place, ...]
    regions: tuple[str, ...]
    sites: tuple[str, ...]
    slices: tuple[Slice, ...]
    calls: tuple[Call, ...]
    messages: tuple[Message, ...]

    @property
    def computing(self) -> Iterator[Slice]:
        """The bursts."""
        return (each for each in self.slices if each.activity is Activity.COMPUTE)

    @property
    def nodes(self) -> list[int]:
        """The nodes that have ranks."""
        return sorted({each.node for each in self.places})


def nanoseconds(seconds: npt.NDArray[np.float64]) -> Integers:
    """Return times in whole nanoseconds; rounding keeps their order."""
    return np.rint(seconds * 1e9).astype(np.int64)


def events_of(trace: Trace, program: Program, result: Result) -> Events:
    """Return the events of a result that has its timeline and calls."""
    assert result.timeline is not None and result.calls is not None
    finish = nanoseconds(np.array([each.finish for each in result.ranks])).tolist()
    rows = _Rows.of(trace, result.calls, result.instances)
    slices = tuple(_slices(result.timeline.segments))
    return Events(
        program=program.name,
        engine=result.engine,
        makespan=max(finish, default=0),
        places=tuple(_places(program, rows, slices, result, finish)),
        regions=program.regions,
        sites=("", *map(str, labels(program.sites)[1:])),
        slices=slices,
        calls=tuple(_calls(trace, program, rows, result)),
        messages=tuple(_messages(program, rows, result.calls)),
    )


def _slices(segments: npt.NDArray[np.void]) -> Iterator[Slice]:
    begins, ends = nanoseconds(segments["begin"]), nanoseconds(segments["end"])
    columns = (segments["rank"], begins, ends, segments["activity"], segments["region"])
    for rank, begin, end, activity, region in zip(*(each.tolist() for each in columns), strict=True):
        yield Slice(rank, begin, end, Activity(activity), region)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of the trace, one instance after the other.

    Attributes:
        begin: When the call of each op began, ns.
        end: When it ended, ns.
        first: The first row of the call that each row of the trace belongs to.
        last: The last row of that call.
        instances: Number of instances.
    """

    begin: Integers
    end: Integers
    first: Integers
    last: Integers
    instances: int

    @classmethod
    def of(cls, trace: Trace, calls: Calls, instances: int) -> _Rows:
        first = trace.first_rows()
        heads, which = np.unique(first, return_inverse=True)
        last = np.append(heads[1:], len(first)) - 1
        return cls(nanoseconds(calls.begin), nanoseconds(calls.end), first, last[which], instances)

    def call(self, instance: int, row: int) -> tuple[int, int]:
        """Return begin and end of the call that a row of the trace belongs to, ns."""
        before = instance * len(self.first)
        return int(self.begin[before + self.first[row]]), int(self.end[before + self.last[row]])


def _places(
    program: Program, rows: _Rows, slices: tuple[Slice, ...], result: Result, finish: list[int]
) -> Iterator[Place]:
    """Yield the places of ranks: spawned ranks first wait to be started, before any call."""
    first: dict[int, Slice] = {}
    for each in slices:
        first.setdefault(each.rank, each)
    for of, end in zip(result.ranks, finish, strict=True):
        instance, rank = divmod(of.rank, program.ranks)
        waits, start = first.get(of.rank), 0
        if program.worlds[rank] and waits is not None and waits.activity is Activity.WAIT:
            own = rows.begin[instance * program.ops :][slice(*program.offsets[rank : rank + 2])]
            start = 0 if len(own) and waits.end > own[0] else waits.end
        yield Place(instance, rank, of.node, start, end)


def _calls(trace: Trace, program: Program, rows: _Rows, result: Result) -> Iterator[Call]:
    """Yield the calls of all instances; ops that continue a call belong to it, and computation is no call."""
    ops, of = program.columns, program.ops
    names, sites, codes = ops.call.tolist(), ops.site.tolist(), ops.op.tolist()
    peers, nbytes, comms = program.peers.tolist(), _sent(trace).tolist(), ops.comm.tolist()
    first = rows.first.tolist()
    sizes = [len(group) for group in program.groups]
    received = _received(program, result)
    for instance in range(rows.instances):
        for rank, (begin, end) in enumerate(pairwise(program.offsets)):
            heads = [row for row in range(begin, end) if row == begin or first[row] == row]
            for row, following in pairwise((*heads, end)):
                code = codes[row]
                if code == Op.COMPUTE:
                    continue
                span = range(row, following)
                moving = [each for each in span if peers[each] >= 0]
                collective = code in COLLECTIVES
                yield Call(
                    rank=instance * program.ranks + rank,
                    begin=int(rows.begin[instance * of + row]),
                    end=int(rows.end[instance * of + following - 1]),
                    name=trace.head.calls[names[row]],
                    ops=tuple(codes[row:following]),
                    site=sites[row],
                    dests=tuple(dict.fromkeys(peers[each] for each in moving if codes[each] in _NAME_DESTS)),
                    sources=tuple(dict.fromkeys(peers[each] for each in moving if codes[each] in _NAME_SOURCES)),
                    sent=sum(nbytes[each] for each in span if collective or codes[each] in _NAME_DESTS | {Op.PACK}),
                    received=sum(received.get(each, 0) for each in span),
                    root=peers[row] if code in ROOTED else None,
                    members=sizes[comms[row]] if collective else 0,
                )


def _sent(trace: Trace) -> Integers:
    """Return the bytes that each op sends or packs."""
    return np.where(trace.ops.op == Op.PACK, trace.ops.nbytes, trace.sent).astype(np.int64)


def _received(program: Program, result: Result) -> dict[int, int]:
    """Return the bytes of messages by the row of the trace that posts their receive."""
    assert result.calls is not None
    messages = result.calls.messages
    met = messages[messages["receive"] >= 0]
    nbytes = program.columns.nbytes[met["send"] % program.ops]
    return dict(zip((met["receive"] % program.ops).tolist(), nbytes.tolist(), strict=True))


def _messages(program: Program, rows: _Rows, calls: Calls) -> Iterator[Message]:
    """Yield the messages that were received; a message without a receiver has no end."""
    taken = taking(program)
    ranks = np.repeat(np.arange(program.ranks), np.diff(program.offsets)).tolist()
    tags, nbytes = program.columns.tag.tolist(), program.columns.nbytes.tolist()
    times = nanoseconds(np.nan_to_num(calls.messages["leaves"])), nanoseconds(np.nan_to_num(calls.messages["arrival"]))
    sides = (calls.messages["send"], calls.messages["receive"])
    for send, receive, leaves, arrival in zip(*(each.tolist() for each in (*sides, *times)), strict=True):
        instance, row = divmod(send, program.ops)
        ending = taken.get(receive % program.ops) if receive >= 0 else None
        if ending is None:
            continue
        yield Message(
            source=instance * program.ranks + ranks[row],
            dest=instance * program.ranks + ranks[receive % program.ops],
            nbytes=nbytes[row],
            tag=tags[row],
            sent=int(rows.begin[send]),
            sending=rows.call(instance, row),
            leaves=leaves,
            posted=int(rows.begin[receive]),
            arrival=arrival,
            taken=rows.call(instance, ending),
        )


def taking(program: Program) -> dict[int, int]:
    """Map each row that posts a receive to the row at whose end its message has arrived, if that is ever awaited."""
    taken: dict[int, int] = {}
    for first, rows in zip(program.offsets, program.rows, strict=False):
        pending: dict[int, int] = {}
        for i, row in enumerate(rows, first):
            if row.op in _POSTS:
                if row.request == NO_REQUEST:
                    taken[i] = i
                else:
                    pending[row.request] = i
            elif row.op == Op.WAIT or (row.op == Op.MRECV and not row.flags & _NONBLOCKING):
                for name in row.entries or (row.request,):
                    if name in pending:
                        taken[pending.pop(name)] = i
    return taken
