"""Scaling: one part in K of an application is kept (Sodhi, Subhlok, Xu, section 4.3).

Every event begins with a weight of 1/K. Outer loops come first. If a loop has I iterations of weight w < 1, ⌊wI⌋ of
them are kept as they are. One more is kept, and the remainder wI − ⌊wI⌋ becomes the weight of everything in it, so that
inner loops are treated in the same way. The iterations kept are stratified along the loop: each is taken from a stratum
of 1/w iterations. Iterations with different calls are kept in proportion to their frequency; among those with equal
calls, the choice brings the total of bytes near its share.

All other units have a weight below 1. The weights of equal units, wherever they are, add up to n + r with 0 ≤ r < 1. Of
these units n are kept as they are, again evenly spread, and one more with its bytes multiplied by r. (The paper keeps
all of these units and divides the bytes of each by K: the same bytes in more messages.)

In a pipeline, a loop in which ranks wait in one direction only, it takes a fill time until all ranks are at work,
however many iterations follow. If the skew of the ranks exceeds the latencies of all messages of the loop, all
iterations are kept with bytes and computation multiplied by the weight, so that the fill time shrinks, too.

Computations of their own that matter are divided, not sampled, outside of the iterations kept. If nothing is kept of a
call site whose computation matters, its first burst becomes a computation; of a region, its longest.

Events that are kept keep their recorded computation; the computation of a rank, region and call site is then scaled so
that a rank's computation in each region is that of the application / K, to the nanosecond. Sleeps are scaled by rank
and call site in the same way; a rank of whose sleeps none would be kept keeps its longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from clue.skeleton.clustering import Clusters
from clue.skeleton.events import COMPUTE, NONE, SENDS, Events, Integers, Mask, as_computation
from clue.skeleton.loops import Loop
from clue.skeleton.outliers import matters
from clue.skeleton.parameters import Doubles, Parameters
from clue.skeleton.times import Times
from clue.steady.iterations import Stretch
from clue.steady.steadiness import called, is_coupled, per_iteration, shapes
from clue.trace import Op, Trace
from clue.trace.head import RankHead

#: Latency of a small message, seconds: order of magnitude of Gigabit Ethernet.
LATENCY = 50e-6
#: Tolerance within which a weight counts as a whole number.
_SLACK = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """A program that is K times as short.

    Attributes:
        trace: The program.
        shrunk: Number of messages and collective calls with fewer bytes than in the application.
        share: Upper bound of the share of the program's time that the latencies of these take: their largest number on
            any rank times :data:`LATENCY`.
        levelled: Number of pipeline runs that keep all their iterations.
    """

    trace: Trace
    shrunk: int
    share: float
    levelled: int


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Share of each row that is to be kept.

    Attributes:
        of: From 0 (dropped) to 1 (kept as it is), shape (ops,).
        single: Whether its unit is kept by itself, regardless of equal units, with the weight as a factor.
        levelled: Number of pipeline runs that such units are in.
    """

    of: Doubles
    single: Mask
    levelled: int


def scaled(parameters: Parameters, clusters: Clusters, loops: Sequence[Loop], times: Times, scale: float) -> Scaled:
    """Make a program K times as short.

    Args:
        parameters: Its events and their parameters.
        clusters: Clusters of similar events.
        loops: Loops that all ranks execute alike, outer ones first.
        times: Times of the recording.
        scale: K, at least 1.
    """
    events, sizes = parameters.events, parameters.sizes
    weights = weigh(parameters, loops, times, scale)
    share = _shares(events, clusters.of, weights)
    share[_asleep(events, share, scale)] = 1.0
    rows = _of_rows(events, share)
    alone = _alone(events.trace, rows, scale)
    rows[alone] = 1.0
    factor = share[sizes.unit]
    ops = sizes.written(events.trace.ops, np.where(factor < 1, sizes.whole(clusters.nbytes * factor), clusters.nbytes))
    ops = replace(ops, nbytes=_sleeps(events, share, ops.nbytes, scale))
    ops = as_computation(ops, alone, events.trace.head.calls.index(COMPUTE))
    nothing = np.zeros(len(ops), np.int64)
    ops = replace(ops, cpu=_bursts(events.trace, rows, scale), begin=nothing, took=nothing)
    head = replace(events.trace.head, rank_heads=tuple(_shorter(each, scale) for each in events.trace.head.rank_heads))
    named = events.named[~np.isin(events.named.row, alone) & ~np.isin(events.named.start, alone)]
    whole = replace(events, trace=replace(events.trace, head=head, ops=ops), named=named)
    part = (share > 0) & (share < 1) & _speaks(events)
    return Scaled(
        whole.excerpt(np.flatnonzero(rows > 0)).trace,
        int(part.sum()),
        min(_latencies(events, part) * scale / max(times.application, _SLACK), 1.0),
        weights.levelled,
    )


