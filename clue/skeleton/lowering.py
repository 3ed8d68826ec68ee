"""What a program must know to make the calls of a trace, in addition to their rows.

Rows stay as they are except for:

``flags``    keep only those that change the call; data are in place where all members may do so and sizes agree
Sendrecv     is one row, a receive without request; its ``nbytes`` is the size of the message that it sends, and it
             lists that message's distance (as ``relative`` in :mod:`clue.structure.loops.columns`) and tag
half of one  becomes a blocking call if the other half was left out
requests     are renumbered without those of Sendrecv
``WAIT``     lists no requests if, at every call of its site, it waits for all pending ones; otherwise it lists them
collectives  of one size take the largest size of their members
reductions   have in ``tag`` the size of an element for which MPI has a numeric type, and in ``nbytes`` the number of
             elements; so do broadcasts
constructors of communicators that return a request become an ``ALLREDUCE`` of one element of 8 bytes, which is what
             they cost in the model
v-calls      list the sizes of all members: ``GATHERV`` ``SCATTERV`` ``ALLGATHERV`` ``REDUCE_SCATTER`` the size of each
             member's data, ``ALLTOALLV`` the sizes sent to each member and then those received from each
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clue.structure.loops import NO_PEER
from clue.trace import Trace
from clue.trace.columns import Ops, within
from clue.trace.ops import COLLECTIVES, COLUMNS, NO_REQUEST, REDUCTIONS, ROOTED, Flag, Op

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Element sizes for which MPI has a numeric type, bytes.
ELEMENTS = (1, 2, 4, 8, 16)
#: Bursts of places with a shorter mean are merged with the next burst, ns: a statement takes about as long.
SHORT = 2000.0
#: Element size assumed where the trace does not have it, bytes.
_UNKNOWN = 8
#: Size of the reduction that stands for a nonblocking constructor of a communicator, bytes.
_AGREED = 8
#: Calls whose data consist of elements, which no algorithm may split.
VECTORS = (Op.BCAST, *sorted(REDUCTIONS))
#: Calls that list the size of each member's data, unless all sizes are equal.
SHARES = (Op.GATHERV, Op.SCATTERV, Op.ALLGATHERV, Op.REDUCE_SCATTER)
_KEPT = (
    Flag.SYNCHRONOUS | Flag.BUFFERED | Flag.NONBLOCKING | Flag.IN_PLACE | Flag.USER_DEFINED | Flag.NONCOMMUTATIVE
    | Flag.BLOCK
)  # fmt: skip
#: Further flags of calls in messages along bits (:mod:`clue.structure.loops.bits`).
_ALONG = Flag.CONTINUED | Flag.PICKLED
#: Rows, and the entries of each, shape (rows, entries).
_Lists = tuple[Integers, Integers]


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A trace in the form in which a program makes its calls.

    Attributes:
        trace: The trace.
        bursts: The burst of each of its ops, ns.
        pending: Maximum number of requests open at once on one rank.
        lists: Maximum number of lists of sizes that the v-calls of one rank name until the first of these calls is
            complete.
    """

    trace: Trace
    bursts: Integers
    pending: int
    lists: int


