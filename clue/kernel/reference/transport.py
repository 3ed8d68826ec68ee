"""How messages travel and delay each other under way: one class for each model of contention between nodes.

Within a node messages delay each other only where they share its memory, as flows share links.

Each class has ``begin``, which is called when the data of a message start. It sets when the data leave
(``message.leaves``), for how long they keep the sender busy, when the sender is free of them (``message.sent``), and
when they arrive. Where later messages may still change the last two times, the class reports these later by
``setting.gone`` and ``setting.arrived``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from typing import Protocol

import numpy as np
import simpy
from typing_extensions import assert_never

from clue.kernel.model.costs import Costs, MessageCost
from clue.kernel.model.observation import Observation
from clue.kernel.model.shared_links import SharedLinks, shares_copies
from clue.kernel.reference.matching import Message
from clue.kernel.reference.sharing import FairSharing
from clue.kernel.reference.virtual_time import RATES_SETTLE, VirtualTime
from clue.machine import FactorTable, Flows, NoContention, Ports


class Setting(Protocol):
    """The interface that a transport needs of the virtual machine to which it belongs."""

    env: VirtualTime
    costs: Costs
    observation: Observation

    def at(self, time: float, order: int, happens: Callable[[], object]) -> simpy.Event:
        """Do something at a time, in its place among events of that time."""

    def gone(self, message: Message, time: float) -> None:
        """Note when a sender is free of its data."""

    def arrived(self, message: Message, time: float, head: float) -> None:
        """Note the time, now final, at which a message arrives, and that at which an eager message's head arrives."""


class Transport(Protocol):
    """A carrier of messages.

    Attributes:
        takes_turns: Whether ``begin`` must be called in the order of virtual time.
    """

    takes_turns: bool

    def begin(self, message: Message, start: float, cost: MessageCost) -> None:
        """Let the data of a message start."""


class UnsharedTransport:
    """Messages do not delay each other."""

    takes_turns = False

    def begin(self, message: Message, start: float, cost: MessageCost) -> None:
        """Let the data of a message start."""
        message.leaves, message.busy = start, cost.send
        message.sent = start + cost.send
        message.arrival = message.sent + cost.transmission


class FactorTransport:
    """The CLUE paper's contention: a factor that depends on the number of communications between nodes slows them."""

    takes_turns = True

    def __init__(self, setting: Setting) -> None:
        self._epoch = setting.costs.epoch
        self._factors = [each.network.contention.figures for each in setting.costs.machine.epochs]
        self._observation = setting.observation
        self._ends: list[float] = []

    def begin(self, message: Message, start: float, cost: MessageCost) -> None:
        """Let the data of a message start, slowed by the messages under way."""
        while self._ends and self._ends[0] <= start:
            heappop(self._ends)
        simultaneous = len(self._ends) + 1
        factors = self._factors[self._epoch(start)]
        factor = factors[min(simultaneous, len(factors)) - 1]
        self._observation.most_simultaneous = max(self._observation.most_simultaneous, simultaneous)
        message.leaves, message.busy = start, factor * cost.send
        message.sent = start + message.busy
        message.arrival = message.sent + factor * cost.transmission
        # Exactly the receiver's arrival time: a rank that sends when this message arrives must not find it under way.
        heappush(self._ends, message.arrival)


#: Messages may pass others at a port until they occupy it for more than this share of the time that they would wait.
#: The others are not delayed, so this bounds how much more than its bandwidth a port carries.
PASSING = 0.25
#: Relative difference below which times at a port count as equal: the order of equal messages must not decide.
_ROUNDING = 1e-12