def _shorter(head: RankHead, scale: float) -> RankHead:
    flops = {region: work / scale for region, work in head.flops.items()}
    return replace(head, cpu=head.cpu / scale, wall=head.wall / scale, flops=flops, delayed=0.0)


def _speaks(events: Events) -> Mask:
    """Tell which units are messages or collective calls, shape (units,)."""
    speaks: Mask = ~events.trace.ops.are(Op.COMPUTE, Op.SLEEP)[events.first]
    return speaks


def _latencies(events: Events, part: Mask) -> float:
    """Return the largest sum of the latencies of these units on any rank, seconds."""
    rows = np.flatnonzero(events.unit != NONE)
    counts = np.bincount(events.trace.row_ranks[rows], part[events.unit[rows]])
    return float(counts.max(initial=0.0)) * LATENCY


# --- iterations ---


def weigh(parameters: Parameters, loops: Sequence[Loop], times: Times, scale: float) -> Weights:
    """Return the share of each row that is to be kept, by the loops around it."""
    trace = parameters.events.trace
    ops = trace.ops
    of, single, levelled = np.full(len(ops), 1 / scale), np.zeros(len(ops), np.bool_), 0
    calls = called(trace)
    for run in (run for loop in loops for run in loop.runs):
        weight = float(of[run.bounds[0, 0]])
        if not 0 < weight < 1 or run.iterations == 1 or single[run.bounds[0, 0]]:
            continue
        rows = [slice(bounds[0], bounds[-1]) for bounds in run.bounds]
        if not all((of[each] == weight).all() and not single[each].any() for each in rows):
            continue
        if _fills(trace, run, times):
            levelled += 1
            for each in rows:
                single[each] = True
            continue
        kinds = np.unique(shapes(calls, run), return_inverse=True)[1].ravel()
        nbytes = np.sum(list(per_iteration(parameters.nbytes, run)), axis=0)
        kept, rest = sample(kinds, nbytes, weight)
        iterations = np.zeros(run.iterations)
        iterations[kept] = 1.0
        if rest >= 0:
            iterations[rest] = run.iterations * weight - len(kept)
        for each, bounds in zip(rows, run.bounds, strict=True):
            of[each] = np.repeat(iterations, np.diff(bounds))
    return Weights(of, single, levelled)


def _fills(trace: Trace, run: Stretch, times: Times) -> bool:
    """Tell whether a loop is a pipeline whose fill time exceeds the latencies of its messages."""
    messages = max(int(trace.ops[bounds[0] : bounds[-1]].are(*SENDS).sum()) for bounds in run.bounds)
    return messages > 0 and times.apart(run) > messages * LATENCY and not is_coupled(trace, run)


def sample(kinds: Integers, nbytes: Integers, weight: float) -> tuple[Integers, int]:
    """Choose iterations of a loop.

    Args:
        kinds: A number from 0 for the calls of each iteration.
        nbytes: Bytes that each iteration moves.
        weight: Share of the iterations to be kept, less than 1.

    Returns:
        The iterations kept as they are, and the one for the remainder of the division; -1 without a remainder.
    """
    iterations = len(kinds)
    worth = iterations * weight
    whole = int(worth + _SLACK)
    left = worth - whole > _SLACK
    edges = np.minimum(np.arange(whole + 1) / weight, iterations)
    if not kinds.any() and (nbytes == nbytes[0]).all():
        kept = np.ceil((edges[:-1] + edges[1:]) / 2 - 1).astype(np.int64)
        free = np.delete(np.arange(iterations), kept)
        return kept, _nearest(free, float(edges[-1] + iterations) / 2) if left else -1
    strata = _Strata(kinds, nbytes, weight)
    kept = np.array([strata.take(begin, end) for begin, end in pairwise(edges.tolist())], np.int64)
    return kept, strata.take(float(edges[-1]), float(iterations)) if left else -1


def _nearest(iterations: Integers, middle: float) -> int:
    return int(iterations[np.abs(iterations + 0.5 - middle).argmin()])


