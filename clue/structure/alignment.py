"""Iterations that a trace does not show by itself: those that ranks skip, and those of loops that appear as one.

An iteration without calls leaves nothing in a trace, so a rank that skips iterations has fewer of them than others. Two
calls that meet in a loop (a message, a collective call) are assumed to be in the same iteration, and the iterations of
a rank are in order. The earliest iterations that satisfy both conditions are taken, if there are any.

If a loop contains nothing but another one, its iterations are invisible, too. Where the calls of all ranks repeat, each
repetition is assumed to be an iteration of the outer loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

import numpy as np
import numpy.typing as npt

from clue.structure.nest import Nest, Step
from clue.trace import Trace
from clue.trace.ops import Op

_Integers = npt.NDArray[np.int64]
#: A participant of a meeting: rank, iterations of the loops around, and iteration of the loop itself.
_Node = tuple[int, tuple[int, ...], int]


@dataclass(slots=True)
class Calls:
    """The calls of a rank.

    Attributes:
        sites: Site of each call.
        where: Iterations of the loops around each call.
        begins: First row of each call in the trace.
        end: Row after the last.
    """

    sites: list[int]
    where: list[tuple[int, ...]]
    begins: list[int]
    end: int

    def __iter__(self) -> Iterator[tuple[int, tuple[int, ...], int, int]]:
        """Yield, for each call, its site, its iterations, its first row and the row after its last."""
        return zip(self.sites, self.where, self.begins, [*self.begins[1:], self.end][: len(self.sites)], strict=True)


def aligned(nest: Nest, trace: Trace, calls: Sequence[Calls]) -> frozenset[tuple[Step, ...]]:
    """Renumber the iterations of ranks so that calls that meet are in the same iteration, where possible.

    Args:
        nest: The loops.
        trace: A recording.
        calls: Each rank's calls in it; their iterations are changed.

    Returns:
        The loops whose iterations were changed.
    """
    meetings = _meetings(trace)
    loops = {loop for site in {site for each in calls for site in each.sites} for loop in nest.loops(site)}
    return frozenset(
        loop
        for loop in sorted(loops, key=lambda loop: (len(loop), nest.key(loop)))
        if _align(nest, loop, meetings, calls)
    )


def divided(nest: Nest, traces: Sequence[Trace], calls: Sequence[Sequence[Calls]]) -> bool:
    """Divide loops that appear as one into the outermost and the innermost, where the calls in them repeat.

    Args:
        nest: The loops.
        traces: The recordings.
        calls: Each rank's calls in each recording; their iterations are changed.

    Returns:
        Whether iterations were changed.
    """
    changed = False
    for sites, outer, inner in nest.merged():
        lengths = [_periods(*each, sites, outer, inner) for each in zip(traces, calls, strict=True)]
        if not any(period > 1 and often > 1 for each in lengths for period, often in each.values()):
            continue
        changed = True
        for of_recording, each in zip(calls, lengths, strict=True):
            for rank, mine in enumerate(of_recording):
                for at, (site, where) in enumerate(zip(mine.sites, mine.where, strict=True)):
                    if site in sites:
                        again, within = divmod(where[inner], each[rank, where[:outer]][0])
                        between = where[outer + 1 : inner]
                        mine.where[at] = (*where[:outer], again, *between, within, *where[inner + 1 :])
    return changed


def _periods(
    trace: Trace, calls: Sequence[Calls], sites: frozenset[int], outer: int, inner: int
) -> dict[tuple[int, tuple[int, ...]], tuple[int, int]]:
    """Return the iterations that repeat, and how often all ranks repeat theirs, by rank and iterations around."""
    ops = trace.ops
    columns = (ops.op, ops.call, ops.comm, ops.peer, ops.tag, ops.nbytes)
    rows = np.stack([np.asarray(each).astype(np.int64) for each in columns], axis=1)
    alike = np.unique(rows, axis=0, return_inverse=True)[1].ravel().tolist()
    runs: dict[tuple[int, tuple[int, ...]], dict[int, list[object]]] = defaultdict(lambda: defaultdict(list))
    for rank, mine in enumerate(calls):
        for site, where, first, end in mine:
            if site in sites:
                call = (site, where[inner + 1 :], tuple(alike[first:end]))
                runs[rank, where[:outer]][where[inner]].append(call)
    often: dict[tuple[int, ...], int] = defaultdict(int)
    for (_, around), run in runs.items():
        often[around] = gcd(often[around], _repetitions(list(run.values())))
    return {(rank, around): (len(run) // often[around], often[around]) for (rank, around), run in runs.items()}


def period(run: Sequence[object]) -> int:
    """Return the length of the shortest sequence whose repetitions make up a run; the last one may be incomplete."""
    border = [0] * len(run)  # of each beginning of the run: the longest shorter beginning that it ends with
    for i in range(1, len(run)):
        length = border[i - 1]
        while length and run[i] != run[length]:
            length = border[length - 1]
        border[i] = length + (run[i] == run[length])
    return len(run) - border[-1] if border else 0


def _repetitions(run: Sequence[object]) -> int:
    """Return how often the shortest sequence that makes up a run is repeated in it."""
    shortest = period(run)
    return len(run) // shortest if len(run) % shortest == 0 else 1


def _align(nest: Nest, loop: tuple[Step, ...], meetings: _Integers, calls: Sequence[Calls]) -> bool:
    inside = {site: nest.loops(site).index(loop) for site in range(len(nest.paths)) if loop in nest.loops(site)}
    depth = next(iter(inside.values()))
    met: dict[tuple[int, tuple[int, ...]], set[_Node]] = defaultdict(set)
    seen: dict[tuple[int, tuple[int, ...]], int] = {}
    for rank, mine in enumerate(calls):
        for site, where, first, end in mine:
            if site in inside:
                around, at = where[:depth], where[depth]
                seen[rank, around] = max(seen.get((rank, around), 0), at)
                for meeting in set(meetings[first:end].tolist()) - {-1}:
                    met[meeting, around].add((rank, around, at))
    if all(len({at for _, _, at in nodes}) == 1 for nodes in met.values()):
        return False
    iteration = _earliest(seen, met.values())
    if not iteration:
        return False
    for rank, mine in enumerate(calls):
        mine.where = [
            (*where[:depth], iteration[rank, where[:depth], where[depth]], *where[depth + 1 :])
            if site in inside
            else where
            for site, where in zip(mine.sites, mine.where, strict=True)
        ]
    return True


def _earliest(seen: Mapping[tuple[int, tuple[int, ...]], int], met: Iterable[set[_Node]]) -> dict[_Node, int]:
    """Return the earliest iterations in which all can meet; an empty mapping if they cannot."""
    groups = Groups()
    for nodes in met:
        first, *others = nodes
        for other in others:
            groups.join(first, other)
    after: dict[_Node, set[_Node]] = defaultdict(set)
    before: dict[_Node, int] = defaultdict(int)
    for (rank, around), last in seen.items():
        line = [groups.of((rank, around, at)) for at in range(last + 1)]
        for one, other in pairwise(line):
            if other not in after[one]:
                after[one].add(other)
                before[other] += 1
    every = {groups.of((rank, around, at)) for (rank, around), last in seen.items() for at in range(last + 1)}
    level = {node: 0 for node in every if not before[node]}
    ready = list(level)
    for node in ready:
        for other in after[node]:
            level[other] = max(level.get(other, 0), level[node] + 1)
            before[other] -= 1
            if not before[other]:
                ready.append(other)
    if len(ready) < len(every):
        return {}
    return {
        (rank, around, at): level[groups.of((rank, around, at))]
        for (rank, around), last in seen.items()
        for at in range(last + 1)
    }


class Groups:
    """Disjoint sets of nodes (union-find)."""

    def __init__(self) -> None:
        self._above: dict[_Node, _Node] = {}

    def of(self, node: _Node) -> _Node:
        """Return the representative of a node's group."""
        while (above := self._above.get(node, node)) != node:
            self._above[node] = self._above.get(above, above)
            node = above
        return node

    def join(self, one: _Node, other: _Node) -> None:
        """Unite two groups."""
        self._above[self.of(one)] = self.of(other)


