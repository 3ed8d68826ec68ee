"""How messages between nodes get there: those under way delay each other. One class for each model of contention.

Each has ``begin``, called when the data of a message start: it sets when the sender is free of them (``message.leaves +
message.busy``), and when they arrive, at once or, where later messages may still matter, by ``setting.arrived``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from typing import Protocol

import numpy as np
import simpy
from typing_extensions import assert_never

from clue.kernel.model.costs import Costs, MessageCost
from clue.kernel.model.observation import Observation
from clue.kernel.reference.matching import Message
from clue.kernel.reference.sharing import FairSharing
from clue.kernel.reference.virtual_time import RATES_SETTLE, VirtualTime
from clue.machine import FactorTable, Flows, NoContention, Ports
from clue.machine.contention.topology import Topology


class Setting(Protocol):
    """What a transport needs of the virtual machine that it belongs to."""

    env: VirtualTime
    costs: Costs
    observation: Observation

    def at(self, time: float, order: int, happens: Callable[[], None]) -> simpy.Event:
        """Let something happen at a time, in its place among events of that time."""

    def arrived(self, message: Message, time: float, head: float) -> None:
        """Note that a message arrives at a time which nothing can change any more, and an eager one's head before."""


class Transport(Protocol):
    """What carries messages between nodes.

    Attributes:
        takes_turns: Whether ``begin`` must be called in the order of virtual time.
    """

    takes_turns: bool

    def begin(self, message: Message, start: float, cost: MessageCost) -> None:
        """Let the data of a message start."""


class UnsharedTransport:
    """Messages do not delay each other; so it is within a node always."""

    takes_turns = False

    def begin(self, message: Message, start: float, cost: MessageCost) -> None:
        """Let the data of a message start."""
        message.leaves, message.busy = start, cost.send
        message.arrival = (start + cost.send) + cost.transmission


class FactorTransport:
    """The paper's contention: communications between nodes slow each other by a factor of their number."""

    takes_turns = True

    def __init__(self, setting: Setting) -> None:
        self._epoch = setting.costs.epoch
        self._factors = [each.network.contention.figures for each in setting.costs.machine.epochs]
        self._observation = setting.observation
        self._ends: list[float] = []

    def begin(self, message: Message, start: float, cost: MessageCost) -> None:
        """Let the data of a message start, slowed by what is under way."""
        while self._ends and self._ends[0] <= start:
            heappop(self._ends)
        simultaneous = len(self._ends) + 1
        factors = self._factors[self._epoch(start)]
        factor = factors[min(simultaneous, len(factors)) - 1]
        self._observation.most_simultaneous = max(self._observation.most_simultaneous, simultaneous)
        message.leaves, message.busy = start, factor * cost.send
        message.arrival = (start + message.busy) + factor * cost.transmission
        # The very number that the receiver sees: who sends when this message arrives must not find it under way.
        heappush(self._ends, message.arrival)


class PortsTransport:
    """Each node's send and receive port serve messages in turn, in the order in which they get there."""

    takes_turns = True

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._nodes = setting.costs.placement.nodes
        self._send_free = [0.0] * len(setting.costs.machine.nodes)
        self._receive_free = [0.0] * len(setting.costs.machine.nodes)

    def begin(self, message: Message, start: float, cost: MessageCost) -> None:
        """Let the data of a message start, as soon as the send port is free."""
        node = self._nodes[message.source]
        message.leaves, message.busy = max(start, self._send_free[node]), cost.send
        self._send_free[node] = message.leaves + cost.send_port
        travel = cost.send + cost.transmission
        through = min(cost.occupation, travel)
        head = message.leaves + (travel - through)
        self._setting.at(head, message.order, lambda: self._receive(message, head, cost, through))

    def _receive(self, message: Message, head: float, cost: MessageCost, through: float) -> None:
        """Let a message that has reached its receive port in, as soon as that is free."""
        node = self._nodes[message.dest]
        begin = max(head, self._receive_free[node])
        self._receive_free[node] = begin + cost.receive_port
        self._setting.arrived(message, begin + through, max(begin, message.leaves + cost.envelope))


class _Flow:
    """A message on the links of a topology.

    Attributes:
        message: It.
        left: Bytes still to come through at ``updated``.
        updated: When its rate last changed, seconds.
        rate: Bytes per second.
        end: The event of its end, as far as is known.
        route: The links that it is on.
    """

    __slots__ = ("end", "left", "message", "rate", "route", "updated")

    def __init__(self, message: Message, left: float, route: tuple[int, ...], now: float) -> None:
        self.message = message
        self.left = left
        self.route = route
        self.updated = now
        self.rate = 0.0
        self.end: simpy.Event | None = None