class _Strata:
    """Chooses iterations, stratum by stratum.

    Args:
        kinds: As of :func:`sample`.
        nbytes: The same.
        weight: The same.
    """

    def __init__(self, kinds: Integers, nbytes: Integers, weight: float) -> None:
        self.kinds, self.nbytes, self.weight = kinds, nbytes, weight
        #: Deficit of iterations of each kind, and of bytes: what should have been taken so far less what was taken.
        self.owed = np.zeros(int(kinds.max()) + 1)
        self.bytes_owed = 0.0
        self.free = np.ones(len(kinds), np.bool_)

    def take(self, begin: float, end: float) -> int:
        """Take an iteration of the kind that is owed most: nearest to the bytes owed, then to the stratum's middle."""
        first, last = (int(np.ceil(edge - 0.5)) for edge in (begin, end))
        self.owed += np.bincount(self.kinds[first:last], minlength=len(self.owed)) * self.weight
        self.bytes_owed += float(self.nbytes[first:last].sum()) * self.weight
        some = first + np.flatnonzero(self.free[first:last])
        if not len(some):
            some = np.flatnonzero(self.free)
        owed = self.owed[self.kinds[some]]
        some = some[owed >= owed.max() - _SLACK]
        far, off = np.abs(self.nbytes[some] - self.bytes_owed), np.abs(some + 0.5 - (begin + end) / 2)
        taken = int(some[np.lexsort((off, far))[0]])
        self.owed[self.kinds[taken]] -= 1
        self.bytes_owed -= float(self.nbytes[taken])
        self.free[taken] = False
        return taken


# --- units ---


def _shares(events: Events, cluster: Integers, weights: Weights) -> Doubles:
    """Return the share of each unit that is kept: 1 (as it is), 0 (dropped), or the factor of its bytes."""
    rows = np.flatnonzero(events.unit != NONE)
    weight, single = np.ones(events.units), np.zeros(events.units, np.bool_)
    np.minimum.at(weight, events.unit[rows], weights.of[rows])
    single[events.unit[rows[weights.single[rows]]]] = True
    # Other than messages, a computation can be divided without further error.
    single[events.unit[_long(events.trace)]] = True
    share = np.where((weight == 1) | single, weight, 0.0)
    left = np.flatnonzero((weight > 0) & (weight < 1) & ~single)
    left = left[np.lexsort((events.first[left], cluster[left]))]
    share[left] = _grouped(np.diff(cluster[left], prepend=-1) != 0, weight[left])
    return share


def _long(trace: Trace) -> Integers:
    """Return the rows of computations that matter."""
    alone = trace.ops.are(Op.COMPUTE)
    long: Integers = np.flatnonzero(alone & matters(trace.bursts, trace.row_ranks, trace))
    return long


def _grouped(begins: Mask, weight: Doubles) -> Doubles:
    """Keep as many of each group as its weights add up to, evenly spread, and one more for the remainder.

    Args:
        begins: Where each group begins.
        weight: Weight of each entry, below 1.
    """
    if not len(weight):
        return weight
    firsts = np.flatnonzero(begins)
    group = np.cumsum(begins) - 1
    total = np.add.reduceat(weight, firsts)
    whole = np.floor(total + _SLACK)
    left = total - whole
    so_far = np.cumsum(weight)
    so_far -= np.repeat(so_far[firsts] - weight[firsts], np.diff(np.append(firsts, len(weight))))
    reached = np.floor(so_far * (whole / total)[group] + 0.5)
    before = np.append(0.0, reached[:-1])
    before[firsts] = 0.0
    share: Doubles = (reached > before).astype(np.float64)
    free = np.maximum.reduceat(np.where(share == 0, np.arange(len(weight)), -1), firsts)
    some = (left > _SLACK) & (free >= firsts)
    share[free[some]] = left[some]
    return share


def _of_rows(events: Events, share: Doubles) -> Doubles:
    """Return the share of each row that is kept; a wait has the largest share of its requests."""
    rows: Doubles = np.where(events.unit == NONE, 0.0, share[events.unit] if events.units else 0.0)
    np.maximum.at(rows, events.named.row, share[events.unit[events.named.start]])
    return rows


# --- computation ---


def _alone(trace: Trace, rows: Doubles, scale: float) -> Integers:
    """Return rows of places and regions of which nothing is kept, one by rank, to carry the computation there.

    Of places, only those whose computation matters have one; the others of the region share the computation there.
    """
    place, bursts, own = _places(trace), trace.bursts, trace.row_ranks
    rank = np.zeros(int(place.max(initial=-1)) + 1, np.int64)
    rank[place] = own
    due = np.bincount(place, bursts, minlength=len(rank)).astype(np.int64)
    some = np.flatnonzero(matters(due, rank, trace)[place] & (bursts > 0))
    # The first, because that of other ranks belongs to the same iteration.
    alone = some[_one_of_none(place[some], bursts[some], -some, rows[some] > 0, scale)]
    kept = rows > 0
    kept[alone] = True
    return np.union1d(alone, _one_of_none(_cells(trace), bursts, bursts, kept, scale))