def lower(trace: Trace) -> Lowered:
    """Return a trace with everything that a program must know to make its calls."""
    ops, ranks = trace.ops, trace.row_ranks
    starts = trace.row_extras
    along = np.where(ops.are(Op.SEND, Op.RECV), int(_ALONG), 0) | int(_KEPT)
    one, half = _exchanges(ops), _halves(ops, starts)
    request, waits, pending, ends = _requests(trace, ranks, starts, one, half)
    messages = ~ops.are(*COLLECTIVES)
    tag, nbytes = np.where(messages, np.maximum(ops.tag, 0), ops.tag).astype(np.int64), ops.nbytes.copy()
    lists = [waits, *_neighbours(ops, starts), (one, _sent(trace, ranks, one + 1))]
    nbytes[one] = nbytes[one + 1]
    flags = ops.flags & along
    flags[ops.are(*ROOTED)] &= ~int(Flag.IN_PLACE)
    for calls in _collectives(trace, ranks):
        _level(ops, calls, nbytes)
        _use_elements(ops, calls, tag, nbytes)
        lists += _sizes(ops, calls, nbytes, starts, flags)
    extra, count, extras = _listed(trace, ranks, lists)
    code = ops.op.copy()
    code[half] = np.where(ops.are(Op.ISEND)[half], int(Op.SEND), int(Op.RECV))
    # A Dup has no request, and would wait for the other members.
    made = np.flatnonzero(ops.are(Op.COMM) & (ops.flags & Flag.NONBLOCKING > 0))
    code[made], flags[made], tag[made], nbytes[made] = int(Op.ALLREDUCE), int(Flag.NONBLOCKING), _AGREED, 1
    changed = {"op": code, "flags": flags, "request": request, "tag": tag, "nbytes": nbytes}
    columns = {name: getattr(ops, name) for name, _, _ in COLUMNS} | changed | {"extra": extra, "count": count}
    kept = np.ones(len(ops), np.bool_)
    kept[one[:, None] + (1, 2)] = kept[half + 1] = False
    rows = np.cumsum(kept) - 1
    bursts = np.bincount(rows, _carried(trace, ranks), minlength=int(kept.sum())).astype(np.int64)
    narrow = {name: columns[name][kept].astype(kind) for name, kind, _ in COLUMNS}
    sums = np.concatenate([[0], np.cumsum(count)])
    head = replace(
        trace.head,
        offsets=tuple(np.concatenate([[0], np.cumsum(kept)])[list(trace.head.offsets)].tolist()),
        extra_offsets=tuple(sums[list(trace.head.offsets)].tolist()),
        probe=None,
        typical=None,
    )
    return Lowered(Trace(head, Ops(**narrow, extras=extras)), bursts, pending, _lists_at_once(trace, ends))


def _carried(trace: Trace, ranks: Integers) -> Integers:
    """Return the burst of each op, ns; short bursts are added to the next burst of the same rank that is not short.

    The overhead of a computing statement is longer than a burst between two successive calls. A burst is short if the
    mean burst of its place is short.
    """
    ops = trace.ops
    place = np.unique(np.stack([ops.site, ops.op, ops.call, ops.region, ops.flags]), axis=1, return_inverse=True)[1]
    place = place.ravel()
    mean = np.bincount(place, trace.bursts) / np.bincount(place)
    lasts = np.array(trace.head.offsets[1:], np.int64)[ranks] - 1
    there = np.where(mean[place] >= SHORT, np.arange(len(ops)), lasts.max(initial=0))
    following = np.minimum(np.minimum.accumulate(there[::-1])[::-1], lasts)
    carried: Integers = np.bincount(following, trace.bursts, minlength=len(ops)).astype(np.int64)
    return carried


# --- messages and requests ---


def _exchanges(ops: Ops) -> Integers:
    """Return the rows at which a Sendrecv begins: a posted receive, a started send, and the wait for both."""
    continued = ~ops.are_first()
    posted, sent, waited = (ops.are(each) for each in (Op.IRECV, Op.ISEND, Op.WAIT))
    found = np.zeros(len(ops), np.bool_)
    found[:-2] = posted[:-2] & ~continued[:-2] & (sent & continued)[1:-1] & (waited & continued & (ops.count == 2))[2:]
    return np.flatnonzero(found)


def _halves(ops: Ops, starts: Integers) -> Integers:
    """Return the rows at which half of a Sendrecv begins: a posted receive or a started send, and the wait for it."""
    waits = ops.are(Op.WAIT) & ~ops.are_first() & (ops.count <= 1)
    waits[:1] = False
    rows = np.flatnonzero(waits)
    asked, lists = ops.request[rows].astype(np.int64), ops.count[rows] == 1
    asked[lists] = ops.extras[starts[rows[lists]]]
    own = ops.are(Op.ISEND, Op.IRECV)[rows - 1] & (ops.request[rows - 1] == asked)
    found: Integers = rows[own] - 1
    return found


