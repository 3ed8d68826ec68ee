"""Validity of a trace: every number in it must be valid for the kind of its op.

Engines do not repeat these checks, and must not overflow on anything that passes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from clue.errors import TraceError
from clue.trace.columns import within
from clue.trace.ops import ANY, COLLECTIVES, NO_REQUEST, PROC_NULL, ROOTED, Access, Flag, Op
from clue.trace.pieces import ENTRIES

if TYPE_CHECKING:
    from clue.trace.columns import Ops
    from clue.trace.head import Communicator, Head

#: Largest size, bytes: a float represents every integer up to it exactly.
LARGEST = 2**53
LARGEST_TAG = 2**31 - 1
#: Largest sum of a column over all ops, so that sums, and sizes that collectives derive from them, fit into 64 bits;
#: for times, which are in ns, about 146 years.
MOST_TOGETHER = 2**62

#: Least and largest value of fields, in every row.
_BOUNDS = {
    "cpu": (0, MOST_TOGETHER),
    "begin": (0, MOST_TOGETHER),
    "took": (0, MOST_TOGETHER),
    "nbytes": (0, LARGEST),
    "request": (NO_REQUEST, 2**31 - 1),
    "count": (0, 2**31 - 1),
    "flags": (0, int(sum(Flag))),
}
#: Number of rows that are checked together.
_BLOCK = 1 << 16
#: Number of entries of a list that a message shows, and of characters of each.
_SHOWN, _LETTERS = 8, 20
_NONBLOCKING = int(Flag.NONBLOCKING)
_SUMMED = ("cpu", "took", "nbytes")
_MESSAGES = (Op.SEND, Op.ISEND, Op.RECV, Op.IRECV, Op.PROBE, Op.MPROBE)
_STARTS = (Op.ISEND, Op.IRECV, Op.MPROBE, Op.RMA)
_Mask = npt.NDArray[np.bool_]
_Longs = npt.NDArray[np.int64]


def check_rows(head: Head, ops: Ops, place: object) -> None:
    """Check that every field of every row is valid, given a valid head.

    Raises:
        TraceError: At the first invalid field.
    """
    offsets, extras = np.array(head.offsets, np.int64), np.array(head.extra_offsets, np.int64)
    sizes = np.array([len(_peers(each)) for each in head.communicators], np.int64)
    _Rows(head, place, ops, offsets, extras[1:] - extras[:-1], sizes).check()


def check_head(head: Head, place: object) -> None:
    """Check that the parts of a head are consistent.

    Raises:
        TraceError: At the first part that is not.
    """
    for fault in (*_ranks(head), *_probe(head), *_names(head), *_sites(head), *_communicators(head)):
        raise TraceError(f"{place}: {fault}")


def check_beside(head: Head, name: str, column: npt.NDArray[Any], place: object) -> None:
    """Check an optional column beside the ops.

    Raises:
        TraceError: If an entry is invalid, or a rank's readings are not in the order in which they were made.
    """
    within = column if name == "typical" else column.reshape(-1, ENTRIES)[:, 1:]
    bad = within[(within < 0) | (within > MOST_TOGETHER)]
    if len(bad) or within.sum(dtype=np.float64) > MOST_TOGETHER:
        raise TraceError(
            f"{place}: {name} must be from 0 to {MOST_TOGETHER} and so together, got {max(bad, default='more')}"
        )
    if name == "readings" and head.probe is not None:
        moments = column.reshape(-1, ENTRIES)[:, 0]
        for rank, (begin, end) in enumerate(pairwise(head.probe.offsets)):
            if (moments[begin:end] < 0).any() or (np.diff(moments[begin:end]) < 0).any():
                raise TraceError(f"{place}: readings of rank {rank} must be in order from 0 on, got others")


def _probe(head: Head) -> Sequence[str]:
    if head.probe is None:
        return []
    ranks, offsets = len(head.rank_heads), head.probe.offsets
    if len(offsets) != ranks + 1 or offsets[0] != 0 or any(a > b for a, b in pairwise(offsets)):
        return [f"offsets of probe must be {ranks + 1} numbers that rise from 0, got {_some(offsets)}"]
    return []


def _ranks(head: Head) -> Sequence[str]:
    ranks = len(head.rank_heads)
    if not ranks:
        return ["rank_heads must have at least one rank, got none"]
    for title, offsets in (("offsets", head.offsets), ("extra_offsets", head.extra_offsets)):
        if len(offsets) != ranks + 1 or offsets[0] != 0 or any(a > b for a, b in pairwise(offsets)):
            return [f"{title} must be {ranks + 1} numbers that rise from 0, got {_some(offsets)}"]
    for rank, each in enumerate(head.rank_heads):
        if not 0 <= each.world < ranks:
            return [f"world of rank {rank} must be from 0 to {ranks - 1}, got {each.world}"]
        if any(region >= len(head.regions) for region in each.flops):
            return [f"flops of rank {rank} must be of regions of the head, got region {max(each.flops)}"]
    return []


def _names(head: Head) -> Sequence[str]:
    if head.regions[:1] != ("",) or len(set(head.regions)) < len(head.regions):
        return [f'regions must be different names, the first of them "", got {_some(head.regions)}']
    return []


def _sites(head: Head) -> Sequence[str]:
    fault = head.sites.fault()
    return [fault] if fault else []


def _communicators(head: Head) -> Sequence[str]:
    ranks = len(head.rank_heads)
    sides: dict[int, list[Communicator]] = {}
    for i, each in enumerate(head.communicators):
        for group in (each.group, each.remote or ()):
            if len(set(group)) != len(group) or not all(0 <= rank < ranks for rank in group):
                return [f"group of communicator {i} must be different ranks of the trace, got {_some(group)}"]
        others = sides.setdefault(each.context, [])
        others.append(each)
        if len(others) > 1 and not _are_sides(*others):
            return [
                f"context of communicator {i} must be that of no other one, but for the other side of an inter"
                f"communicator, got {each.context}"
            ]
    return []


def _are_sides(one: Communicator, other: Communicator, *more: Communicator) -> bool:
    """Tell whether these are the two sides of an intercommunicator."""
    return not more and one.remote is not None and (one.group, one.remote) == (other.remote, other.group)


def _some(entries: Sequence[int | str]) -> str:
    listed = ", ".join(str(each)[:_LETTERS] or '""' for each in entries[:_SHOWN])
    return f"[{listed}{', …' if len(entries) > _SHOWN else ''}]"


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of a trace, one after the other.

    Attributes:
        head: The head of the trace.
        place: Where the trace is, for messages.
        ops: The rows.
        offsets: Row at which each rank begins, with the end of the last rank, shape (ranks + 1,).
        room: Entries of each rank's extra column, shape (ranks,).
        sizes: Number of ranks that a peer may be, by communicator.
    """

    head: Head
    place: object
    ops: Ops
    offsets: _Longs
    room: _Longs
    sizes: _Longs

    def check(self) -> None:
        """Check all columns and their references."""
        if not len(self.ops):
            return
        largest = [each._check_each() for each in self._blocks()]
        for column in _SUMMED:
            self._check_sum(getattr(self.ops, column), column, max(each[column] for each in largest))
        self._check_room()
        self._check_accesses()
        self._check_matched()
        self._check_members()
        self._check_neighbors()
        self._check_sizes()
        self._check_spawns()

    def _blocks(self) -> Iterator[_Rows]:
        """Yield the rows in parts that are checked together."""
        if len(self.ops) <= _BLOCK:
            yield self
            return
        for first in range(0, len(self.ops), _BLOCK):
            yield replace(self, ops=self.ops[first : first + _BLOCK], offsets=self.offsets - first)

    def _require(
        self, good: _Mask, column: str, rule: str, rows: _Longs | None = None, listed: _Longs | None = None
    ) -> None:
        """Raise an error if a condition fails in any row, in some rows, or in the entries that these list."""
        if good.all():
            return
        at = int(np.argmin(good))
        row = at if rows is None else int(rows[at])
        rank = int(np.searchsorted(self.offsets, row, side="right")) - 1
        where = f"{column} of rank {rank}, op {row - self.offsets[rank]}"
        self._fault(f"{where} must {rule}, got {getattr(self.ops, column)[row] if listed is None else listed[at]}")

    def _require_within(self, column: str, least: int, most: int, rule: str) -> int:
        """Raise an error if an entry of a column is out of bounds; return the largest, which is the cheapest check."""
        values = getattr(self.ops, column)
        # As unsigned numbers, entries below the least are far above the most.
        above = (values - values.dtype.type(least) if least else values).view(f"u{values.itemsize}")
        largest = least + int(above.max())
        if largest > most:
            self._require(_within(values, least, most), column, rule)
        return largest

    def _fault(self, text: str) -> NoReturn:
        raise TraceError(f"{self.place}: {text}")

    def _rank_of(self, rows: _Longs) -> _Longs:
        """Return the rank of each of some rows, given in rising order."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(np.searchsorted(rows, self.offsets)))

    def _starts_request(self) -> _Mask:
        ops = self.ops
        return ops.are(*_STARTS) | ops.are(*COLLECTIVES) & (ops.flags & _NONBLOCKING > 0)

    def _rows_of(self, *ops: Op) -> _Longs:
        return np.flatnonzero(self.ops.are(*ops))

    # --- each row by itself ---

    def _check_each(self) -> dict[str, int]:
        """Check every column; return the largest entries of some."""
        ops, head = self.ops, self.head
        self._require(ops.are(*Op), "op", "be a known op code")
        self._require_within("comm", 0, len(head.communicators) - 1, "be a communicator of the head")
        self._require_within("call", 0, len(head.calls) - 1, "be a call of the head")
        self._require_within("region", 0, len(head.regions) - 1, "be a region of the head")
        self._require_within("site", 0, len(head.sites) - 1, "be a site of the head")
        largest = {
            column: self._require_within(column, *bounds, "be from {} to {}".format(*bounds))
            for column, bounds in _BOUNDS.items()
        }
        if ops.tag.min() < 0:
            elements = (ops.tag >= 0) | ~ops.are(*COLLECTIVES)
            self._require(elements, "tag", "not be negative: a collective's is the size of an element")
        self._check_lists()
        self._check_partners()
        self._require((ops.request >= 0) | ~self._starts_request(), "request", "be a number, from 0 on")
        return largest

    def _check_lists(self) -> None:
        """Check that the entries of an op lie within its rank's extra column."""
        ops, begins = self.ops, self.offsets.clip(0, len(self.ops))
        ranks = np.flatnonzero(np.diff(begins))
        # Ops without entries usually have valid bounds, too. Unsigned numbers, because the sum may exceed 31 bits.
        last = np.maximum.reduceat(ops.extra.view(np.uint32) + ops.count.view(np.uint32), begins[ranks])
        if ops.extra.min() >= 0 and (last <= self.room[ranks]).all():
            return
        rows = np.flatnonzero(ops.count != 0)
        ends = ops.extra[rows] + ops.count[rows].astype(np.int64)
        within = (ops.extra[rows] >= 0) & (ends <= self.room[self._rank_of(rows)])
        self._require(within, "extra", "lie within the rank's extra column", rows)

    def _check_partners(self) -> None:
        """Check partners, roots, and tags where they matter."""
        ops, least = self.ops, self.ops.peer.min()
        if not ANY <= least <= ops.peer.max() < self.sizes.min():
            self._require(_within(ops.peer, ANY, self.sizes[ops.comm] - 1), "peer", "be a rank of its communicator")
        if least >= 0 and ops.tag.min() >= 0:
            return
        rooted = ops.are(*ROOTED, Op.SPAWN)
        self._require((ops.peer >= 0) | ~rooted, "peer", "be a rank of its communicator: the root")
        sends = ops.are(Op.SEND, Op.ISEND, Op.RMA)
        self._require((ops.peer >= PROC_NULL) | ~sends, "peer", "be a rank of its communicator, or none")
        # Tags below 0 are those of collectives.
        tagged = (ops.tag >= 0) | (ops.tag == ANY) & ~sends
        self._require(tagged | ~ops.are(*_MESSAGES) | (ops.peer < 0), "tag", f"be from 0 to {LARGEST_TAG}")

    # --- rows in relation to others ---

    def _check_sum(self, column: _Longs, title: str, largest: int) -> None:
        if len(column) * largest <= MOST_TOGETHER:
            return
        together = float(column.sum(dtype=np.float64))
        if together > MOST_TOGETHER:
            self._fault(f"{title} of all ops together must be at most {MOST_TOGETHER}, got {together:.6g}")

    def _check_room(self) -> None:
        """Check that no two ops share entries in their rank's extra column."""
        if not self.ops.count.any():
            return
        room, begins = self.room, self.offsets
        ranks = np.flatnonzero(np.diff(begins))
        together = np.add.reduceat(self.ops.count, begins[ranks], dtype=np.int64)
        for rank in ranks[together > room[ranks]].tolist():
            rows = np.arange(begins[rank], begins[rank + 1])
            so_far = np.cumsum(self.ops.count[rows], dtype=np.int64)
            self._require(so_far <= room[rank], "count", "leave each op entries of its own in the extra column", rows)

    def _check_accesses(self) -> None:
        """Check what one-sided operations do, and the data that they bring back."""
        ops = self.ops
        rows = self._rows_of(Op.RMA)
        if not len(rows):
            return
        self._require(ops.tag[rows] <= max(Access), "tag", f"be from 0 to {max(Access):d}: an access", rows)
        self._require(ops.count[rows] <= 1, "count", "be at most 1: the bytes that come back", rows)
        self._check_listed(rows, *_spread(ops.extras, self._starts(rows), ops.count[rows]))

    def _check_matched(self) -> None:
        """Check that a matched receive has the request of a matched probe that is still open."""
        ops = self.ops
        if not len(self._rows_of(Op.MRECV)):
            return
        # In rows sorted by rank, request and program order, the row before a matched receive is its probe.
        rows = np.flatnonzero(self._starts_request() | ops.are(Op.MRECV))
        keys = (self._rank_of(rows) << 32) + ops.request[rows]
        order = np.argsort(keys, kind="stable")
        rows, keys = rows[order], keys[order]
        follows = np.concatenate([[False], (keys[1:] == keys[:-1]) & (ops.op[rows[:-1]] == Op.MPROBE)])
        self._require(follows | (ops.op[rows] != Op.MRECV), "request", "be that of a matched probe before it", rows)

    def _check_members(self) -> None:
        """Check that only members of a communicator make collective and one-sided calls on it, if it has one group."""
        ranks = len(self.head.rank_heads)
        rows = self._rows_of(*COLLECTIVES, Op.RMA)
        if not len(rows):
            return
        between = np.array([each.remote is not None for each in self.head.communicators])
        self._require(~between[self.ops.comm[rows]], "comm", "be an intracommunicator", rows)
        members = [i * ranks + rank for i, each in enumerate(self.head.communicators) for rank in each.group]
        mine = self.ops.comm[rows].astype(np.int64) * ranks + self._rank_of(rows)
        self._require(np.isin(mine, members), "comm", "be a communicator that the rank is in", rows)

    def _check_neighbors(self) -> None:
        """Check the lists of neighbourhood collectives: ``n_out, dests…, sizes…, n_in, sources…``."""
        ops = self.ops
        rows = self._rows_of(Op.NEIGHBOR)
        if not len(rows):
            return
        starts, count = self._starts(rows), ops.count[rows].astype(np.int64)
        rule = "be that of a list of neighbours (n_out, dests, sizes, n_in, sources)"
        self._require(count >= 2, "count", rule, rows)
        out = ops.extras[starts]
        self._require(_within(out, 0, (count - 2) // 2), "count", rule, rows)
        into = ops.extras[starts + 1 + 2 * out]
        self._require(into == count - 2 - 2 * out, "count", rule, rows)
        sizes = self.sizes[ops.comm[rows]]
        for first, length, what in ((starts + 1, out, "dests"), (starts + 2 + 2 * out, into, "sources")):
            owner, entries = _spread(ops.extras, first, length)
            fine = _within(entries, PROC_NULL, sizes[owner] - 1)
            self._require(fine, "extra", f"list {what} that are ranks of the communicator", rows[owner], entries)
        self._check_listed(rows, *_spread(ops.extras, starts + 1 + out, out))

    def _check_sizes(self) -> None:
        """Check the sizes that a rank sends to each other rank."""
        rows = self._rows_of(Op.ALLTOALLV)
        if not len(rows):
            return
        self._check_listed(rows, *_spread(self.ops.extras, self._starts(rows), self.ops.count[rows]))

    def _check_listed(self, rows: _Longs, owner: _Longs, sizes: _Longs) -> None:
        rule = f"list sizes from 0 to {LARGEST}"
        self._require(_within(sizes, 0, LARGEST), "extra", rule, rows[owner], sizes)
        self._check_sum(sizes, "sizes listed", int(sizes.max(initial=0)))

    def _starts(self, rows: _Longs) -> _Longs:
        """Return where the entries of ops begin."""
        starts: _Longs = np.array(self.head.extra_offsets, np.int64)[self._rank_of(rows)] + self.ops.extra[rows]
        return starts

    def _check_spawns(self) -> None:
        """Check that each world begins only once."""
        ops, communicators = self.ops, self.head.communicators
        rows = self._rows_of(Op.SPAWN)
        rows = rows[ops.count[rows] > 0]
        if not len(rows):
            return
        roots = [_peers(communicators[comm])[peer] for comm, peer in zip(ops.comm[rows], ops.peer[rows], strict=True)]
        rows = rows[self._rank_of(rows) == np.array(roots, np.int64)]
        worlds = ops.extras[self._starts(rows)]
        spawned = np.isin(worlds, [each.world for each in self.head.rank_heads if each.world])
        _, first = np.unique(worlds, return_index=True)
        self._require(
            ~spawned | np.isin(np.arange(len(rows)), first), "extra", "name a world that begins here", rows, worlds
        )


def _within(values: npt.NDArray[Any], least: int, most: int | _Longs) -> _Mask:
    inside: _Mask = (values >= least) & (values <= most)
    return inside


def _spread(extras: _Longs, first: _Longs, length: npt.NDArray[Any]) -> tuple[_Longs, _Longs]:
    """Return all entries of several lists, and the list of each."""
    owner = np.repeat(np.arange(len(first)), length)
    return owner, extras[first[owner] + within(length.astype(np.int64))]


def _peers(communicator: Communicator) -> tuple[int, ...]:
    return communicator.group if communicator.remote is None else communicator.remote
