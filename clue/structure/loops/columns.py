"""Ops without their times: each is a symbol and numbers that may vary from one iteration to the next.

Two ops have the same symbol if all columns of ``SHAPE`` are equal and either both or neither have a request. Their
numbers are encoded so that they tend to be constant over iterations and ranks:

``request``    relative to the newest earlier request: +1 for a new one
``extra``      distance from the end of the entries of earlier ops: 0 for an op with entries
``entries``    for a wait, its requests: how much older each is than the newest earlier request
``relative``   peer - own rank in the op's communicator, wrapped around: from -size/2 (excluded) to size/2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.structure.loops.places import Integers
from clue.trace import NO_REQUEST, Op, Trace
from clue.trace.columns import Ops, within
from clue.trace.ops import COLUMNS

#: Columns that are stored unchanged beside the loops.
TIMES = ("cpu", "begin", "took")
#: Columns of numbers.
NUMBERS = ("nbytes", "peer", "tag", "comm", "request", "extra", "count")
#: Columns that determine the symbol.
SHAPE = tuple(name for name, _, _ in COLUMNS if name not in (*TIMES, *NUMBERS))
#: Number subtracted from a peer that is not a rank, such as PROC_NULL, to encode it as a relative peer.
NO_PEER = 1 << 40
#: Placeholder of a number that is not stored.
ABSENT = -(1 << 50)
#: Numbers pairs of words in the order of first appearance.
Numbering = Callable[[npt.NDArray[np.uint64], npt.NDArray[np.uint64]], npt.NDArray[np.int32]]


@dataclass(frozen=True, slots=True, eq=False)
class Shapes:
    """The meaning of each symbol.

    Attributes:
        columns: Values of the columns of ``SHAPE``, shape (symbols,) each.
        requests: Whether such ops have a request.
    """

    columns: Mapping[str, npt.NDArray[Any]]
    requests: npt.NDArray[np.bool_]


def shapes_of(ops: Ops, number: Numbering) -> tuple[Shapes, npt.NDArray[np.int32]]:
    """Return the symbols, numbered in the order of first appearance, and the symbol of each op."""
    requests = ops.request != NO_REQUEST
    words = np.zeros((2, len(ops)), np.uint64)
    for at, column in enumerate((*(getattr(ops, name) for name in SHAPE), requests)):
        words[at // 4] |= column.astype(np.uint64) << np.uint64(16 * (at % 4))
    symbols = number(*words)
    first = np.flatnonzero(np.diff(np.maximum.accumulate(symbols), prepend=-1))
    return Shapes({name: getattr(ops, name)[first] for name in SHAPE}, requests[first]), symbols


def number_reference(first: npt.NDArray[np.uint64], second: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """Number pairs of words in the order of first appearance."""
    known: dict[tuple[int, int], int] = {}
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return np.array([known.setdefault(pair, len(known)) for pair in pairs], np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """A rank in its communicators: its ``own`` rank and the ``size`` (of the remote group, if any), by communicator."""

    own: Integers
    size: Integers

    @classmethod
    def of(cls, trace: Trace, rank: int) -> Members:
        """Find a rank in all communicators of a trace."""
        groups = [(each.group, each.remote or each.group) for each in trace.head.communicators]
        own = [group.index(rank) if rank in group else 0 for group, _ in groups]
        return cls(np.array(own, np.int64), np.array([len(other) for _, other in groups], np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Numbers of a rank's ops.

    Attributes:
        columns: By name, shape (ops,) each: those of ``NUMBERS`` and ``relative``.
        entries: Entries of all ops, in their order, ``count`` of each op.
        loose: Entries of the extra column that belong to no op, at ``places``.
    """

    columns: Mapping[str, Integers]
    entries: Integers
    loose: Integers
    places: Integers


def numbers_of(ops: Ops, members: Members) -> Numbers:
    """Return the numbers of a rank's ops."""
    columns = {name: getattr(ops, name).astype(np.int64) for name in NUMBERS}
    request, count = columns["request"], columns["count"]
    asked = request != NO_REQUEST
    newest = _before(np.maximum.accumulate(np.where(asked, request, -1)), -1)
    at = np.repeat(columns["extra"], count) + within(count)
    entries = ops.extras[at]
    waits = np.repeat(ops.are(Op.WAIT), count)
    entries = np.where(waits, np.repeat(newest, count) - entries, entries)
    loose = np.ones(len(ops.extras), bool)
    loose[at] = False
    columns["relative"] = _relative(columns["peer"], columns["comm"], members)
    columns["extra"] = np.where(count > 0, columns["extra"] - _before(np.cumsum(count), 0), columns["extra"])
    columns["request"] = np.where(asked, request - newest, 0)
    return Numbers(columns, entries, ops.extras[loose], np.flatnonzero(loose))


def ops_of(shapes: Shapes, symbols: Integers, times: Mapping[str, Integers], numbers: Numbers, members: Members) -> Ops:
    """Return a rank's ops: the inverse of :func:`shapes_of` and :func:`numbers_of`, given one kind of peer per op."""
    columns, shape = numbers.columns, {name: column[symbols] for name, column in shapes.columns.items()}
    count, request, relative = columns["count"], columns["request"], columns["relative"]
    newest = _before(np.cumsum(np.maximum(request, 0)) - 1, -1)
    extra = np.where(count > 0, columns["extra"] + _before(np.cumsum(count), 0), columns["extra"])
    at = np.repeat(extra, count) + within(count)
    waits = np.repeat(shape["op"] == Op.WAIT, count)
    extras = np.empty(len(np.unique(at)) + len(numbers.places), np.int64)
    extras[at] = np.where(waits, np.repeat(newest, count) - numbers.entries, numbers.entries)
    extras[numbers.places] = numbers.loose
    found = {
        **times, **shape, **columns,
        "request": np.where(shapes.requests[symbols], newest + request, NO_REQUEST),
        "extra": extra,
        "peer": np.where(relative == ABSENT, columns["peer"], _absolute(relative, columns["comm"], members)),
    }  # fmt: skip
    return Ops(**{name: found[name].astype(kind) for name, kind, _ in COLUMNS}, extras=extras)


def _before(column: Integers, first: int) -> Integers:
    """Shift a column by a row."""
    return np.concatenate([np.array([first], np.int64), column[:-1]])[: len(column)]


def _relative(peer: Integers, comm: Integers, members: Members) -> Integers:
    own, size = members.own[comm], members.size[comm]
    distance = (peer - own) % size
    around = np.where(2 * distance > size, distance - size, distance)
    return np.where((peer >= 0) & (peer < size), around, peer - NO_PEER)


def _absolute(relative: Integers, comm: Integers, members: Members) -> Integers:
    within_it = (members.own[comm] + relative) % members.size[comm]
    return np.where(relative < -NO_PEER // 2, relative + NO_PEER, within_it)
