"""Finds the places between iterations where a program may be cut: no rank has an operation under way there.

Every message that was sent before must have been received before, all members of a communicator must have made the same
number of collective calls, and no request may be open. Messages and calls are summed modulo 2⁶⁴ as random numbers, one
for each channel (context, sender, receiver, tag) or member: a send adds its number, a receive subtracts it, and the
numbers of the members of a communicator add up to 0. A sum of 0 is then wrong only with a probability of 2⁻⁶⁴
(fingerprints of multisets).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.kernel import partners
from clue.steady.iterations import Integers, Stretch
from clue.trace import COLLECTIVES, LOCKING, NO_REQUEST, PROC_NULL, Access, Flag, Op, Ops, Trace

Sums = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """The operations under way in a program, rank by rank.

    Attributes:
        sums: Fingerprint, before each row, of all messages sent and not received, shape (ops + 1,).
        open: Number of open requests before each row, shape (ops + 1,).
        starts: First row of each rank.
    """

    sums: Sums
    open: Integers
    starts: Integers

    @classmethod
    def of(cls, trace: Trace) -> Flow:
        """Return the operations under way in the program of a trace."""
        starts = np.array(trace.head.offsets[:-1])
        return cls(_running(_messages(trace) + _calls(trace)), _running(_requests(trace)), starts)

    def closed(self, stretch: Stretch) -> npt.NDArray[np.bool_]:
        """Tell for each bound of iterations whether nothing is under way there, shape (iterations + 1,)."""
        passed = self.sums[stretch.bounds] - self.sums[self.starts][:, None]
        pending = self.open[stretch.bounds] - self.open[self.starts][:, None]
        balanced: npt.NDArray[np.bool_] = passed.sum(axis=0, dtype=np.uint64) == 0
        finished: npt.NDArray[np.bool_] = (pending == 0).all(axis=0)
        return balanced & finished


def _running(terms: npt.NDArray[Any]) -> npt.NDArray[Any]:
    sums = np.zeros(len(terms) + 1, terms.dtype)
    np.cumsum(terms, out=sums[1:])
    return sums


def scrambled(*columns: npt.ArrayLike) -> Sums:
    """Return a pseudorandom number for each row of columns of integers, equal for equal rows (SplitMix64)."""
    number = np.zeros((), np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            number = (number ^ np.asarray(column).astype(np.int64).view(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            number ^= number >> np.uint64(31)
    return number


def contexts_of(trace: Trace) -> Integers:
    """Return the context of each communicator."""
    return np.array([each.context for each in trace.head.communicators], np.int64)


def _messages(trace: Trace) -> Sums:
    """Return each row's contribution to the fingerprint of messages under way, and of locks that are held."""
    ops, sums = trace.ops, np.zeros(len(trace.ops), np.uint64)
    peers, own, contexts = partners(trace), trace.row_ranks, contexts_of(trace)[ops.comm]
    some = (peers != PROC_NULL) & ((ops.flags & Flag.CANCELLED) == 0)
    sent = np.flatnonzero(some & ops.are(Op.SEND, Op.ISEND))
    received = np.flatnonzero(some & ops.are(Op.RECV, Op.IRECV, Op.MPROBE))
    locks = np.flatnonzero(some & ops.are(Op.RMA) & np.isin(ops.tag, list(LOCKING)))
    sums[sent] = scrambled(contexts[sent], own[sent], peers[sent], ops.tag[sent])
    sums[received] = -scrambled(contexts[received], peers[received], own[received], ops.tag[received])
    # The messages of a window have tags from 1 on.
    held = scrambled(contexts[locks], own[locks], peers[locks], np.zeros(len(locks)))
    sums[locks] = np.where(ops.tag[locks] == Access.UNLOCK, -held, held)
    return sums


def _calls(trace: Trace) -> Sums:
    """Return each row's contribution to the fingerprint of collective calls that not all members have made."""
    ops, sums = trace.ops, np.zeros(len(trace.ops), np.uint64)
    weights = {}
    for number, each in enumerate(trace.head.communicators):
        if each.remote is None:
            group = np.array(each.group, np.int64)
            weight = scrambled(np.full(len(group), -1 - each.context), group)
            weight[-1:] -= weight.sum(dtype=np.uint64)
            weights[number] = dict(zip(each.group, weight, strict=True))
    rows = np.flatnonzero(ops.are(*COLLECTIVES))
    comms, ranks = ops.comm[rows].astype(np.int64), trace.row_ranks[rows]
    found, which = np.unique(comms * trace.ranks + ranks, return_inverse=True)
    table = [
        weights.get(comm, {}).get(rank, np.uint64(1))
        for comm, rank in (divmod(int(each), trace.ranks) for each in found)
    ]
    sums[rows] = np.array(table, np.uint64)[which]
    return sums


def _requests(trace: Trace) -> Integers:
    """Return each row's change in the number of open requests: a request is open from its first row to its last."""
    ops, offsets = trace.ops, trace.head.offsets
    change = np.zeros(len(ops) + 1, np.int64)
    for rank in range(trace.ranks):
        named, rows = mentions(trace.rank(rank))
        if len(rows):
            which = named - named.min()
            if which.max() > 8 * len(which):  # otherwise numbers are dense and need no sorting
                which = np.unique(named, return_inverse=True)[1]
            first, last = np.full((2, which.max() + 1), -1)
            first[which[::-1]], last[which] = rows[::-1], rows
            twice = first < last
            np.add.at(change, offsets[rank] + first[twice], 1)
            np.add.at(change, offsets[rank] + last[twice], -1)
    return change[:-1]


def mentions(ops: Ops) -> tuple[Integers, Integers]:
    """Return the requests that the ops of a rank name, in order, and the row of each."""
    alone = np.flatnonzero(ops.request != NO_REQUEST)
    lists = np.flatnonzero(ops.are(Op.WAIT) & (ops.count > 0))
    counts = ops.count[lists].astype(np.int64)
    starts = np.repeat(ops.extra[lists] - np.cumsum(counts) + counts, counts)
    listed = ops.extras[starts + np.arange(counts.sum())] if len(lists) else np.zeros(0, np.int64)
    requests = np.concatenate([ops.request[alone].astype(np.int64), listed])
    rows = np.concatenate([alone, np.repeat(lists, counts)])
    order = np.argsort(rows, kind="stable")
    return requests[order], rows[order]