def _meetings(trace: Trace) -> _Integers:
    """Return the meeting of each row, or -1: a meeting is the two ends of a message, or a collective call."""
    ops = trace.ops
    op = np.asarray(ops.op)
    rank = trace.row_ranks
    peer = _in_world(trace)
    sends = np.isin(op, (Op.SEND, Op.ISEND)) & (peer >= 0)
    receives = np.isin(op, (Op.RECV, Op.IRECV)) & (peer >= 0)
    together = op >= Op.BARRIER
    kind = np.where(sends, 0, np.where(receives, 1, 2))
    none = np.full(len(op), -1)
    one = np.where(sends, rank, np.where(receives, peer, none))
    other = np.where(sends, peer, np.where(receives, rank, none))
    tag = np.where(together, none, ops.tag)
    key = np.stack([ops.comm, one, other, tag, np.where(together, rank, none), kind], axis=1)[
        sends | receives | together
    ]
    ordinal = _ordinals(key)
    whole = np.stack([*key.T[:4], key[:, 5] == 2, ordinal], axis=1)
    _, number = np.unique(whole, axis=0, return_inverse=True)
    meetings: _Integers = none.copy()
    meetings[sends | receives | together] = number.ravel()
    return meetings


def _in_world(trace: Trace) -> _Integers:
    """Return the partner of each row as a rank of the world; values that are not ranks are unchanged."""
    peer = np.asarray(trace.ops.peer).astype(np.int64)
    for number, communicator in enumerate(trace.head.communicators):
        mine = (trace.ops.comm == number) & (peer >= 0) & (peer < len(communicator.group))
        peer[mine] = np.array(communicator.group, np.int64)[peer[mine]]
    return peer


def _ordinals(key: _Integers) -> _Integers:
    """Return, for each key, how many equal keys precede it."""
    _, group = np.unique(key, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    sorted_groups = group.ravel()[order]
    ordinals: _Integers = np.empty(len(key), np.int64)
    ordinals[order] = np.arange(len(key)) - np.searchsorted(sorted_groups, sorted_groups)
    return ordinals
