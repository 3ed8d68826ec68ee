"""Ranks that take turns with background load: what a time-sharing scheduler does to ranks that have waited.

On a node that states a ``time_slice``, a rank and the background load of its processor have turns of that length. Over
time the rank gets the same share as with equal sharing at every instant, but in turns. A rank that wakes and has had
less than its share since it began runs at once. A rank that has had more waits until the others have caught up and the
turn then under way has ended. Linux's fair scheduler keeps such accounts, also while a process sleeps (I. Stoica
et al., Earliest Eligible Virtual Deadline First, 1995: the lag).

Where ranks are spawned, shares change in the middle of other ranks' turns; all ranks there share evenly at every
instant instead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from itertools import cycle

from clue.machine import Machine, NodeType, Placement, Waiting

#: Fraction of a turn that counts as rounding: a turn ends just as others begin, or a rank has had its exact share.
_ROUNDING = 1e-9


class Turns:
    """The turns of one rank.

    Args:
        share: The part of its processor that it has over time.
        slice_: The length of a turn, seconds.

    Attributes:
        lag: Processor seconds by which it is behind its share of the time in which it wanted to run.
        ends: When its own turn ends.
    """

    __slots__ = ("_rest", "_share", "_slice", "ends", "lag")

    def __init__(self, share: float, slice_: float) -> None:
        self._share = share
        self._rest = 1.0 - share
        self._slice = slice_
        self.lag = 0.0
        self.ends = slice_

    def run(self, time: float, seconds: float) -> float:
        """Return when a rank that needs processor time from ``time`` on has had it."""
        if time >= self.ends:
            time = self._begin(time, self.ends)
        left = self.ends - time
        if seconds > left + _ROUNDING * self._slice:
            self.lag -= left * self._rest
            time, seconds = self._skip(seconds - left)
        self.lag -= seconds * self._rest
        return time + seconds

    def wake(self, slept: float, time: float) -> float:
        """Return when a rank that has slept since ``slept`` and wakes at ``time`` gets its processor."""
        # Others have the processor from the end of its turn on, even if it spent time on messages after that.
        return self._begin(time, min(slept, self.ends))

    def pass_time(self, seconds: float) -> None:
        """Let time pass in which the rank rarely needs its processor; this reduces what it has had in excess."""
        if self.lag < 0.0:
            self.lag = min(0.0, self.lag + seconds * self._share)

    def _skip(self, seconds: float) -> tuple[float, float]:
        """Go on from the end of its turn to its last turn, in one step.

        After n whole turns it has waited for as many turns of others as bring its lag to 0 or more, in whatever order
        they came: ceil(-lag / (share * slice)).

        Returns:
            When its last turn begins, and how much of the processor time is left then.
        """
        whole = float(max(0, math.ceil(seconds / self._slice - _ROUNDING) - 1))
        lag = self.lag - whole * self._slice * self._rest
        others = float(max(0, math.ceil(-lag / self._share / self._slice - _ROUNDING)))
        self.lag = max(0.0, lag + others * self._slice * self._share)
        begin = self.ends + (whole + others) * self._slice
        self.ends = begin + self._slice
        return begin, max(0.0, seconds - whole * self._slice)

    def _begin(self, time: float, since: float) -> float:
        """Begin its next turn and return when that is; others have had the processor since ``since``."""
        if self.lag < -_ROUNDING * self._slice:
            even = time - self.lag / self._share
            begin = max(time, since + math.ceil((even - since) / self._slice - _ROUNDING) * self._slice)
            self.lag = max(0.0, self.lag + (begin - time) * self._share)
            time = begin
        self.ends = time + self._slice
        return time


def joined_nodes(placement: Placement, worlds: tuple[int, ...]) -> frozenset[int]:
    """Return the nodes on which ranks are spawned.

    Args:
        placement: Node of each rank of all instances, instance by instance.
        worlds: World of each rank of one instance: 0, or that of a spawned one.
    """
    if not any(worlds):
        return frozenset()
    return frozenset(node for node, world in zip(placement.nodes, cycle(worlds), strict=False) if world)


def shares_in_turns(machine: Machine, placement: Placement, joined: Collection[int] = ()) -> dict[int, float]:
    """Return the nodes in use whose ranks take turns with background load, with each rank's share of a processor."""
    if machine.changes or not _any_turns(machine):
        return {}
    ranks_on = Counter(node for node in placement.nodes if node not in joined)
    shares = ((node, share_in_turns(machine.nodes[node], ranks)) for node, ranks in ranks_on.items())
    return {node: share for node, share in shares if share < 1.0}


def without_turns(machine: Machine, placement: Placement, joined: Collection[int] = ()) -> list[str]:
    """Return the node types in use that state a time slice, at any time, without effect on some of their nodes."""
    stating = [state for state in machine.epochs if _any_turns(state)]
    if not stating:
        return []
    in_turns = shares_in_turns(machine, placement, joined)
    ranks_on = Counter(node for node in placement.nodes if node not in in_turns)
    crowded = (
        each.name
        for state in stating
        for each, ranks in ((state.nodes[node], ranks) for node, ranks in ranks_on.items())
        if each.time_slice and each.background_load and ranks + each.background_load > each.processors
    )
    return list(dict.fromkeys(crowded))


def _any_turns(machine: Machine) -> bool:
    return any(each.time_slice and each.background_load for each in machine.node_types().values())


def share_in_turns(node_type: NodeType, ranks: int) -> float:
    """Return the share of a processor that each of a node's ranks has in turns; 1 if they do not take turns."""
    runnable = ranks + node_type.background_load
    apart = (
        node_type.time_slice > 0
        and ranks <= node_type.processors < runnable
        and node_type.waiting is Waiting.YIELD
        and not node_type.memory_contention
    )
    return node_type.processors / runnable if apart else 1.0
