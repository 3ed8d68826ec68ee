"""Execution events of a program, and the units that a skeleton keeps or drops as a whole.

A *unit* consists of events that only make sense together: a message with its send, its receive and the probes that saw
it; or the k-th collective call on a communicator by all of its members. Waits belong to the units of their requests. If
a program ran to its end, it still does after any units are dropped: in the order in which it ran, each call still finds
what it waits for, and the k-th receive of a channel still takes its k-th send.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clue.caveats import Caveat, counted
from clue.errors import SkeletonError
from clue.kernel import partners
from clue.steady.cuts import contexts_of, mentions, scrambled
from clue.trace import COLLECTIVES, NO_REQUEST, PROC_NULL, Flag, Op, Ops, Trace
from clue.trace.columns import within
from clue.trace.ops import COLUMNS

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
#: Marks a row that belongs to no unit.
NONE = -1
#: Collectives with a list of sizes.
LISTED = (Op.ALLTOALLV, Op.NEIGHBOR)
SENDS, RECEIVES = (Op.SEND, Op.ISEND), (Op.RECV, Op.IRECV, Op.MPROBE)
_WILD = Flag.ANY_SOURCE | Flag.ANY_TAG
#: The name of a computation among calls.
COMPUTE = "Compute"


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """Requests that waits and matched receives name.

    Attributes:
        row: Row that names each request, in order, shape (requests named,).
        start: Row of the call that began the request.
    """

    row: Integers
    start: Integers

    def __getitem__(self, some: Mask) -> Named:
        """Return some of them."""
        return Named(self.row[some], self.start[some])


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """The events of a program.

    Attributes:
        trace: Its events, without rows that are no events: polls, local calls, packing, null partners and null
            requests. Computation in such rows moves to the next event of their region, or stands alone as a
            computation.
        unit: Unit of each row; ``NONE`` for waits and matched receives; shape (ops,).
        named: Requests that waits and matched receives name.
        units: Number of units.
        caveats: Differences from the recording.
    """

    trace: Trace
    unit: Integers
    named: Named
    units: int
    caveats: tuple[Caveat, ...] = ()

    @classmethod
    def of(cls, trace: Trace) -> Events:
        """Find the events of a program.

        Raises:
            SkeletonError: If the program makes calls that no skeleton can repeat; the error lists all of them.
        """
        if faults := list(_refused(trace)):
            raise SkeletonError(faults)
        unit, units, lonely = _units(trace)
        named = _named(trace)
        named = named[unit[named.start] != NONE]
        events = unit != NONE
        events[named.row] = True
        kept, bursts = _carried(trace, events)
        computing = np.flatnonzero(kept & ~events)
        unit[computing] = units + np.arange(len(computing))
        calls = tuple(dict.fromkeys((*trace.head.calls, COMPUTE)))
        flags = trace.ops.flags & ~np.uint16(_WILD)
        first = trace.first_rows()
        ops = as_computation(replace(trace.ops, cpu=bursts, flags=flags), computing, calls.index(COMPUTE))
        whole = cls(
            replace(trace, head=replace(trace.head, calls=calls), ops=ops, typical=bursts),
            unit,
            named,
            units + len(computing),
            tuple(_caveats(trace, lonely)),
        )
        return whole.excerpt(np.flatnonzero(kept), first)

    @property
    def first(self) -> Integers:
        """The first row of each unit, shape (units,)."""
        rows = np.flatnonzero(self.unit != NONE)[::-1]
        first = np.zeros(self.units, np.int64)
        first[self.unit[rows]] = rows
        return first

    def excerpt(self, rows: Integers, calls: Integers | None = None) -> Events:
        """Return some rows, with requests renumbered.

        Args:
            rows: Rows of whole units, with waits for some of their requests.
            calls: For each row, the row with which its call begins; found from flags if not given.
        """
        trace, ops = self.trace, self.trace.ops
        calls = trace.first_rows() if calls is None else calls
        number = np.full(len(ops), NONE, np.int64)
        number[rows] = np.arange(len(rows))
        named = self.named[(number[self.named.row] != NONE) & (number[self.named.start] != NONE)]
        named = Named(number[named.row], number[named.start])
        offsets = np.searchsorted(rows, trace.head.offsets)
        columns = {name: getattr(ops, name)[rows] for name, _, _ in COLUMNS}
        columns["flags"] = _continued(columns["flags"], calls[rows], offsets)
        old = replace(ops, **columns)
        requests = _numbered(begins_request(old), offsets)
        lists = _Lists.of(trace, rows, old, named, requests)
        columns["request"] = lists.single.astype(np.int32)
        columns["extra"], columns["count"] = lists.extra(offsets).astype(np.int32), lists.count.astype(np.int32)
        ends = np.append(0, np.cumsum(lists.count))
        head = replace(
            trace.head,
            offsets=tuple(offsets.tolist()),
            extra_offsets=tuple(ends[offsets].tolist()),
            probe=None,
            typical=None,
            checksums={},
        )
        short = Trace(head, Ops(**columns, extras=lists.entries), trace.path)
        return replace(self, trace=short, unit=self.unit[rows], named=named)


def as_computation(ops: Ops, rows: Integers, call: int) -> Ops:
    """Return ops with some rows turned into mere computation."""
    values = {"op": Op.COMPUTE, "call": call, "request": NO_REQUEST}
    columns = {name: getattr(ops, name).copy() for name in ("op", "call", "request", "nbytes", "peer", "tag", "comm")}
    columns |= {name: getattr(ops, name).copy() for name in ("count", "extra", "flags")}
    for name, column in columns.items():
        column[rows] = values.get(name, 0)
    return replace(ops, **columns)


def begins_request(ops: Ops) -> Mask:
    """Tell which ops begin a request."""
    calls = ops.are(*COLLECTIVES) & (ops.flags & Flag.NONBLOCKING != 0)
    begins: Mask = (ops.are(Op.ISEND, Op.IRECV, Op.MPROBE) | calls) & (ops.request != NO_REQUEST)
    return begins


# --- what a skeleton cannot repeat ---


def _refused(trace: Trace) -> Iterator[str]:
    """Yield a line for each call that no skeleton can repeat."""
    ops, head = trace.ops, trace.head
    if spawned := sum(each.world > 0 for each in head.rank_heads):
        yield f"{trace.name}: a skeleton must have all ranks from the beginning, got {spawned} spawned ones"
    between = np.array([each.remote is not None for each in head.communicators], np.bool_)
    talks = ops.are(*SENDS, *RECEIVES, Op.PROBE, *COLLECTIVES)
    # Of windows, too, whose calls are written as messages, waits and collectives on communicators of their own.
    alone = ops.are(Op.SPAWN, Op.OTHER, Op.RMA) | np.array([each.startswith("Win.") for each in head.calls])[ops.call]
    rows = np.flatnonzero(alone | talks & ((ops.flags & Flag.INTER != 0) | between[ops.comm]))
    # Sites are told apart by all callers, but named by the innermost line.
    found: Counter[str] = Counter()
    keys, counts = np.unique(np.stack([ops.call[rows], ops.site[rows], alone[rows]]), axis=1, return_counts=True)
    for (call, site, by_itself), count in zip(keys.T.tolist(), counts.tolist(), strict=True):
        where = f" at {head.sites[site].name}" if head.sites[site].name else ""
        why = "" if by_itself else " between the groups of an intercommunicator"
        found[f"{head.calls[call]}{where}{why}"] += count
    for what, count in found.items():
        times = f" ({count:,} times)" if count > 1 else ""
        yield f"{trace.name}: calls must be such as a skeleton can repeat, got {what}{times}"
    yield from _uneven(trace)


def _uneven(trace: Trace) -> Iterator[str]:
    """Yield a line for each communicator whose members make different collective calls, as in a part of a run."""
    ops, ranks = trace.ops, trace.ranks
    rows = np.flatnonzero(ops.are(*COLLECTIVES))
    if not len(rows):
        return
    members = ops.comm[rows].astype(np.int64) * ranks + trace.row_ranks[rows]
    order = np.argsort(members, kind="stable")
    found, firsts = np.unique(members[order], return_index=True)
    calls = (each.astype(np.uint8).tobytes() for each in np.split(ops.op[rows[order]], firsts[1:]))
    made = dict(zip(found.tolist(), calls, strict=True))
    for number, each in enumerate(trace.head.communicators):
        own = [made.get(number * ranks + rank, b"") for rank in each.group]
        other = next((i for i, mine in enumerate(own) if mine != own[0]), 0)
        if each.remote is None and other:
            yield (
                f"{trace.name}: members of communicator {each.context} must make the same collective calls, got "
                f"{_difference(own[0], own[other])} on ranks {each.group[0]} and {each.group[other]}"
            )


def _difference(one: bytes, other: bytes) -> str:
    """Return how two different sequences of op codes differ: in length, or else in the first code that differs."""
    if len(one) != len(other):
        return f"{len(one):,} and {len(other):,}"
    at = next(i for i, codes in enumerate(zip(one, other, strict=True)) if codes[0] != codes[1])
    return f"{Op(one[at]).name} and {Op(other[at]).name} as call {at:,}"


def _caveats(trace: Trace, lonely: int) -> Iterator[Caveat]:
    ops = trace.ops
    wild = ops.are(*RECEIVES, Op.PROBE) & (ops.flags & Flag.ANY_SOURCE != 0) & (ops.peer >= 0)
    if count := int(wild.sum()):
        yield counted(
            trace.name,
            "{count:receive or probe from any source is|receives and probes from any source are} from the recorded "
            "source",
            count,
        )
    if lonely:
        yield counted(
            trace.name,
            "{count:message without a known sender or receiver is|messages without a known sender or receiver are} "
            "left out",
            lonely,
        )


# --- units ---


def _units(trace: Trace) -> tuple[Integers, int, int]:
    """Return the unit of each row, the number of units, and the number of messages that lack an end."""
    unit = np.full(len(trace.ops), NONE, np.int64)
    messages, lonely = _messages(trace, unit)
    collectives = _collectives(trace, unit, messages)
    asleep = np.flatnonzero(trace.ops.are(Op.SLEEP))
    unit[asleep] = collectives + np.arange(len(asleep))
    return unit, collectives + len(asleep), lonely


def _messages(trace: Trace, unit: Integers) -> tuple[int, int]:
    """Number messages: the k-th send of a channel matches its k-th receive. Returns counts of matched and unmatched."""
    ops, own = trace.ops, trace.row_ranks
    peers, contexts = partners(trace).astype(np.int64), contexts_of(trace)[ops.comm]
    there = (peers != PROC_NULL) & (ops.flags & Flag.CANCELLED == 0)
    sent, received, probed = (np.flatnonzero(there & ops.are(*kinds)) for kinds in (SENDS, RECEIVES, (Op.PROBE,)))
    rows = np.concatenate([sent, received, probed])
    sending = np.arange(len(rows)) < len(sent)
    ends = np.where(sending, [own[rows], peers[rows]], [peers[rows], own[rows]])
    channel = np.unique(scrambled(contexts[rows], *ends, ops.tag[rows]), return_inverse=True)[1].ravel()
    ways = channel[: len(sent)], channel[len(sent) : len(sent) + len(received)], channel[len(sent) + len(received) :]
    channels = int(channel.max(initial=-1)) + 1
    sends, receives = (np.bincount(way, minlength=channels) for way in ways[:2])
    through = np.minimum(sends, receives)
    base = np.cumsum(through) - through
    serials = serials_of(ways[0]), serials_of(ways[1]), _passed(ways[1], received, ways[2], probed, len(ops))
    for at, way, serial in zip((sent, received, probed), ways, serials, strict=True):
        whole = serial < through[way]
        unit[at[whole]] = base[way[whole]] + serial[whole]
    return int(through.sum()), int((np.maximum(sends, receives) - through).sum())


def _collectives(trace: Trace, unit: Integers, first: int) -> int:
    """Number collective calls: the k-th calls of all members are one unit. Returns the number after the last."""
    ops = trace.ops
    rows = np.flatnonzero(ops.are(*COLLECTIVES))
    # Neighbourhood collectives are counted separately from the others.
    line = 2 * contexts_of(trace)[ops.comm[rows]] + (ops.op[rows] == Op.NEIGHBOR)
    line = np.unique(line, return_inverse=True)[1].ravel()
    serial = serials_of(np.unique(line * trace.ranks + trace.row_ranks[rows], return_inverse=True)[1].ravel())
    calls = np.zeros(int(line.max(initial=-1)) + 1, np.int64)
    np.maximum.at(calls, line, serial + 1)
    unit[rows] = first + (np.cumsum(calls) - calls)[line] + serial
    return first + int(calls.sum())


def serials_of(groups: Integers) -> Integers:
    """Return how many entries of the same group come before each entry; groups are numbered from 0."""
    serial = np.empty(len(groups), np.int64)
    serial[np.argsort(groups, kind="stable")] = within(np.bincount(groups))
    return serial


def _passed(ways: Integers, received: Integers, looked: Integers, probed: Integers, ops: int) -> Integers:
    """Return for each probe how many messages of its channel were received before it."""
    taken = np.sort(ways * (ops + 1) + received)
    begin = looked * (ops + 1)
    passed: Integers = np.searchsorted(taken, begin + probed) - np.searchsorted(taken, begin)
    return passed


def _named(trace: Trace) -> Named:
    """Find the requests that waits and matched receives name."""
    begins = begins_request(trace.ops)
    found = [_named_by(trace, rank, begins) for rank in range(trace.ranks)]
    rows, starts = (np.concatenate([np.zeros(0, np.int64), *each]) for each in zip(*found, strict=True))
    return Named(rows, starts)


def _named_by(trace: Trace, rank: int, begins: Mask) -> tuple[Integers, Integers]:
    """Find the requests named on a rank: a number means the last request with that number begun before."""
    requests, rows = mentions(trace.rank(rank))
    rows = rows + trace.head.offsets[rank]
    order = np.argsort(requests, kind="stable")
    number, row = requests[order], rows[order]
    at, new = np.arange(len(order)), np.diff(number, prepend=-2) != 0
    last = np.maximum.accumulate(np.where(begins[row], at, -1))
    known = (last >= np.maximum.accumulate(np.where(new, at, 0))) & ~begins[row]
    matched = trace.ops.op[row] == Op.MRECV
    # A second wait for the same request waits for nothing.
    waits = np.flatnonzero(known & ~matched)
    known[waits[1:][np.diff(last[waits]) == 0]] = False
    place = np.sort(order[known])
    owner = np.empty(len(order), np.int64)
    owner[order] = row[last]
    return rows[place], owner[place]


def _carried(trace: Trace, events: Mask) -> tuple[Mask, Integers]:
    """Let events carry the computation of rows that are no events.

    Returns:
        The rows that remain: events, and the last row of a region before another region if no event of the first can
        carry its computation. The computation of each of these rows, ns.
    """
    ops = trace.ops
    spent = trace.bursts + np.where(ops.are(Op.PACK), ops.took, 0)
    last = np.ones(len(ops), np.bool_)
    last[:-1] = ops.region[1:] != ops.region[:-1]
    last[np.array(trace.head.offsets[1:])[np.diff(trace.head.offsets) > 0] - 1] = True
    kept = events | last
    rows = np.flatnonzero(kept)
    bursts = np.zeros(len(ops), np.int64)
    if len(rows):
        bursts[rows] = np.add.reduceat(spent, np.append(0, rows[:-1] + 1))
    return events | (kept & (bursts > 0)), bursts


# --- rows ---


def _continued(flags: npt.NDArray[np.uint16], calls: Integers, offsets: Integers) -> npt.NDArray[np.uint16]:
    """Let a row continue a call only where the row before it belongs to the same call."""
    goes_on = np.zeros(len(flags), np.bool_)
    goes_on[1:] = calls[1:] == calls[:-1]
    goes_on[offsets[:-1][offsets[:-1] < len(flags)]] = False
    flag = np.uint16(Flag.CONTINUED)
    said: npt.NDArray[np.uint16] = np.where(goes_on, flags | flag, flags & ~flag).astype(np.uint16)
    return said


def _numbered(starts: Mask, offsets: Integers) -> Integers:
    """Number the requests of each rank in the order in which they begin; ``NO_REQUEST`` where none does."""
    before = np.append(0, np.cumsum(starts))
    number = before[:-1] - np.repeat(before[offsets[:-1]], np.diff(offsets))
    return np.where(starts, number, NO_REQUEST)


@dataclass(frozen=True, slots=True, eq=False)
class _Lists:
    """Requests and lists of rows.

    Attributes:
        single: The single request of each row, or none.
        count: Number of entries of each row.
        entries: Entries of all rows.
    """

    single: Integers
    count: Integers
    entries: Integers

    @classmethod
    def of(cls, trace: Trace, rows: Integers, ops: Ops, named: Named, requests: Integers) -> _Lists:
        """Rewrite lists; those of waits keep the requests that still exist."""
        together = np.bincount(named.row, minlength=len(rows))
        several = together[named.row] > 1
        single = requests.copy()
        single[named.row[~several]] = requests[named.start[~several]]
        listed = ops.are(*LISTED)
        count = np.where(listed, ops.count, np.where(together > 1, together, 0)).astype(np.int64)
        begins = np.cumsum(count) - count
        entries = np.zeros(int(count.sum()), np.int64)
        at = begins[named.row[several]] + serials_of(named.row[several])
        entries[at] = requests[named.start[several]]
        lists = np.flatnonzero(listed)
        source = trace.row_extras[rows[lists]]
        inside = within(count[lists])
        entries[np.repeat(begins[lists], count[lists]) + inside] = trace.ops.extras[
            np.repeat(source, count[lists]) + inside
        ]
        return cls(single, count, entries)

    def extra(self, offsets: Integers) -> Integers:
        """Return where the entries of each row begin among those of its rank; 0 for a row without entries."""
        begins = np.append(0, np.cumsum(self.count))
        of_rank = begins[:-1] - np.repeat(begins[offsets[:-1]], np.diff(offsets))
        return np.where(self.count > 0, of_rank, 0)