class _Port:
    """A port of a node: it serves messages in turn, but short ones pass long ones.

    Attributes:
        free: When it has served all messages so far, seconds.
    """

    __slots__ = ("_last", "_under_way", "free")

    def __init__(self) -> None:
        self.free = 0.0
        #: When the last message that it served in turn is through. Those that have passed since then add to ``free``.
        self._last = 0.0
        #: When each message is through, for how long it occupies the port, when its last byte has passed, from and to
        #: which rank it goes; as a heap.
        self._under_way: list[tuple[float, float, float, int, int]] = []

    def enter(self, message: Message, time: float, occupation: float, ahead: float, passes: float) -> float:
        """Return when a message that is there at a time gets the port.

        Args:
            message: The message.
            time: When it is there, seconds.
            occupation: How long it occupies the port, seconds.
            ahead: How long before the port is free it may get it, seconds.
            passes: How long its bytes take to pass the port, seconds.
        """
        under_way, turn = self._under_way, max(time, self.free - ahead)
        rounding = _ROUNDING * turn
        while under_way and under_way[0][0] <= time + rounding:
            heappop(under_way)
        begin, passed, ends = turn, self.free - self._last, (message.source, message.dest)
        passes = min(passes, occupation)
        if (
            time + len(under_way) * occupation + rounding < turn
            and passed + occupation <= PASSING * (turn - time) + rounding
        ):
            # With a fair share of the port, each of the others goes on for as long as this one takes, or until it ends.
            # Sums in ascending order are those of the other engine to the last bit.
            beside = 0.0
            for each in sorted(min(occupation, other, end - time) for end, other, *_ in under_way):
                beside += each
            begin = max([time + beside, *(gone for _, _, gone, *others in under_way if tuple(others) == ends)])
        if begin + rounding < turn:
            self.free += occupation
            heappush(under_way, (begin + occupation, occupation, begin + passes, *ends))
            return begin
        self.free = self._last = max(turn, self.free) + occupation
        heappush(under_way, (self.free, occupation, turn + passes, *ends))
        return turn


class PortsTransport:
    """Each node's send and receive port serve messages in turn, in the order in which they get there.

    A port with a token bucket lets a message through before it is free, as far as the bucket reaches. Short messages
    pass long ones of other ranks: packets take turns on a real link.
    """

    takes_turns = True

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._nodes = setting.costs.placement.nodes
        self._sending = [_Port() for _ in setting.costs.machine.nodes]
        self._receiving = [_Port() for _ in setting.costs.machine.nodes]

    def begin(self, message: Message, start: float, cost: MessageCost) -> None:
        """Let the data of a message start, as soon as the send port is free."""
        port = self._sending[self._nodes[message.source]]
        through = min(cost.occupation, cost.travel)
        message.leaves, message.busy = port.enter(message, start, cost.send_port, cost.ahead, through), cost.send
        if message.eager:
            message.sent = (start + (message.leaves - start) * cost.held) + message.busy
        else:
            message.leaving = max(through - cost.send, 0.0)
            message.sent = message.leaves + max(message.busy, through)
        head = message.leaves + cost.head
        self._setting.at(head, message.order, lambda: self._receive(message, head, cost))

    def _receive(self, message: Message, head: float, cost: MessageCost) -> None:
        """Let a message in at its receive port, as soon as that is free."""
        port = self._receiving[self._nodes[message.dest]]
        rest = cost.travel - cost.head
        begin = port.enter(message, head, cost.receive_port, cost.ahead, rest)
        arrival = begin + rest
        self._setting.arrived(message, arrival, max(begin, message.leaves + cost.envelope))


