"""Whether a trace means something: every number in it must be one that an op of its kind can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from clue.errors import TraceError
from clue.trace.ops import COLLECTIVES, PROC_NULL, Op

if TYPE_CHECKING:
    from clue.trace.head import Communicator
    from clue.trace.store import Trace

#: Worlds are numbered one after the other; more than these no program spawns.
_MOST_WORLDS = 1 << 20
_Mask = npt.NDArray[np.bool_]
_Longs = npt.NDArray[np.int64]


def check_meaning(trace: Trace) -> None:
    """Check that every field of the head and of every row means something.

    Raises:
        TraceError: At the first that does not.
    """
    _check_head(trace)
    _Rows(trace).check()


def _place(trace: Trace) -> object:
    return trace.path or trace.head.program


def _check_head(trace: Trace) -> None:
    ranks = len(trace.head.rank_heads)
    for i, communicator in enumerate(trace.head.communicators):
        for group in (communicator.group, communicator.remote or ()):
            if len(set(group)) != len(group) or not all(0 <= rank < ranks for rank in group):
                rule = f"group of communicator {i} must be different ranks of the trace"
                raise TraceError(f"{_place(trace)}: {rule}, got {list(group)}")
    for rank, head in enumerate(trace.head.rank_heads):
        if not 0 <= head.world < _MOST_WORLDS:
            raise TraceError(
                f"{_place(trace)}: world of rank {rank} must be from 0 to {_MOST_WORLDS - 1}, got {head.world}"
            )


class _Rows:
    """The ops of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._ops, self._head = trace.ops, trace.head

    def check(self) -> None:
        """Check all columns, and what they refer to."""
        ops, head = self._ops, self._head
        self._require(np.isin(ops.op, [int(op) for op in Op]), "op", "be a known op code")
        self._require((ops.comm >= 0) & (ops.comm < len(head.communicators)), "comm", "be a communicator of the head")
        self._require(ops.call < len(head.calls), "call", "be a call of the head")
        self._require(ops.region < len(head.regions), "region", "be a region of the head")
        for column in ("nbytes", "cpu", "count"):
            self._require(getattr(ops, column) >= 0, column, "not be negative")
        elements = (ops.tag >= 0) | ~np.isin(ops.op, [int(op) for op in COLLECTIVES])
        self._require(elements, "tag", "not be negative: a collective's is the size of an element")
        if not len(ops):
            return
        lengths = np.diff(head.extra_offsets).repeat(np.diff(head.offsets))
        within = (ops.extra >= 0) & (ops.extra.astype(np.int64) + ops.count <= lengths)
        self._require((ops.count == 0) | within, "extra", "lie within the rank's extra column")
        sizes = np.array([len(_peers(each)) for each in head.communicators])
        self._require((ops.peer >= -2) & (ops.peer < sizes[ops.comm]), "peer", "be a rank of its communicator")
        self._check_members()
        self._check_neighbors()

    def _require(self, good: _Mask, column: str, rule: str, rows: _Longs | None = None) -> None:
        """Raise if something is not good, of all rows or of some."""
        if good.all():
            return
        row = int(np.argmin(good)) if rows is None else int(rows[np.argmin(good)])
        rank = self._rank_of(row)
        where = f"{column} of rank {rank}, op {row - self._head.offsets[rank]}"
        raise TraceError(f"{_place(self._trace)}: {where} must {rule}, got {getattr(self._ops, column)[row]}")

    def _rank_of(self, row: Any) -> Any:
        return np.searchsorted(self._head.offsets, row, side="right") - 1

    def _check_members(self) -> None:
        """Only members of a communicator make collective calls on it."""
        ranks = len(self._head.rank_heads)
        rows = np.flatnonzero(np.isin(self._ops.op, [int(op) for op in COLLECTIVES]))
        members = [i * ranks + rank for i, each in enumerate(self._head.communicators) for rank in each.group]
        mine = self._ops.comm[rows].astype(np.int64) * ranks + self._rank_of(rows)
        self._require(np.isin(mine, members), "comm", "be a communicator that the rank is in", rows)

    def _check_neighbors(self) -> None:
        """Check the lists of neighbourhood collectives: ``n_out, dests…, sizes…, n_in, sources…``."""
        ops = self._ops
        rows = np.flatnonzero(ops.op == Op.NEIGHBOR)
        if not len(rows):
            return
        starts = np.array(self._head.extra_offsets)[self._rank_of(rows)] + ops.extra[rows]
        count = ops.count[rows].astype(np.int64)
        rule = "be that of a list of neighbours (n_out, dests, sizes, n_in, sources)"
        self._require(count >= 2, "count", rule, rows)
        out = ops.extras[starts]
        self._require((out >= 0) & (out <= (count - 2) // 2), "count", rule, rows)
        into = ops.extras[starts + 1 + 2 * out]
        self._require(count == 2 + 2 * out + into, "count", rule, rows)
        sizes = np.array([len(_peers(each)) for each in self._head.communicators])[ops.comm[rows]]
        for first, length, what in ((starts + 1, out, "dests"), (starts + 2 + 2 * out, into, "sources")):
            owner, entries = _spread(ops.extras, first, length)
            fine = (entries >= PROC_NULL) & (entries < sizes[owner])
            self._require(fine, "extra", f"list {what} that are ranks of the communicator", rows[owner])
        owner, entries = _spread(ops.extras, starts + 1 + out, out)
        self._require(entries >= 0, "extra", "list sizes that are not negative", rows[owner])


def _spread(extras: _Longs, first: _Longs, length: _Longs) -> tuple[_Longs, _Longs]:
    """Return all entries of several lists, and whose they are."""
    owner = np.repeat(np.arange(len(first)), length)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
    return owner, extras[first[owner] + within]


def _peers(communicator: Communicator) -> tuple[int, ...]:
    return communicator.group if communicator.remote is None else communicator.remote