def _asleep(events: Events, share: Doubles, scale: float) -> Integers:
    """Return, by rank, the unit of the longest sleep where no sleep is kept, to carry the time of all its sleeps."""
    trace = events.trace
    rows = np.flatnonzero(trace.ops.are(Op.SLEEP))
    spent, unit = trace.ops.nbytes[rows], events.unit[rows]
    kept = (share[unit] > 0) & (spent > 0)
    found: Integers = unit[_one_of_none(trace.row_ranks[rows], spent, spent, kept, scale)]
    return found


def _one_of_none(group: Integers, spent: Integers, worth: Integers, kept: Mask, scale: float) -> Integers:
    """Return the entry of most worth of each group of which nothing is kept, if its time spent / the scale is not 0."""
    due, some = np.bincount(group, spent) / scale, np.bincount(group, kept)
    order = np.lexsort((worth, group))
    lasts = order[np.flatnonzero(np.diff(group[order], append=-1))]
    alone: Integers = lasts[(due[group[lasts]] >= 0.5) & (some[group[lasts]] == 0)]
    return alone


def _cells(trace: Trace) -> Integers:
    """Return a number for the rank and region of each row."""
    cells: Integers = trace.row_ranks * len(trace.head.regions) + trace.ops.region
    return cells


def _places(trace: Trace) -> Integers:
    """Return a number for the rank, region and call site of each row; computations of their own are apart."""
    site = _cells(trace) * len(trace.head.sites) + trace.ops.site
    places: Integers = np.unique(2 * site + trace.ops.are(Op.COMPUTE), return_inverse=True)[1].ravel()
    return places


def _bursts(trace: Trace, rows: Doubles, scale: float) -> Integers:
    """Return the computation of each row, ns, so that a rank's computation in a region is divided by the scale."""
    cell = _cells(trace)
    place = _places(trace)
    spent = trace.bursts.astype(np.float64)
    kept = _in_proportion(spent * rows, spent, scale, place, cell)
    # Rows that were kept but computed nothing share the computation due in equal parts.
    due, count = np.bincount(cell, spent) / scale, np.bincount(cell, rows > 0)
    nothing = (np.bincount(cell, kept) == 0)[cell] & (rows > 0)
    kept[nothing] = (due / np.maximum(count, 1))[cell[nothing]]
    there = np.flatnonzero(rows > 0)
    found = np.zeros(len(rows), np.int64)
    found[there] = _rounded(kept[there], cell[there], due)
    return found


def _sleeps(events: Events, share: Doubles, nbytes: Integers, scale: float) -> Integers:
    """Return the size of each row, where the sleeps that a rank keeps last as long as all of its sleeps / the scale."""
    trace = events.trace
    asleep = np.flatnonzero(trace.ops.are(Op.SLEEP))
    own, spent = trace.row_ranks[asleep], trace.ops.nbytes[asleep].astype(np.float64)
    place = np.unique(own * len(trace.head.sites) + trace.ops.site[asleep], return_inverse=True)[1].ravel()
    kept = np.where(share[events.unit[asleep]] > 0, nbytes[asleep], 0.0)
    found: Integers = nbytes.copy()
    found[asleep] = np.rint(_in_proportion(kept, spent, scale, place, own)).astype(np.int64)
    return found


def _in_proportion(kept: Doubles, spent: Doubles, scale: float, *levels: Integers) -> Doubles:
    """Scale kept times level by level, so that those of each group add up to the group's time spent / the scale."""
    for groups in levels:
        due, got = np.bincount(groups, spent) / scale, np.bincount(groups, kept)
        kept = kept * np.divide(due, got, out=np.zeros_like(due), where=got > 0)[groups]
    return kept


def _rounded(values: Doubles, groups: Integers, sums: Doubles) -> Integers:
    """Round values to whole numbers that add up to the rounded sum of each group."""
    order = np.argsort(groups, kind="stable")
    begins = np.flatnonzero(np.diff(groups[order], prepend=-1))
    ends = np.append(begins[1:], len(order)) - 1
    so_far = np.cumsum(values[order])
    so_far -= np.repeat(so_far[begins] - values[order][begins], ends - begins + 1)
    up_to = np.rint(so_far)
    up_to[ends] = np.rint(sums[groups[order][ends]])
    whole = np.diff(up_to, prepend=0.0)
    whole[begins] = up_to[begins]
    found = np.zeros(len(values), np.int64)
    found[order] = np.maximum(whole, 0).astype(np.int64)
    return found