def _sent(trace: Trace, ranks: Integers, rows: Integers) -> Integers:
    """Return the distance and tag of sent messages, shape (rows, 2)."""
    groups = [each.group for each in trace.head.communicators]
    own = {(comm, rank): at for comm, group in enumerate(groups) for at, rank in enumerate(group)}
    me = np.array([own[key] for key in zip(trace.ops.comm[rows].tolist(), ranks[rows].tolist(), strict=True)], np.int64)
    size = np.array([len(group) for group in groups], np.int64)[trace.ops.comm[rows]]
    peer = trace.ops.peer[rows].astype(np.int64)
    distance = (peer - me) % size
    around = np.where(2 * distance > size, distance - size, distance)
    return np.stack([np.where(peer < 0, peer - NO_PEER, around), trace.ops.tag[rows]], axis=1)


def _requests(
    trace: Trace, ranks: Integers, starts: Integers, one: Integers, half: Integers
) -> tuple[Integers, _Lists, int, Integers]:
    """Return renumbered requests, the lists of waits for some pending requests, and the maximum number pending.

    Also returns for each row at which row its call is complete: itself, the first wait for its request, or the last row
    of the rank.
    """
    ops = trace.ops
    within_one = np.zeros(len(ops), np.bool_)
    within_one[one[:, None] + np.arange(3)] = within_one[half[:, None] + np.arange(2)] = True
    begins = (ops.request != NO_REQUEST) & ~ops.are(Op.WAIT, Op.MRECV) & ~within_one
    waits = ops.are(Op.WAIT) & ~within_one
    asked = np.where(waits, np.where(ops.count > 0, ops.count, ops.request != NO_REQUEST), 0)
    ended = asked + (ops.are(Op.MRECV) & (ops.flags & Flag.NONBLOCKING == 0))
    pending = _of_rank(trace, begins - ended) - begins + ended
    everything = _always(ops, waits, asked == pending)
    number = _of_rank(trace, begins.astype(np.int64)) - 1
    first = np.flatnonzero(begins)
    keys = _keys(ranks[first], ops.request[first])
    order = np.argsort(keys, kind="stable")

    def begun(of: Integers, old: npt.NDArray[np.int32] | Integers) -> Integers:
        """Return the rows that begin requests of some ranks: each the last one with the old number."""
        at = np.searchsorted(keys[order], _keys(of, old), side="right") - 1
        found: Integers = first[order[at]]
        return found

    request = np.full(len(ops), NO_REQUEST, np.int64)
    request[first] = number[first]
    matched = np.flatnonzero(ops.are(Op.MRECV))
    request[matched] = number[begun(ranks[matched], ops.request[matched])]
    some = np.flatnonzero(waits & (asked > 0))
    owner = np.repeat(some, asked[some])
    several = ops.count[owner] > 0
    entries = ops.request[owner].astype(np.int64)
    entries[several] = ops.extras[(starts[owner] + within(asked[some]))[several]]
    rows = begun(ranks[owner], entries)
    ends = np.where(begins, np.array(trace.head.offsets[1:], np.int64)[ranks] - 1, np.arange(len(ops)))
    np.minimum.at(ends, rows, owner)
    listed = ~everything[owner]
    return request, (owner[listed], number[rows[listed]][:, None]), int((pending + begins).max(initial=0)), ends


def _always(ops: Ops, waits: Mask, so: Mask) -> Mask:
    """Tell for each wait whether a condition holds at all waits of the same site and call."""
    rows = np.flatnonzero(waits)
    places = ops.site[rows].astype(np.int64) << 32 | ops.call[rows].astype(np.int64) << 16 | ops.region[rows]
    _, place = np.unique(places, return_inverse=True)
    holds = np.ones(place.max(initial=-1) + 1, np.bool_)
    np.logical_and.at(holds, place, so[rows])
    found = np.zeros(len(ops), np.bool_)
    found[rows] = holds[place]
    return found


def _of_rank(trace: Trace, column: Integers) -> Integers:
    """Return the cumulative sum of a column, separately for each rank."""
    sums = np.concatenate([[0], np.cumsum(column)])
    found: Integers = sums[1:] - np.repeat(sums[list(trace.head.offsets[:-1])], np.diff(trace.head.offsets))
    return found


