"""The processors of a node whose ranks disturb each other: equal sharing, memory contention, background load.

A node needs this only when ranks outnumber its processors, when it states memory contention or background load, or
when its parameters change over time; elsewhere a burst is a plain multiplication.
"""

from __future__ import annotations

import math
from collections.abc import Generator

import simpy

from clue.kernel.costs import Costs
from clue.kernel.virtual_time import VirtualTime
from clue.machine import NodeType, Waiting


class Burst:
    """A computation burst in progress.

    Attributes:
        rank: Whose it is.
        region: Index of its region.
        left: CPU seconds still to do, as recorded.
        rate: Recorded CPU seconds done per second of virtual time, at present.
        done: Happens when nothing is left.
    """

    __slots__ = ("done", "left", "rank", "rate", "region")

    def __init__(self, rank: int, region: int, left: float, done: simpy.Event) -> None:
        self.rank = rank
        self.region = region
        self.left = left
        self.rate = 0.0
        self.done = done


class SharedNode:
    """A node whose processors are shared equally, at every instant, by all that is runnable on it.

    Runnable are the bursts under way (where waiting ranks poll: all ranks that live) and the background load. With
    ``n`` of them on ``p`` processors each proceeds at ``min(1, p/n)`` of a processor's speed, further reduced by the
    share that memory contention leaves when ``min(p, n)`` processors are busy, and divided by the performance factor.
    """

    def __init__(self, env: VirtualTime, index: int, costs: Costs) -> None:
        self._env = env
        self._index = index
        self._costs = costs
        self._bursts: dict[int, Burst] = {}
        self._alive = 0
        self._updated = 0.0
        self._next: simpy.Event | None = None
        self._type: NodeType | None = None
        self._factors: list[float] = []
        for time in costs.change_times:
            env.at(time, -1).callbacks.append(self._refresh)

    def compute(self, rank: int, region: int, cpu: float) -> Generator[simpy.Event, object, None]:
        """Run a burst that begins now; ends at the virtual time when it is done."""
        burst = Burst(rank, region, cpu, self._env.event())
        self._advance()
        self._bursts[rank] = burst
        self._reschedule()
        yield burst.done

    def begin(self) -> None:
        """Let one more rank live on this node from now on."""
        self._change_alive(1)

    def end(self) -> None:
        """Let one rank less live on this node from now on."""
        self._change_alive(-1)

    def _change_alive(self, ranks: int) -> None:
        self._advance()
        self._alive += ranks
        self._reschedule()

    def _refresh(self, _: simpy.Event) -> None:
        self._advance()
        self._reschedule()

    def _advance(self) -> None:
        """Account for what was done since the last change."""
        elapsed = self._env.now - self._updated
        self._updated = self._env.now
        if elapsed:
            for burst in self._bursts.values():
                burst.left -= elapsed * burst.rate

    def _reschedule(self) -> None:
        """Set every burst's rate and the time of the first to end."""
        self._next = None
        if not self._bursts:
            return
        node = self._costs.node_type(self._index, self._env.now)
        if node is not self._type:
            self._type, self._factors = node, self._costs.factors(node)
        # A rank that polls is runnable from its first op to its last, whatever it does in between.
        ranks = self._alive if node.waiting is Waiting.POLL else len(self._bursts)
        runnable = ranks + node.background_load
        share = min(1.0, node.processors / runnable)
        busy = min(node.processors, math.ceil(runnable))
        for burst in self._bursts.values():
            kept = node.share_kept(busy, self._costs.regions[burst.region])
            burst.rate = share * kept / self._factors[burst.region]
        end = min(self._end(burst) for burst in self._bursts.values())
        self._next = self._env.at(end, -1)
        self._next.callbacks.append(self._finish)

    def _end(self, burst: Burst) -> float:
        return self._updated + max(0.0, burst.left) / burst.rate

    def _finish(self, event: simpy.Event) -> None:
        """End the bursts that are done; an event overtaken by a later change does nothing."""
        if event is not self._next:
            return
        done = sorted(rank for rank, burst in self._bursts.items() if self._end(burst) <= self._env.now)
        self._advance()
        for rank in done:
            self._bursts.pop(rank).done.succeed()
        self._reschedule()