class _Flow:
    """A message on the links of a topology.

    Attributes:
        message: The message.
        limit: Its own limit, bytes per second.
        bucket: Depth of the token buckets of its links, bytes.
        alone: How long its links let it through if it is alone and their buckets are full, seconds.
        left: Bytes still to transmit at ``updated``.
        kept: Bytes still to transmit when its sender is free of its data.
        rest: How long its sender is busy with it after that, seconds; ``None`` if the sender is free.
        last: Travel time of its last byte beyond the links, seconds.
        updated: When its rate last changed, seconds.
        rate: Bytes per second.
        next: The event at which its sender is free or the flow ends, as far as known.
        route: The links on its route.
    """

    __slots__ = (
        "alone", "bucket", "kept", "last", "left", "limit", "message", "next", "rate", "rest", "route", "updated"
    )  # fmt: skip

    def __init__(self, message: Message, cost: MessageCost, route: tuple[int, ...]) -> None:
        self.message = message
        nbytes, occupation = message.nbytes, cost.occupation
        self.limit = nbytes / occupation if occupation else float("inf")
        self.bucket = cost.bucket
        self.alone = min(cost.travel, occupation)
        self.last = max(cost.travel - occupation, 0.0) + cost.further
        held = cost.held if message.eager else 1.0
        self.kept = nbytes * (1.0 - held)
        self.rest: float | None = max(cost.send - held * occupation, 0.0) if held else None
        self.left = self.updated = self.rate = 0.0
        self.next: simpy.Event | None = None
        self.route = route


#: Transport of messages that share nothing.
UNSHARED = UnsharedTransport()