def _keys(ranks: Integers, requests: npt.NDArray[np.int32] | Integers) -> Integers:
    return (ranks << 32) + requests


# --- collectives ---


def _collectives(trace: Trace, ranks: Integers) -> Iterator[Integers]:
    """Yield for each communicator the rows of collective calls, shape (members, calls); a column is one call."""
    ops = trace.ops
    rows = np.flatnonzero(ops.are(*COLLECTIVES))
    for comm in np.unique(ops.comm[rows]).tolist():
        own = rows[ops.comm[rows] == comm]
        yield np.stack([own[ranks[own] == member] for member in trace.head.communicators[comm].group])


def _level(ops: Ops, calls: Integers, nbytes: Integers) -> None:
    """Give all members of a one-size call the same size."""
    calls = calls[:, ~_of_shares(ops)[calls[0]]]
    nbytes[calls] = nbytes[calls].max(axis=0)


def _of_shares(ops: Ops) -> Mask:
    """Tell which calls list the size of each member's data."""
    return ops.are(*SHARES) & ~(ops.are(Op.REDUCE_SCATTER) & (ops.flags & Flag.BLOCK > 0))


def _use_elements(ops: Ops, calls: Integers, tag: Integers, nbytes: Integers) -> None:
    """Let vectors count elements, of a size that divides those of all members."""
    calls = calls[:, ops.are(*VECTORS)[calls[0]]]
    size = np.where(tag[calls[0]] > 0, tag[calls[0]], _UNKNOWN)
    fits = np.isin(size, ELEMENTS) & (tag[calls] == tag[calls[0]]).all(axis=0) & (nbytes[calls] % size == 0).all(axis=0)
    size = np.where(fits, size, 1)
    tag[calls] = size
    nbytes[calls] //= size


def _sizes(
    ops: Ops, calls: Integers, nbytes: Integers, starts: Integers, flags: npt.NDArray[np.int64]
) -> Iterator[_Lists]:
    """Yield the lists of calls with different sizes; clear the flag where these forbid data in place."""
    shares = calls[:, _of_shares(ops)[calls[0]]]
    for own in shares:
        yield own, nbytes[shares].T
    between = calls[:, ops.are(Op.ALLTOALLV)[calls[0]]]
    sent = ops.extras[starts[between][..., None] + np.arange(len(calls))]  # shape (members, calls, members)
    one_way = (sent != sent.transpose(2, 1, 0)).any(axis=(0, 2))
    flags[between[:, one_way]] &= ~int(Flag.IN_PLACE)
    for member, own in enumerate(between):
        yield own, np.concatenate([sent[member], sent[:, :, member].T], axis=1)


def _lists_at_once(trace: Trace, ends: Integers) -> int:
    """Return how many lists of sizes the v-calls of a rank name at most until the first of these calls is complete."""
    ops = trace.ops
    named = np.where(ops.are(Op.ALLTOALLV), 2, _of_shares(ops)).astype(np.int64)
    so_far = _of_rank(trace, named)
    return int(np.where(named > 0, so_far[ends] - so_far + named, 0).max(initial=0))


def _neighbours(ops: Ops, starts: Integers) -> Iterator[_Lists]:
    rows = np.flatnonzero(ops.are(Op.NEIGHBOR))
    count = ops.count[rows].astype(np.int64)
    owner = np.repeat(rows, count)
    yield owner, ops.extras[starts[owner] + within(count)][:, None]


def _listed(trace: Trace, ranks: Integers, lists: list[_Lists]) -> tuple[Integers, Integers, Integers]:
    """Return the columns ``extra`` and ``count``, and the list entries."""
    owner = np.concatenate([np.repeat(rows, entries.shape[1]) for rows, entries in lists])
    entries = np.concatenate([entries.ravel() for _, entries in lists]).astype(np.int64)
    count = np.bincount(owner, minlength=len(ranks)).astype(np.int64)
    return _of_rank(trace, count) - count, count, entries[np.argsort(owner, kind="stable")]
