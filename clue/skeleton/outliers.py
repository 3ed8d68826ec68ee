"""Bursts that few kept calls cannot represent, such as the set-up before a loop: they become events of their own.

A skeleton keeps some calls of a place, and the bursts before these represent all bursts there, which they add up to.
An outlier among those bursts would lengthen all of them, with their differences between ranks. In the paper,
computation is an event, which a loop's iterations do not contain if it precedes the loop (Sodhi, Subhlok, Xu, section
4). So what an outlier takes beyond the others becomes a computation before its call: outside of a loop that the call
enters, and otherwise part of its iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from clue.skeleton.events import COMPUTE, Events, Integers, Mask, Named, as_computation
from clue.skeleton.loops import Loop
from clue.steady.cuts import scrambled
from clue.steady.iterations import Stretch
from clue.trace import Flag, Op, Ops, Trace
from clue.trace.ops import COLUMNS

#: Outliers: bursts longer than this many times the median of their place, if the excess matters.
_ODD = 3.0
#: Share of its rank's computation from which a computation matters.
_MATTERS = 0.01


def matters(spent: Integers, own: Integers, trace: Trace) -> Mask:
    """Tell which computations are a notable part of all computation of their ranks.

    Args:
        spent: What each takes, ns.
        own: The rank of each.
        trace: The program.
    """
    whole = np.bincount(trace.row_ranks, trace.bursts, minlength=trace.ranks)
    found: Mask = (spent > 0) & (spent >= _MATTERS * whole[own])
    return found


def apart(events: Events, loops: Sequence[Loop]) -> tuple[Events, tuple[Loop, ...]]:
    """Make what outliers take beyond the median of their place computations of their own.

    There may be outliers among these, too: what precedes nested loops, and what precedes each of the inner ones.

    Args:
        events: The events of a program.
        loops: Its loops, as rows of these.

    Returns:
        The events with these computations, and the loops, as rows of these.
    """
    loops, ops = tuple(loops), events.trace.ops
    some = np.flatnonzero(~ops.are(Op.COMPUTE) & ((ops.flags & Flag.CONTINUED) == 0))
    while (excess := _excess(events.trace, some)).any():
        at = some[excess > 0]
        loops = tuple(replace(each, runs=tuple(_shifted(run, at) for run in each.runs)) for each in loops)
        events = _split(events, at, excess[excess > 0])
        some = at + np.arange(len(at))
    return events, loops


def _excess(trace: Trace, some: Integers) -> Integers:
    """Return what the bursts of some rows take beyond the median of their place if they are outliers, or else 0, ns."""
    ops, bursts, own = trace.ops, trace.bursts[some], trace.row_ranks[some]
    places = (own, *(column[some] for column in (ops.region, ops.site, ops.op, ops.call)))
    place = np.unique(scrambled(*places), return_inverse=True)[1].ravel()
    count = np.bincount(place)
    median = bursts[np.lexsort((bursts, place))[np.cumsum(count) - count + (count - 1) // 2]][place]
    is_outlier = (bursts > _ODD * median) & matters(bursts - median, own, trace)
    return np.where(is_outlier, bursts - median, 0)


def _split(events: Events, at: Integers, excess: Integers) -> Events:
    """Return events with computations before some rows, which take the excess of these, ns."""
    trace, inserted = events.trace, at + np.arange(len(at))
    source = np.insert(np.arange(len(trace.ops)), at, at)
    bursts, unit = trace.bursts[source], events.unit[source]
    bursts[inserted] = excess
    bursts[inserted + 1] -= excess
    unit[inserted] = events.units + np.arange(len(at))
    ops = Ops(**{name: getattr(trace.ops, name)[source] for name, _, _ in COLUMNS}, extras=trace.ops.extras)
    begin, took = ops.begin.copy(), ops.took.copy()
    begin[inserted], took[inserted] = np.maximum(begin[inserted] - bursts[inserted + 1], 0), 0
    ops = replace(ops, cpu=bursts, begin=begin, took=took)
    ops = as_computation(ops, inserted, trace.head.calls.index(COMPUTE))
    head = replace(trace.head, offsets=tuple(_moved(np.array(trace.head.offsets), at, "left").tolist()))
    return replace(
        events,
        trace=replace(trace, head=head, ops=ops, typical=bursts),
        unit=unit,
        named=Named(_moved(events.named.row, at, "right"), _moved(events.named.start, at, "right")),
        units=events.units + len(at),
    )


def _moved(rows: Integers, at: Integers, side: Literal["left", "right"]) -> Integers:
    """Return where rows are when others are inserted before some: the row itself, or (``left``) what precedes it."""
    moved: Integers = rows + np.searchsorted(at, rows, side)
    return moved


def _shifted(run: Stretch, at: Integers) -> Stretch:
    """Return a run of a loop when rows are inserted before some.

    What precedes its first iteration lies outside of it, unless most of its other iterations begin like that.
    """
    bounds = _moved(run.bounds, at, "left")
    alike = np.isin(run.bounds[:, 1:-1], at).sum(axis=1) > (run.iterations - 1) / 2
    bounds[:, 0] = np.where(alike, bounds[:, 0], _moved(run.bounds[:, 0], at, "right"))
    return replace(run, bounds=bounds)