class FlowsTransport:
    """Messages share links max-min fairly, those of a topology and the memory of nodes.

    If messages travel in order, those between nodes from one rank to another share a connection, which carries one
    after the other. Rates are settled once per instant, after all other events of that instant.

    Each link is a token bucket, like a traffic shaper: it lets bytes through at once as far as the bucket holds them
    and the message would otherwise take longer than alone. The bucket fills up again while the link is idle.
    """

    takes_turns = False

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._nodes = setting.costs.placement.nodes
        self._links = SharedLinks(setting.costs.machine)
        self._routes: dict[tuple[int, int], tuple[int, ...]] = {}
        contention = setting.costs.machine.contention
        self._in_order = isinstance(contention, Flows) and contention.in_order
        capacities: list[float] = self._links.capacities.tolist()
        self._capacities = capacities
        self._sharing = FairSharing(capacities)
        self._flows: list[_Flow | None] = []
        self._free: list[int] = []
        self._unsettled = False
        #: By sender and receiver whose connection carries a message: what lets those that wait for it enter their
        #: routes, and tells whether they take time there.
        self._connections: dict[tuple[int, int], deque[Callable[[], bool]]] = {}
        #: By link: the number of messages on it, the time since which it has been idle, and the bytes missing in its
        #: bucket.
        self._on = [0] * len(capacities)
        self._idle_since = [0.0] * len(capacities)
        self._missing = [0.0] * len(capacities)

    def begin(self, message: Message, start: float, cost: MessageCost) -> None:
        """Let the data of a message start; the fixed part of its delay follows when all its bytes are through."""
        route = self._route(self._nodes[message.source], self._nodes[message.dest])
        in_order = self._in_order and cost.between_nodes
        if not route or not (message.nbytes or in_order):
            UNSHARED.begin(message, start, cost)
            return
        message.leaves, message.busy = start, cost.send
        if message.nbytes:
            flow = _Flow(message, cost, route)
            if not message.eager:
                message.leaving = max(min(cost.occupation, cost.travel) - cost.send, 0.0)
            if flow.rest is None:
                message.sent = start + cost.send
            enter = partial(self._enter, flow)
        else:
            message.sent = start + cost.send
            enter = partial(self._travel_alone, message, cost)
        self._setting.at(start, message.order, partial(self._come, message, enter) if in_order else enter)

    def _come(self, message: Message, enter: Callable[[], bool]) -> None:
        """Let a message enter its route, as soon as its connection has carried those before."""
        ends = message.source, message.dest
        if ends in self._connections:
            self._connections[ends].append(enter)
        else:
            self._connections[ends] = deque([enter])
            self._carry(ends)

    def _carry(self, ends: tuple[int, int]) -> None:
        """Let the messages that wait for a connection enter their routes, up to one that takes time there."""
        waiting = self._connections[ends]
        while waiting:
            if waiting.popleft()():
                return
        del self._connections[ends]

    def _travel_alone(self, message: Message, cost: MessageCost) -> bool:
        """Let an empty message travel."""
        now = self._setting.env.now
        self._setting.arrived(message, now + cost.send + cost.transmission, now + cost.envelope)
        return False

    def _enter(self, flow: _Flow) -> bool:
        message, route = flow.message, flow.route
        flow.left, flow.updated = message.nbytes - self._let_through(flow), self._setting.env.now
        if flow.left <= flow.kept:
            self._let_go(flow)
        if self._free:
            number = self._free.pop()
            self._flows[number] = flow
        else:
            number = len(self._flows)
            self._flows.append(flow)
        self._sharing.add(number, route, flow.limit)
        self._settle_later()
        return True

    def _let_through(self, flow: _Flow) -> float:
        """Take the bytes that pass at once out of the buckets of a message's links, and return their number."""
        now, wanted, allowed = self._setting.env.now, 0.0, flow.bucket
        for link in flow.route:
            if not self._on[link]:
                refilled = (now - self._idle_since[link]) * self._capacities[link]
                self._missing[link] = max(0.0, self._missing[link] - refilled)
            wanted = max(wanted, self._beyond(flow, link))
            allowed = min(allowed, flow.bucket - self._missing[link])
        let_through = max(0.0, min(wanted, allowed))
        for link in flow.route:
            self._on[link] += 1
            self._missing[link] += min(let_through, max(0.0, self._beyond(flow, link)))
        return let_through

    def _beyond(self, flow: _Flow, link: int) -> float:
        """Return the bytes of a message that a link's bandwidth alone does not let through in time."""
        return flow.message.nbytes - min(flow.limit, self._capacities[link]) * flow.alone

    def _let_go(self, flow: _Flow) -> None:
        """Free the sender of a message's data."""
        message = flow.message
        if flow.rest is not None:
            self._setting.gone(message, max(message.leaves + message.busy, self._setting.env.now + flow.rest))
            flow.rest = None

    def _route(self, source: int, dest: int) -> tuple[int, ...]:
        """Return the links from one node to another."""
        known = self._routes.get((source, dest))
        if known is None:
            (row,) = self._links.routes(np.array([source]), np.array([dest])).tolist()
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
        self._let_go(flow)
        self._setting.arrived(flow.message, now + flow.last, now + flow.last)
        self._settle_later()
        ends = flow.message.source, flow.message.dest
        if ends in self._connections:
            self._carry(ends)

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
            if flow.next is not None:
                flow.next.callbacks = []
            self._go_on(number, flow)

    def _go_on(self, number: int, flow: _Flow) -> None:
        """Let a flow proceed until its sender is free of it, or to its end."""
        kept = flow.kept if flow.rest is not None else 0.0
        happens = partial(self._pass if kept else self._leave, number, flow)
        time = flow.updated + max(0.0, flow.left - kept) / flow.rate
        flow.next = self._setting.at(time, flow.message.order, happens)

    def _pass(self, number: int, flow: _Flow) -> None:
        """Free the sender of a flow that has proceeded far enough, and let the flow proceed."""
        flow.left, flow.updated = min(flow.left, flow.kept), self._setting.env.now
        self._let_go(flow)
        self._go_on(number, flow)


def transport_of(setting: Setting) -> Transport:
    """Return the transport between the nodes of a virtual machine.

    Raises:
        UsageError: If a change during a run replaces its contention by another model.
    """
    contention = setting.costs.machine.contention
    match contention:
        case NoContention():
            return UNSHARED
        case FactorTable():
            return FactorTransport(setting)
        case Ports():
            return PortsTransport(setting)
        case Flows():
            return FlowsTransport(setting)
        case _:
            assert_never(contention)


def copying(setting: Setting, between: Transport) -> Transport:
    """Return the transport within nodes, given the one between them."""
    if not shares_copies(setting.costs.machine):
        return UNSHARED
    return between if isinstance(between, FlowsTransport) else FlowsTransport(setting)
