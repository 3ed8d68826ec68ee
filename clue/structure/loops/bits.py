"""Makes calls that follow the bits of the rank, such as lower-case ``reduce``, equal on all ranks.

In such a call, a rank exchanges messages with rank ^ 1, rank ^ 2, rank ^ 4 and so on, if these ranks exist. It sends
where its own bit is set and receives where it is not, or the other way round; the number of messages is the same for
each bit. Every rank therefore sends different messages, and the programs of all ranks differ. This module replaces all
messages of a call by the rows of one bit:

=========  ====================================================================================
``flags``  have ``BITS``
``op``     the op if the bit is set
``peer``   the rank itself
``nbytes`` the bytes sent, the same for all bits; 0 if none
=========  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from clue.structure.loops.columns import Members
from clue.structure.loops.places import Integers
from clue.trace import NO_REQUEST, Flag, Op
from clue.trace.columns import Ops, within
from clue.trace.ops import COLUMNS

#: Flag of these rows: above all other flags, so that no op of a trace has it.
BITS = 1 << 15
_CONTINUED = int(Flag.CONTINUED)
#: Fields that are equal in all rows of such a call.
_COMMON = ("call", "site", "region", "tag", "comm", "extra")
_ALONG = (Op.SEND, Op.RECV)


def condensed(ops: Ops, members: Members) -> tuple[Ops, Integers]:
    """Return a rank's ops, with each such call replaced by the rows of one bit, and the row of each op.

    Ops without such calls are unchanged.
    """
    owner, runs = np.arange(len(ops)), list(_runs(ops))
    if not runs:
        return ops, owner
    columns = {name: getattr(ops, name).copy() for name in ("op", "peer", "nbytes", "flags")}
    kept = np.ones(len(ops), bool)
    for starts, comm, length in runs:
        own, bits, peers = _partners(members, comm)
        if not len(bits) or length % len(bits):
            continue
        each = length // len(bits)
        rows = starts[:, None, None] + np.arange(length).reshape(len(bits), each)
        there = (ops.peer[rows] == peers[:, None]).all(axis=(1, 2))
        sends, nbytes = ops.op[rows] == Op.SEND, ops.nbytes[rows]
        sent = nbytes.max(axis=1)
        there &= (nbytes == np.where(sends, sent[:, None], 0)).all(axis=(1, 2))
        for op, where in ((Op.SEND, bits), (Op.RECV, ~bits)):
            mine = there & (sends == where[:, None]).all(axis=(1, 2))
            first = rows[mine, 0]
            columns["op"][first], columns["peer"][first], columns["nbytes"][first] = op, own, sent[mine]
            columns["flags"][first] |= BITS
            kept[rows[mine, 1:]] = False
            owner[rows[mine]] = first[:, None]
    number = np.cumsum(kept) - 1
    fewer = replace(ops, **columns)
    return Ops(**{name: getattr(fewer, name)[kept] for name, _, _ in COLUMNS}, extras=ops.extras), number[owner]


def expanded(ops: Ops, members: Members) -> Ops:
    """Undo :func:`condensed`, without times."""
    marked = ops.flags & BITS != 0
    goes_on = marked & (ops.flags & _CONTINUED != 0)
    starts = np.flatnonzero(marked & ~goes_on)
    if not len(starts):
        return ops
    ends = np.append(np.flatnonzero(~goes_on), len(ops))
    each = ends[np.searchsorted(ends, starts, side="right")] - starts
    known = {comm: _partners(members, comm) for comm in np.unique(ops.comm[starts]).tolist()}
    counts = (~marked).astype(np.int64)
    counts[starts] = each * [len(known[comm][1]) for comm in ops.comm[starts].tolist()]
    source, inside = np.repeat(np.arange(len(ops)), counts), within(counts)
    width = np.ones(len(ops), np.int64)
    width[starts] = each
    bit, marked = inside // width[source], marked[source]
    source = source + np.where(marked, inside % width[source], 0)
    columns = {name: getattr(ops, name)[source] for name, _, _ in COLUMNS}
    for comm, (_, bits, peers) in known.items():
        rows = np.flatnonzero(marked & (columns["comm"] == comm))
        sends = bits[bit[rows]] == (columns["op"][rows] == Op.SEND)
        columns["peer"][rows] = peers[bit[rows]]
        columns["op"][rows] = np.where(sends, Op.SEND, Op.RECV)
        columns["nbytes"][rows] = np.where(sends, columns["nbytes"][rows], 0)
    flags = columns["flags"] & (BITS - 1)
    columns["flags"] = np.where(marked & (inside > 0), flags | _CONTINUED, flags).astype(flags.dtype)
    return Ops(**columns, extras=ops.extras)


def _runs(ops: Ops) -> Iterator[tuple[Integers, int, int]]:
    """Yield the first rows of calls that begin with several equal messages, by communicator and number of messages."""
    plain = (ops.request == NO_REQUEST) & (ops.count == 0) & (ops.flags & Flag.INTER == 0)
    able = ops.are(*_ALONG) & plain & (ops.flags & Flag.PICKLED != 0)
    first = able & (ops.flags & (_CONTINUED | BITS) == 0)
    joins = able & (ops.flags & _CONTINUED != 0)
    for name in _COMMON:
        column = getattr(ops, name)
        joins[1:] &= column[1:] == column[:-1]
    joins[1:] &= ops.flags[1:] == ops.flags[:-1] | _CONTINUED
    starts = np.flatnonzero(first)
    ends = np.append(np.flatnonzero(~joins), len(ops))
    lengths = ends[np.searchsorted(ends, starts, side="right")] - starts
    keys = np.stack([ops.comm[starts], lengths])
    for comm, length in np.unique(keys, axis=1).T.tolist():
        if length > 1:
            yield starts[(keys[0] == comm) & (keys[1] == length)], comm, length


def _partners(members: Members, comm: int) -> tuple[int, npt.NDArray[np.bool_], Integers]:
    """Return the rank in a communicator, and for each bit that has a partner whether it is set, and the partner."""
    own, size = int(members.own[comm]), int(members.size[comm])
    powers = 1 << np.arange(max(size - 1, 0).bit_length())
    peers = own ^ powers
    return own, (own & powers != 0)[peers < size], peers[peers < size]
