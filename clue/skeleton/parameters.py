"""Parameters of execution events other than times: kinds, and sizes, which may be averaged and shrunk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clue.kernel import partners
from clue.skeleton.events import LISTED, NONE, SENDS, Events, Integers, serials_of
from clue.steady.cuts import contexts_of, scrambled
from clue.trace import COLLECTIVES, Flag, Op, Ops
from clue.trace.columns import within

Doubles = npt.NDArray[np.float64]
#: Collectives whose tag is the element size, bytes.
_OF_ELEMENTS = (Op.BCAST, Op.REDUCE, Op.ALLREDUCE, Op.SCAN, Op.EXSCAN, Op.REDUCE_SCATTER)


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """Sizes of units: for a message that of its send; for a collective call those that any member names.

    Attributes:
        unit: Unit of each size, ascending, shape (sizes,).
        place: Index among the sizes of its unit, from 0.
        row: Row that names it.
        entry: Index among the entries of lists; ``NONE``: the size is in the row itself.
        nbytes: The size, bytes.
        element: Element size, bytes; the size is a multiple of it.
    """

    unit: Integers
    place: Integers
    row: Integers
    entry: Integers
    nbytes: Integers
    element: Integers

    @classmethod
    def of(cls, events: Events) -> Sizes:
        """Find the sizes of events."""
        ops, unit = events.trace.ops, events.unit
        rows = np.flatnonzero(ops.are(*SENDS, *COLLECTIVES - set(LISTED), Op.SLEEP))
        owner, entry = _listed(events)
        row = np.concatenate([rows, owner])
        where = np.concatenate([np.full(len(rows), NONE), entry])
        order = np.lexsort((where, row, unit[row]))
        row, where = row[order], where[order]
        nbytes = np.where(where == NONE, ops.nbytes[row], ops.extras[where] if len(ops.extras) else 0)
        element = np.where(ops.are(*_OF_ELEMENTS)[row] & (ops.tag[row] > 0), ops.tag[row], 1).astype(np.int64)
        return cls(unit[row], serials_of(unit[row]), row, where, nbytes, np.where(nbytes % element == 0, element, 1))

    def written(self, ops: Ops, nbytes: Integers) -> Ops:
        """Return ops with other sizes."""
        own, sizes, entries = self.entry == NONE, ops.nbytes.copy(), ops.extras.copy()
        sizes[self.row[own]] = nbytes[own]
        entries[self.entry[~own]] = nbytes[~own]
        return replace(ops, nbytes=sizes, extras=entries)

    def whole(self, nbytes: Doubles) -> Integers:
        """Round sizes to whole elements: at least one where there was any, because an empty call may do nothing."""
        elements = np.maximum(np.rint(nbytes / self.element), 1).astype(np.int64)
        return np.where(self.nbytes == 0, 0, elements * self.element)


def _listed(events: Events) -> tuple[Integers, Integers]:
    """Return the sizes in lists: the row of each, and its index among all entries."""
    trace, ops = events.trace, events.trace.ops
    rows = np.flatnonzero(ops.are(*LISTED))
    begins = trace.row_extras[rows]
    count = ops.count[rows].astype(np.int64)
    # n_out, dests, sizes, n_in, sources
    near = ops.op[rows] == Op.NEIGHBOR
    out = ops.extras[begins[near]]
    count[near], begins[near] = out, begins[near] + 1 + out
    return np.repeat(rows, count), np.repeat(begins, count) + within(count)


@dataclass(frozen=True, eq=False)
class Parameters:
    """Parameters of events other than times.

    Attributes:
        events: The events.
        kind: A number for each unit, the same for units that differ only in sizes and times: their calls, partners or
            roots, tags, communicators and flags are equal.
        sizes: Their sizes.
    """

    events: Events
    kind: Integers
    sizes: Sizes

    @classmethod
    def of(cls, events: Events) -> Parameters:
        """Find kinds and sizes."""
        return cls(events, _kinds(events), Sizes.of(events))

    @cached_property
    def nbytes(self) -> Integers:
        """Bytes that each row moves, shape (ops,)."""
        found = np.zeros(len(self.events.trace.ops), np.int64)
        np.add.at(found, self.sizes.row, self.sizes.nbytes)
        found[self.events.trace.ops.are(Op.SLEEP)] = 0
        return found


def _kinds(events: Events) -> Integers:
    trace, ops = events.trace, events.trace.ops
    rows = np.flatnonzero(events.unit != NONE)
    flags = ops.flags & ~np.uint16(Flag.CONTINUED)
    # A computation is similar to others of its region and call site.
    alone = ops.are(Op.COMPUTE)
    site, region = np.where(alone, ops.site, 0), np.where(alone, ops.region, 0)
    context = contexts_of(trace)[ops.comm]
    words = (ops.op, ops.call, flags, context, partners(trace), ops.tag, trace.row_ranks, site, region, _graphs(events))
    sums = np.zeros(events.units, np.uint64)
    np.add.at(sums, events.unit[rows], scrambled(*(word[rows] for word in words)))
    return np.unique(sums, return_inverse=True)[1].ravel().astype(np.int64)


def _graphs(events: Events) -> Integers:
    """Return a number for the list of neighbours of each row; 0 where it lists none."""
    trace, ops = events.trace, events.trace.ops
    found = np.zeros(len(ops), np.uint64)
    rows = np.flatnonzero(ops.are(Op.NEIGHBOR))
    begins = trace.row_extras[rows]
    count = ops.count[rows].astype(np.int64)
    place = within(count)
    out = np.repeat(ops.extras[begins], count)
    fixed = (place <= out) | (place > 2 * out)
    values = scrambled(place, ops.extras[np.repeat(begins, count) + place])
    np.add.at(found, np.repeat(rows, count)[fixed], values[fixed])
    return found.view(np.int64)
