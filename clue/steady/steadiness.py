"""The similarity of iterations, from the columns of the trace alone, before anything is simulated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.steady.cuts import scrambled
from clue.steady.iterations import Stretch
from clue.trace import COLLECTIVES, PROC_NULL, Op, Trace
from clue.trace.columns import within

#: Outliers, which are simulated: an iteration with more than ``_ODD`` times as much of something as its neighbours, if
#: the excess is at least ``_MATTERS`` of the total. The excess of the remaining ones may be ``_TOLERATED`` of the
#: total.
_ODD, _MATTERS, _TOLERATED = 3.0, 0.002, 0.02
#: Number of neighbours on either side with which an iteration is compared.
_AROUND = 5
#: Synchronising collective calls: no rank leaves before all have arrived.
_MEETINGS = [
    *(Op.BARRIER, Op.ALLREDUCE, Op.ALLGATHER, Op.ALLGATHERV, Op.ALLTOALL, Op.ALLTOALLV, Op.REDUCE_SCATTER, Op.COMM),
]
#: Longest period that is searched for, and the share of iterations that must follow it.
_LONGEST, _KEPT = 64, 0.95


def per_iteration(column: npt.NDArray[Any], stretch: Stretch) -> Iterator[npt.NDArray[Any]]:
    """Yield for each rank the sums of a column over its iterations."""
    for bounds in stretch.bounds:
        sums = np.zeros(bounds[-1] - bounds[0] + 1, column.dtype)
        np.cumsum(column[bounds[0] : bounds[-1]], out=sums[1:])
        yield np.diff(sums[bounds - bounds[0]])


def called(trace: Trace) -> npt.NDArray[np.uint64]:
    """Return a number for each row, equal for the same calls to the same partners from the same place."""
    ops = trace.ops
    return scrambled(ops.op, ops.peer, ops.comm, ops.site)


def shapes(calls: npt.NDArray[np.uint64], stretch: Stretch) -> npt.NDArray[np.uint64]:
    """Return a number for each iteration, equal where all ranks make the same calls by :func:`called`."""
    return sum(
        (scrambled(of_rank, np.full(1, rank)) for rank, of_rank in enumerate(per_iteration(calls, stretch))),
        np.zeros(stretch.iterations, np.uint64),
    )


def period_of(trace: Trace, stretch: Stretch) -> int:
    """Return the period, in iterations, of calls and partners; 1 if there is none."""
    found = shapes(called(trace), stretch)
    for lag in range(1, min(_LONGEST, len(found) // 2) + 1):
        if (found[lag:] == found[:-lag]).mean() >= _KEPT:
            return lag
    return 1


def keeps_together(trace: Trace, stretch: Stretch) -> bool:
    """Tell whether nearly every iteration has a synchronising collective call of all ranks."""
    ops = trace.ops
    everyone = [i for i, each in enumerate(trace.head.communicators) if len(each.group) == trace.ranks]
    first = slice(stretch.bounds[0, 0], stretch.bounds[0, -1])
    calls = np.zeros(len(ops), np.int64)
    calls[first] = np.isin(ops.op[first], _MEETINGS) & np.isin(ops.comm[first], everyone)
    return bool((next(per_iteration(calls, stretch)) > 0).mean() >= _KEPT)


def is_coupled(trace: Trace, stretch: Stretch) -> bool:
    """Tell whether each rank waits, directly or indirectly, for every other: a strongly connected graph of waits."""
    pairs = np.concatenate(
        [_waits(trace, rank, slice(bounds[0], bounds[-1])) for rank, bounds in enumerate(stretch.bounds)]
    )
    waiting, awaited = np.unique(pairs, axis=0).T
    return _reach(waiting, awaited, trace.ranks) and _reach(awaited, waiting, trace.ranks)


def _waits(trace: Trace, rank: int, rows: slice) -> npt.NDArray[np.int64]:
    """Return pairs (rank that waits, rank waited for) in these rows of a rank, shape (pairs, 2)."""
    ops, communicators = trace.ops[rows], trace.head.communicators
    # Many times faster than unique rows of a table.
    span = (max(Op) + 1, len(communicators), int(ops.peer.max()) + 3)
    called = np.unique(np.ravel_multi_index((ops.op, ops.comm, ops.peer + 2), span))
    pairs = [(rank, rank)]
    for op, comm, place in zip(*(column.tolist() for column in np.unravel_index(called, span)), strict=True):
        peer = place - 2
        group, other = communicators[comm].group, communicators[comm].remote or communicators[comm].group
        if op in (Op.RECV, Op.IRECV, Op.MPROBE) and peer >= 0:
            pairs.append((rank, other[peer]))
        elif communicators[comm].remote is not None:
            continue
        elif op in (Op.BCAST, Op.SCATTER, Op.SCATTERV):
            pairs.append((rank, group[peer]))
        elif op in (Op.REDUCE, Op.GATHER, Op.GATHERV):
            pairs.append((group[peer], rank))
        elif op in (Op.SCAN, Op.EXSCAN):
            pairs += [(rank, lower) for lower in group[: group.index(rank)][-1:]]
        elif op in COLLECTIVES and op != Op.NEIGHBOR:
            pairs += [(rank, group[0]), (group[0], rank)]
    pairs += [(rank, communicators[comm].group[source]) for comm, source in _edges(trace, rank, rows)]
    return np.array(pairs)


def _edges(trace: Trace, rank: int, rows: slice) -> Iterator[tuple[int, int]]:
    """Yield communicator and source of each edge to a rank in neighbourhood collectives in these rows, once each."""
    ops = trace.ops[rows]
    calls = np.flatnonzero(ops.op == Op.NEIGHBOR)
    begins = trace.head.extra_offsets[rank] + ops.extra[calls].astype(np.int64)
    # n_out, dests, sizes, n_in, sources
    into = begins + 1 + 2 * ops.extras[begins]
    count = ops.extras[into]
    sources = ops.extras[np.repeat(into + 1, count) + within(count)]
    edges = np.repeat(ops.comm[calls], count).astype(np.int64) * trace.ranks + sources
    for edge in np.unique(edges[sources != PROC_NULL]).tolist():
        yield divmod(edge, trace.ranks)


def _reach(froms: npt.NDArray[np.int64], tos: npt.NDArray[np.int64], ranks: int) -> bool:
    """Tell whether all ranks are reached from the first."""
    reached, new = np.zeros(ranks, np.bool_), np.zeros(ranks, np.bool_)
    new[0] = True
    while (new & ~reached).any():
        reached |= new
        new = np.zeros(ranks, np.bool_)
        new[tos[reached[froms]]] = True
    return bool(reached.all())


def odd_ones(trace: Trace, stretch: Stretch, period: int, share: float) -> tuple[npt.NDArray[np.int64], str]:
    """Return the outliers among iterations, or the message that they are too many.

    Args:
        trace: Trace of the program.
        stretch: The iterations.
        period: Period of the calls, in iterations.
        share: Largest share of the iterations that outliers, with a period on either side, may make.
    """
    slept = np.where(trace.ops.are(Op.SLEEP), trace.ops.nbytes, 0)
    amounts = {
        "calls": stretch.lengths,
        "bytes": sum(per_iteration(trace.payload, stretch)),
        "sleep": sum(per_iteration(slept, stretch)),
        "computation": np.max(list(per_iteration(trace.bursts, stretch)), axis=0),
    }
    found = np.zeros(stretch.iterations, np.bool_)
    for what, amount in amounts.items():
        around = _medians(amount.astype(np.float64), max(_AROUND, 2 * period))
        beyond = np.where(amount > _ODD * around, amount - around, 0.0) / max(amount.sum(), 1)
        room = int(stretch.iterations * share / (1 + 2 * period)) - int(found.sum())
        found[[i for i in np.argsort(-beyond, kind="stable")[: max(room, 0)] if beyond[i] > _MATTERS]] = True
        # Differences in computation are known for all iterations and corrected for.
        if what != "computation" and beyond[~found].sum() > _TOLERATED:
            return np.flatnonzero(found), f"{(beyond > 0).sum():,} {_odd_ones(stretch, what)}"
    return np.flatnonzero(found), ""


def _odd_ones(stretch: Stretch, what: str) -> str:
    return (
        f"of {stretch.iterations:,} {stretch.unit} of loop {stretch.name} have more than {_ODD:g} times the {what} of "
        "those around them"
    )


def _medians(values: npt.NDArray[np.float64], around: int) -> npt.NDArray[np.float64]:
    padded = np.pad(values, around, mode="reflect")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * around + 1), axis=1)
