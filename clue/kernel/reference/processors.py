"""The processors of a node whose ranks disturb each other: equal sharing, memory contention, background load.

A node needs this only when ranks outnumber its processors, when it states memory contention or background load, or
when its parameters change over time; elsewhere the time of a burst is a plain product. Where a rank and background load
take turns, :mod:`clue.kernel.model.turns` does this instead.
"""

from __future__ import annotations

from collections.abc import Generator

import simpy

from clue.kernel.model.costs import Costs
from clue.kernel.reference.virtual_time import PARAMETERS_CHANGE, VirtualTime, burst_end
from clue.machine import Waiting


class Burst:
    """A computation burst in progress.

    Attributes:
        order: Place of its end among events of one time.
        region: Index of its region.
        left: CPU seconds still to do at ``updated``, as recorded.
        updated: When its rate last changed, seconds.
        rate: Recorded CPU seconds done per second of virtual time, at present.
        share: The rate as a fraction of that on a processor of its own.
        since: When ``share`` last changed, seconds.
        alone: Time that its progress until ``since`` would have taken on a processor of its own, seconds.
        alarm: Event that happens when nothing is left to do.
    """

    __slots__ = ("alarm", "alone", "left", "order", "rate", "region", "share", "since", "updated")

    def __init__(self, order: int, region: int, left: float, alarm: simpy.Event) -> None:
        self.order = order
        self.region = region
        self.left = left
        self.alarm = alarm
        self.updated = self.since = alarm.env.now
        self.rate = self.share = self.alone = 0.0

    def account(self, share: float) -> None:
        """Account for the progress until now, and go on with another share of a processor."""
        now = self.alarm.env.now
        self.alone += (now - self.since) * self.share
        self.since, self.share = now, share


class SharedNode:
    """A node whose runnable tasks share its processors equally at every instant.

    The bursts under way (where waiting ranks poll: all live ranks) and the background load are runnable. With ``n``
    runnable tasks on ``p`` processors, each proceeds at ``min(1, p/n)`` of a processor's speed, further reduced by the
    share that memory contention leaves when ``min(p, n)`` processors are busy, and divided by the performance factor.
    """

    def __init__(self, env: VirtualTime, index: int, costs: Costs) -> None:
        self._env = env
        self._index = index
        self._costs = costs
        self._bursts: dict[int, Burst] = {}
        self._alive = 0
        self._type = costs.node_type(index, env.now)
        self._known_rates: dict[int, list[float]] = {}
        self._rates = self._rates_now()
        self._factors = costs.factors(self._type)
        for time in costs.change_times:
            if time >= env.now:
                env.at(time, PARAMETERS_CHANGE).callbacks.append(self._change_parameters)

    def compute(self, rank: int, region: int, cpu: float) -> Generator[simpy.Event, object, float]:
        """Run a burst that begins now; returns at the virtual time at which it is done.

        Returns:
            How long it would have taken on a processor of its own, seconds.
        """
        self._bursts[rank] = burst = Burst(burst_end(rank), region, cpu, self._env.event())
        self._rates = self._rates_now()
        for other in self._bursts.values():
            self._set_rate(other)
        yield burst.alarm
        del self._bursts[rank]
        burst.account(0.0)
        self._share_anew()
        return burst.alone

    def factor(self, region: int) -> float:
        """Return the factor by which recorded computation time in a region is multiplied now."""
        return self._factors[region]

    def begin(self) -> None:
        """Add a living rank to this node from now on."""
        self._alive += 1
        self._share_anew()

    def end(self) -> None:
        """Remove a living rank from this node from now on."""
        self._alive -= 1
        self._share_anew()

    def take_regions(self) -> None:
        """Take over the regions that the costs know by now."""
        self._factors = self._costs.factors(self._type)
        self._known_rates = {}
        self._share_anew()

    def _change_parameters(self, _: simpy.Event) -> None:
        self._type = self._costs.node_type(self._index, self._env.now)
        self._factors = self._costs.factors(self._type)
        self._known_rates = {}
        self._share_anew()
        for burst in self._bursts.values():
            burst.account(burst.rate * self._factors[burst.region])

    def _share_anew(self) -> None:
        """Give every burst its present rate."""
        rates = self._rates_now()
        if rates is not self._rates:
            self._rates = rates
            for burst in self._bursts.values():
                self._set_rate(burst)

    def _set_rate(self, burst: Burst) -> None:
        """Account for the progress at the old rate, and move the alarm to the end at the new rate."""
        now, rate = self._env.now, self._rates[burst.region]
        if rate == burst.rate:
            return
        burst.left = max(0.0, burst.left - (now - burst.updated) * burst.rate)
        burst.updated, burst.rate = now, rate
        burst.account(rate * self._factors[burst.region])
        overtaken = burst.alarm
        burst.alarm = self._env.at(now + burst.left / rate, burst.order)
        burst.alarm.callbacks, overtaken.callbacks = overtaken.callbacks, []

    def _rates_now(self) -> list[float]:
        """Return the rate of a burst by region index, given the number of runnable tasks."""
        # A rank that polls is runnable from its first op to its last, whatever it does in between.
        ranks = self._alive if self._type.waiting is Waiting.POLL else len(self._bursts)
        rates = self._known_rates.get(ranks)
        if rates is None:
            rates = self._known_rates[ranks] = self._costs.rates(self._type, ranks)
        return rates