class FlowsTransport:
    """Messages share the links of a topology max-min fairly; rates are settled once all that happens at a time has.

    A message may keep links longer than it travels: links let some of it through at once, as shapers and switches do.
    What a link has let through so it makes up for while it is idle; until then it lets through that much less.
    """

    takes_turns = False

    def __init__(self, setting: Setting, topology: Topology) -> None:
        self._setting = setting
        self._nodes = setting.costs.placement.nodes
        self._topology = topology
        self._size = len(setting.costs.machine.nodes)
        self._routes: dict[tuple[int, int], tuple[int, ...]] = {}
        capacities = topology.capacities(self._size).tolist()
        self._sharing = FairSharing(capacities)
        self._flows: list[_Flow | None] = []
        self._free: list[int] = []
        self._unsettled = False
        #: By link: how many messages are on it, since when none is, and how many bytes it has let through at once.
        self._on = [0] * len(capacities)
        self._idle_since = [0.0] * len(capacities)
        self._ahead = [0.0] * len(capacities)

    def begin(self, message: Message, start: float, cost: MessageCost) -> None:
        """Let the data of a message start; its bytes enter the links once the fixed part of its travel is over."""
        message.leaves, message.busy = start, cost.send
        if not message.nbytes:
            message.arrival = (start + cost.send) + cost.transmission
            return
        limit = message.nbytes / cost.occupation if cost.occupation else float("inf")
        travel = cost.send + cost.transmission
        longer = cost.occupation - travel
        at_once = message.nbytes * (longer / cost.occupation) if longer > 0 else 0.0
        enters = start + (0.0 if longer > 0 else travel - cost.occupation)
        self._setting.at(enters, message.order, lambda: self._enter(message, limit, at_once))

    def _enter(self, message: Message, limit: float, at_once: float) -> None:
        now = self._setting.env.now
        route = self._route(self._nodes[message.source], self._nodes[message.dest])
        let_through = at_once
        for link in route:
            if not self._on[link]:
                self._ahead[link] = max(0.0, self._ahead[link] - (now - self._idle_since[link]) * limit)
            let_through = max(0.0, min(let_through, at_once - self._ahead[link]))
        for link in route:
            self._on[link] += 1
            self._ahead[link] += let_through
        flow = _Flow(message, message.nbytes - let_through, route, now)
        if self._free:
            number = self._free.pop()
            self._flows[number] = flow
        else:
            number = len(self._flows)
            self._flows.append(flow)
        self._sharing.add(number, route, limit)
        self._settle_later()

    def _route(self, source: int, dest: int) -> tuple[int, ...]:
        """Return the links from one node to another."""
        known = self._routes.get((source, dest))
        if known is None:
            (row,) = self._topology.routes(self._size, np.array([source]), np.array([dest])).tolist()
            known = self._routes[source, dest] = tuple(link for link in row if link >= 0)
        return known

    def _leave(self, number: int, flow: _Flow) -> None:
        now = self._setting.env.now
        self._sharing.remove(number)
        self._flows[number] = None
        self._free.append(number)
        for link in flow.route:
            self._on[link] -= 1
            self._idle_since[link] = now
        self._setting.arrived(flow.message, now, now)
        self._settle_later()

    def _settle_later(self) -> None:
        if not self._unsettled:
            self._unsettled = True
            self._setting.at(self._setting.env.now, RATES_SETTLE, self._settle)

    def _settle(self) -> None:
        """Let every flow whose share has changed proceed at its new rate."""
        self._unsettled = False
        now = self._setting.env.now
        for number, rate in self._sharing.settle():
            flow = self._flows[number]
            assert flow is not None
            flow.left = max(0.0, flow.left - (now - flow.updated) * flow.rate)
            flow.updated, flow.rate = now, rate
            if flow.end is not None:
                flow.end.callbacks = []
            leave = partial(self._leave, number, flow)
            flow.end = self._setting.at(now + flow.left / rate, flow.message.order, leave)


def transport_of(setting: Setting) -> Transport:
    """Return what carries messages between the nodes of a virtual machine.

    Raises:
        UsageError: If a change during a run makes its contention another model.
    """
    contention = setting.costs.machine.contention
    match contention:
        case NoContention():
            return UnsharedTransport()
        case FactorTable():
            return FactorTransport(setting)
        case Ports():
            return PortsTransport(setting)
        case Flows(topology):
            return FlowsTransport(setting, topology)
        case _:
            assert_never(contention)
