"""A second opinion on what ops mean: a slow simulator, written from the chapters in docs/pages/model alone.

It shares with the engines the values of machines (:mod:`clue.machine`), and nothing of :mod:`clue.kernel`. Every rank
and every message is a process of one event loop over all of virtual time; nothing runs ahead. It covers bursts and
sleeps on processors of their own, cold starts, blocking and nonblocking messages in all modes, data that receivers
read, waits, probes, dissemination barriers, every model of contention, copies one at a time, and latency between
switches.

Where events coincide on paper, rounding may decide their order. A random number generator lengthens every delay by up
to 1e-13 of it, so that all orders come up.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import inf
from random import Random
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from clue.machine import FactorTable, Flows, Link, Machine, Ports, Progress, Rendezvous
from clue.machine.contention.topology import Switches, Topology


class Step(NamedTuple):
    """One step of a rank.

    Attributes:
        kind: compute, sleep, send, isend, recv, irecv, probe, wait or barrier.
        peer: Partner of a message.
        nbytes: Size of a message.
        tag: Tag of a message.
        mode: "" (standard), "synchronous" or "buffered".
        requests: The request that the step starts, or those that it waits for.
        nanoseconds: Duration of a burst or a sleep.
        region: Region of a burst.
    """

    kind: str
    peer: int = 0
    nbytes: int = 0
    tag: int = 0
    mode: str = ""
    requests: tuple[int, ...] = ()
    nanoseconds: int = 0
    region: str = ""


class StuckError(Exception):
    """Some ranks are blocked for ever."""


class Turn(NamedTuple):
    """A time, and the order of an action at that time: by rank, then the rank's own (0) before its messages'."""

    at: float
    rank: int
    actor: int


class Moment:
    """An event that happens once."""

    def __init__(self) -> None:
        self.has_come = False
        self._then: list[Callable[[], None]] = []

    def then(self, do: Callable[[], None]) -> None:
        """Call back when it happens, or now if it has happened."""
        if self.has_come:
            do()
        else:
            self._then.append(do)

    def come(self) -> None:
        """Let it happen now."""
        self.has_come = True
        for do in self._then:
            do()


Life: TypeAlias = Generator["float | Turn | Moment", None, None]


class Clock:
    """Virtual time and its processes. At one time ranks run first, then actions, and settlings of flows."""

    def __init__(self, nudges: Random | None) -> None:
        self.now = 0.0
        self._nudges = nudges
        self._serial = count()
        self._ahead: list[tuple[Any, ...]] = []

    def at(self, time: float, do: Callable[[], None], phase: int = 0, rank: int = 0, actor: int = 0) -> None:
        """Schedule a callback for a time."""
        if self._nudges is not None:
            time = max(self.now, time * (1 + 1e-13 * self._nudges.random() * (time > self.now)))
        insort(self._ahead, (time, phase, rank, actor, next(self._serial), do))

    def live(self, process: Life) -> None:
        """Run a process until it waits for a time or a moment."""
        until = next(process, None)
        again = partial(self.live, process)
        match until:
            case Moment():
                until.then(again)
            case Turn(time, rank, actor):
                self.at(time, again, 1, rank, actor)
            case float():
                self.at(until, again)

    def run(self) -> None:
        """Run all events."""
        while self._ahead:
            self.now, *_, do = self._ahead.pop(0)
            do()


@dataclass(eq=False)
class Message:
    """A message on its way.

    Attributes:
        further: The time that switches add to its transmission delay.
        answer: Travel time of an empty message back to the sender, and what its processor needs to take it.
        s: Its send delay; under contention by factors, it is known when the data start.
        t: Its transmission delay, likewise, without the time that switches add.
        started: When its data start.
        free: When its sender may continue.
        posted: When its receive is posted.
        arrived: When it has arrived.
        seen: When its envelope has arrived.
    """

    source: int
    dest: int
    nbytes: int
    link: Link
    further: float
    answer: float
    is_eager: bool
    is_acknowledged: bool
    actor: int
    posted: Moment
    started: Moment = field(default_factory=Moment)
    free: Moment = field(default_factory=Moment)
    arrived: Moment = field(default_factory=Moment)
    seen: Moment = field(default_factory=Moment)

    def __post_init__(self) -> None:
        self.s, self.t = self.link.send_delay(self.nbytes), self.link.transmission_delay(self.nbytes)

    @property
    def is_read(self) -> bool:
        """Whether it is a rendezvous whose data the receiver reads."""
        return not self.is_eager and self.link.rendezvous is Rendezvous.READ

    @property
    def growth(self) -> tuple[float, float]:
        """By how much s and t exceed those of an empty message."""
        return self.s - self.link.send_delay(0), self.t - self.link.transmission_delay(0)

    def show(self, clock: Clock, time: float) -> None:
        """Let the envelope of an eager message arrive at a time; the one of a rendezvous came before its data."""
        if self.is_eager:
            clock.at(time, self.seen.come)


def travel(link: Link) -> float:
    """Return how long an empty message travels."""
    return link.send_delay(0) + link.transmission_delay(0)


def completion(link: Link) -> float:
    """Return e: the processor time of a receive once its message is there."""
    return 0.0 if link.receive_overhead is None else max(link.receive_overhead - link.receive_delay, 0.0)


def growth(link: Link, nbytes: int) -> float:
    """Return by how much s or t, whichever grows more, exceeds that of an empty message."""
    s, t = link.send_delay, link.transmission_delay
    return max(s(nbytes) - s(0), t(nbytes) - t(0), 0.0)


def occupation(link: Link, nbytes: int) -> float:
    """Return o(m): how long a message between nodes occupies shared resources, according to its link."""
    return link.busy(nbytes) if link.busy is not None else growth(link, nbytes)


def slope(link: Link) -> float:
    """Return o': the time that a byte adds to o on this link, for messages beyond all points."""
    if link.busy is not None:
        return link.busy.slopes[-1]
    return max(link.send_delay.slopes[-1], link.transmission_delay.slopes[-1], 0.0)


# -- models of contention: each carries a message whose data start now -----------------------------------------------


class Free:
    """Messages do not slow each other."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def carry(self, message: Message) -> Life:
        """Free the sender after s and deliver the message t later."""
        start = self.clock.now
        message.started.come()
        message.show(self.clock, start + travel(message.link))
        yield start + message.s
        message.free.come()
        yield start + message.s + message.t
        message.arrived.come()


class ByFactor(Free):
    """The paper's table."""

    def __init__(self, clock: Clock, table: FactorTable) -> None:
        super().__init__(clock)
        self.table, self.under_way = table, 0

    def carry(self, message: Message) -> Life:
        """Multiply both delays by the factor for the number of messages under way now."""
        self.under_way += 1
        factor = self.table.factor(self.under_way)
        message.s, message.t = factor * message.s, factor * message.t
        yield from super().carry(message)
        self.under_way -= 1


class Port:
    """A port of a node: it serves messages in turn, but short ones pass long ones."""

    def __init__(self) -> None:
        self.free = 0.0
        #: When the last message that got the port in turn is through.
        self.last_in_turn = 0.0
        #: When each message is through, its o, its pair of ranks, and when its last byte has passed.
        self.through: list[tuple[float, float, tuple[int, int], float]] = []

    def get(self, pair: tuple[int, int], x: float, o: float, w: float, a: float = 0.0) -> float:
        """Return when a message of a pair of ranks gets the port.

        It is there at x, and occupies the port for o; if that is longer, its last byte has passed after w.
        """
        y = max(x, self.free - a)
        equal = 1e-12 * y
        beside = [each for each in self.through if each[0] > x + equal]
        connection = max((gone for _, _, whose, gone in beside if whose == pair), default=0.0)
        z = max(x + sum(min(o, other, through - x) for through, other, *_ in beside), connection)
        passed = self.free - self.last_in_turn
        if x + len(beside) * o < y - equal and z < y - equal and passed + o <= (y - x) / 4 + equal:
            self.through.append((z + o, o, pair, z + min(o, w)))
            self.free += o
            return z
        self.free = self.last_in_turn = max(y, self.free) + o
        self.through.append((self.free, o, pair, y + min(o, w)))
        return y


class AtPorts:
    """A send and a receive port for each node."""

    def __init__(self, clock: Clock, machine: Machine, nodes: Sequence[int]) -> None:
        self.clock, self.machine, self.nodes = clock, machine, nodes
        self.sends: dict[int, Port] = defaultdict(Port)
        self.receives: dict[int, Port] = defaultdict(Port)

    def kept(self, link: Link, nbytes: int) -> float:
        """Return o."""
        stated = self.machine.network.contention.busy
        return stated(nbytes) if stated is not None else occupation(link, nbytes)

    def least(self, nbytes: int, *, source: str = "", dest: str = "") -> float:
        """Return the least o of all links from a node type, or to one, among nodes with ranks."""
        kinds = self.machine.nodes
        pairs = {(kinds[a].name, kinds[b].name) for a in self.nodes for b in self.nodes if a != b}
        links = [self.machine.network.link(a, b, False) for a, b in pairs if a == source or b == dest]
        return min(self.kept(link, nbytes) for link in links)

    def ahead(self, message: Message) -> float:
        """Return a: how long before a port is free a message may go through it."""
        if not message.link.bucket:
            return 0.0
        stated = self.machine.network.contention.busy
        per_byte = stated.slopes[-1] if stated is not None else slope(message.link)
        longer = self.kept(message.link, message.nbytes) - message.s - message.t
        return max(0.0, message.link.bucket * per_byte - max(0.0, longer))

    def carry(self, message: Message) -> Life:
        """Go through the send port, then the receive port."""
        here, there = self.nodes[message.source], self.nodes[message.dest]
        start, s, t, nbytes = self.clock.now, message.s, message.t, message.nbytes
        message.started.come()
        o, a = self.kept(message.link, nbytes), self.ahead(message)
        pair = message.source, message.dest
        w = min(o, s + t)
        begin = self.sends[here].get(pair, start, self.least(nbytes, source=self.machine.nodes[here].name), w, a)
        sending, transmitting = message.growth
        h = sending / (sending + transmitting) if sending + transmitting else 0.0
        free = start + h * (begin - start) + s if message.is_eager else begin + max(s, w)
        self.clock.at(free, message.free.come)
        d = min(max(s + t - o, travel(message.link)), s + t)
        yield Turn(begin + d, message.source, message.actor)
        least = self.least(nbytes, dest=self.machine.nodes[there].name)
        head = self.receives[there].get(pair, self.clock.now, least, s + t - d, a)
        message.show(self.clock, max(head, begin + travel(message.link)))
        yield head + s + t - d
        message.arrived.come()


@dataclass(eq=False)
class Flow:
    """Bytes on the links of a topology.

    Attributes:
        route: The links.
        limit: Its own limit, bytes per second.
        left: Bytes that have not passed.
        milestones: Numbers of bytes left and the moments to report when these are reached, last first.
    """

    route: tuple[int, ...]
    limit: float
    size: float
    left: float
    milestones: list[tuple[float, Moment]]
    rate: float = 0.0


class ByFlows:
    """Links that are shared max-min fairly."""

    def __init__(self, clock: Clock, capacity: Sequence[float]) -> None:
        self.clock, self.capacity = clock, capacity
        self.flows: list[Flow] = []
        self.settled_at = 0.0
        self.settlings = 0
        #: Bytes missing in the bucket of each link, and the time since when the link is idle.
        self.missing = [0.0] * len(self.capacity)
        self.idle_since = [0.0] * len(self.capacity)

    def carry(self, message: Message) -> Life:
        """Send the bytes over the links; an empty message does not use them."""
        start, s, t, m = self.clock.now, message.s, message.t, message.nbytes
        message.started.come()
        left = Moment()
        if m == 0:
            self.clock.at(start + s, message.free.come)
            yield from self.turn(message, left)
            left.come()
            arrival = self.clock.now + s + t + message.further
            message.show(self.clock, arrival)
            yield arrival
            message.arrived.come()
            return
        o = self.kept(message)
        h = 1.0 if not message.is_eager else min(1.0, message.growth[0] / o) if o else float(message.growth[0] > 0)
        route = self.route(message)
        partly = Moment()
        self.clock.live(self.free_sender(message, h, partly, start + s, max(s - h * o, 0.0)))
        yield from self.turn(message, left)
        at_once = self.at_once(message, route, o)
        milestones = [(0.0, left), ((1.0 - h) * m, partly)]
        self.begin(Flow(route, m / o if o else inf, m, m - at_once, milestones))
        yield left
        arrival = self.clock.now + max(s + t - o, 0.0) + message.further
        message.show(self.clock, arrival)
        yield arrival
        message.arrived.come()

    def turn(self, _: Message, __: Moment) -> Life:
        """Wait until a message may enter its links; the second argument is the moment at which it leaves them."""
        yield from ()

    def free_sender(self, message: Message, h: float, partly: Moment, least: float, after: float) -> Life:
        """Free the sender when a part of the bytes has passed."""
        if h:
            yield partly
            least = max(least, self.clock.now + after)
        yield least
        message.free.come()

    def route(self, _: Message) -> tuple[int, ...]:
        """Return the links on a message's way."""
        return tuple(range(len(self.capacity)))

    def kept(self, message: Message) -> float:
        """Return o; within a node only the delays count."""
        return growth(message.link, message.nbytes)

    def at_once(self, _: Message, __: tuple[int, ...], ___: float) -> float:
        """Return x: the bytes that pass at once. A memory has no bucket."""
        return 0.0

    def begin(self, flow: Flow) -> None:
        """Add a flow; rates are settled after all other events at this time."""
        self.advance()
        self.flows.append(flow)
        self.clock.at(self.clock.now, partial(self.settle, self.next_settling()), 2)

    def next_settling(self) -> int:
        """Return the number of a new settling, which replaces all earlier ones."""
        self.settlings += 1
        return self.settlings

    def advance(self) -> None:
        """Let the bytes flow until now."""
        for flow in self.flows:
            flow.left -= flow.rate * (self.clock.now - self.settled_at)
        self.settled_at = self.clock.now

    def settle(self, number: int) -> None:
        """Report completed flows, share the links again, and return at the next completion."""
        if number != self.settlings:
            return
        self.advance()
        for flow in self.flows:
            # The bytes left are a rounding error, or their time is one.
            rounding = 1e-11 * flow.size + 1e-15 * self.clock.now * flow.rate
            while flow.milestones and flow.left <= flow.milestones[-1][0] + rounding:
                self.clock.at(self.clock.now, flow.milestones.pop()[1].come)
        over = [flow for flow in self.flows if not flow.milestones]
        self.flows = [flow for flow in self.flows if flow.milestones]
        for link in {link for flow in over for link in flow.route}:
            self.idle_since[link] = self.clock.now
        self.share()
        ahead = [(flow.left - flow.milestones[-1][0]) / flow.rate for flow in self.flows]
        if ahead:
            self.clock.at(self.clock.now + min(ahead), partial(self.settle, self.next_settling()), 2)

    def share(self) -> None:
        """Progressive filling: all rates rise together until a link is full or a flow reaches its own limit."""
        rising, level = set(self.flows), 0.0
        free = list(self.capacity)
        while rising:
            on = {link: [flow for flow in rising if link in flow.route] for flow in rising for link in flow.route}
            more = min(*(flow.limit - level for flow in rising), *(free[link] / len(each) for link, each in on.items()))
            level += more
            for link, each in on.items():
                free[link] -= more * len(each)
            full = {link for link in on if free[link] <= 1e-12 * self.capacity[link]}
            held = {flow for flow in rising if flow.limit <= level * (1 + 1e-12) or full & set(flow.route)}
            for flow in held:
                flow.rate = level
            rising -= held


class OverTopology(ByFlows):
    """The links of a network."""

    def __init__(
        self, clock: Clock, topology: Topology, in_order: bool, machine: Machine, nodes: Sequence[int]
    ) -> None:
        super().__init__(clock, [float(each) for each in topology.capacities(len(machine.nodes))])
        self.topology, self.nodes, self.places = topology, nodes, len(machine.nodes)
        self.in_order = in_order
        #: When the last message from one rank to another leaves its links.
        self.last: dict[tuple[int, int], Moment] = {}

    def turn(self, message: Message, left: Moment) -> Life:
        """In order, wait for the messages between the same ranks that came before."""
        if not self.in_order:
            return
        ends = message.source, message.dest
        before, self.last[ends] = self.last.get(ends), left
        if before is not None:
            yield before

    def route(self, message: Message) -> tuple[int, ...]:
        """Return the links on a message's way."""
        ends = (np.array([self.nodes[rank]]) for rank in (message.source, message.dest))
        return tuple(int(link) for link in self.topology.routes(self.places, *ends)[0] if link >= 0)

    def kept(self, message: Message) -> float:
        """Return o; between nodes the link may state it."""
        return occupation(message.link, message.nbytes)

    def at_once(self, message: Message, route: tuple[int, ...], o: float) -> float:
        """Return x: the bytes that the links of a route let through at once."""
        now, m, alone = self.clock.now, message.nbytes, message.s + message.t
        for link in route:
            if not any(link in flow.route for flow in self.flows):
                refilled = (now - self.idle_since[link]) * self.capacity[link]
                self.missing[link], self.idle_since[link] = max(0.0, self.missing[link] - refilled), now
        depth = max(message.link.bucket, m * (1 - alone / o) if o > alone else 0.0)
        rate = m / o if o else inf
        needed = {link: m - min(rate, self.capacity[link]) * min(o, alone) for link in route}
        at_once = max(0.0, min(max(needed.values()), *(depth - self.missing[link] for link in route)))
        for link in route:
            self.missing[link] += min(at_once, max(needed[link], 0.0))
        return at_once


# -- ranks -----------------------------------------------------------------------------------------------------------


@dataclass
class Caller:
    """A rank as far as its calls decide.

    Attributes:
        left: When it last left a call for a burst or a sleep.
        back: The moment of its next call or the end of its program; None while it is in a call.
        requests: The moment when each request is complete.
        finish: When its program ended.
    """

    left: float = 0.0
    back: Moment | None = None
    requests: dict[int, Moment] = field(default_factory=dict)
    finish: float = -1.0

    def leave(self, now: float) -> None:
        """Leave the last call for a burst or a sleep, unless the rank has left it already."""
        if self.back is None:
            self.left, self.back = now, Moment()

    def come_back(self) -> None:
        """Enter the next call, or end the program."""
        back, self.back = self.back, None
        if back is not None:
            back.come()


@dataclass
class Rank(Caller):
    """The state of a rank.

    Attributes:
        mark: When its last burst ended.
        messages: Time spent on messages since then.
        waits: Sum of all waits since it was last warm.
        paid: Extra time that its bursts have taken since then.
        barriers: Number of barriers that it has begun.
        completions: e of each receive among the requests.
        compute: Time spent in bursts.
        communicate: Time spent on messages.
    """

    mark: float = 0.0
    messages: float = 0.0
    waits: float = 0.0
    paid: float = 0.0
    barriers: int = 0
    completions: dict[int, float] = field(default_factory=dict)
    compute: float = 0.0
    communicate: float = 0.0

    def spend(self, seconds: float) -> float:
        """Account for time spent on messages and return it."""
        self.messages += seconds
        self.communicate += seconds
        return seconds


class Channel:
    """Messages and receives of one communicator, source, destination and tag: the k-th receive takes message k."""

    def __init__(self) -> None:
        self.sent: deque[Message] = deque()
        self.wanted: deque[tuple[Moment, Moment]] = deque()
        self.probed: list[Moment] = []

    def send(self, message: Message) -> None:
        """Match a message with the first receive that is waiting, or keep it."""
        if self.wanted:
            self.join(message, *self.wanted.popleft())
        else:
            self.sent.append(message)
            while self.probed:
                message.seen.then(self.probed.pop().come)

    def probe(self) -> Moment:
        """Return the moment when the envelope of the message for the next receive has arrived."""
        seen = Moment()
        if self.sent:
            self.sent[0].seen.then(seen.come)
        else:
            self.probed.append(seen)
        return seen

    def receive(self) -> Moment:
        """Post a receive; return the moment when its message has arrived."""
        posted, arrived = Moment(), Moment()
        if self.sent:
            self.join(self.sent.popleft(), posted, arrived)
        else:
            self.wanted.append((posted, arrived))
        posted.come()
        return arrived

    @staticmethod
    def join(message: Message, posted: Moment, arrived: Moment) -> None:
        """Match a message with a receive."""
        posted.then(message.posted.come)
        message.arrived.then(arrived.come)


class Oracle:
    """A program on a machine."""

    def __init__(
        self, program: Sequence[Sequence[Step]], machine: Machine, nodes: Sequence[int], nudges: Random | None = None
    ) -> None:
        self.program, self.machine, self.nodes = program, machine, nodes
        self.network, self.clock = machine.network, Clock(nudges)
        self.ranks = [Rank() for _ in program]
        self.channels: dict[tuple[object, ...], Channel] = defaultdict(Channel)
        self.actors = [count(1) for _ in program]
        self.copied = [0.0] * len(program)
        self.within = [self.memory(kind.copy_bandwidth) for kind in machine.nodes]
        self.between = self.model()

    def model(self) -> Free | AtPorts | ByFlows:
        """Return the model that carries messages between nodes."""
        match self.network.contention:
            case FactorTable() as table:
                return ByFactor(self.clock, table)
            case Ports():
                return AtPorts(self.clock, self.machine, self.nodes)
            case Flows(topology, in_order):
                return OverTopology(self.clock, topology, in_order, self.machine, self.nodes)
        return Free(self.clock)

    def memory(self, bandwidth: float | None) -> Free | ByFlows:
        """Return the model that carries messages within a node."""
        return Free(self.clock) if bandwidth is None else ByFlows(self.clock, [bandwidth])

    def run(self) -> list[Rank]:
        """Run the program and return all ranks.

        Raises:
            StuckError: If some ranks never end.
        """
        for me in range(len(self.program)):
            self.clock.at(0.0, partial(self.clock.live, self.life(me)))
        self.clock.run()
        stuck = [me for me, rank in enumerate(self.ranks) if rank.finish < 0]
        if stuck:
            raise StuckError(stuck)
        return self.ranks

    def domain(self, rank: int) -> int:
        """Return the rank's domain within its node."""
        kind = self.machine.nodes[self.nodes[rank]]
        seat = sum(node == self.nodes[rank] for node in self.nodes[:rank])
        return seat % kind.processors * kind.domains // kind.processors

    def link(self, here: int, there: int) -> Link:
        """Return the link from one rank to another."""
        sender, receiver = (self.machine.nodes[self.nodes[rank]].name for rank in (here, there))
        same_node = self.nodes[here] == self.nodes[there]
        return self.network.link(sender, receiver, same_node, self.domain(here) == self.domain(there))

    def further(self, here: int, there: int) -> float:
        """Return the additional transmission delay from one rank to another, which is the latency between switches."""
        match self.network.contention:
            case Flows(Switches() as switches):
                at, to = (self.nodes[rank] // switches.per_switch for rank in (here, there))
                return switches.latency_between_switches if at != to else 0.0
        return 0.0

    def life(self, me: int) -> Life:
        """Run the steps of a rank in order."""
        for step in self.program[me]:
            if self.only_starts(me, step):
                self.ranks[me].leave(self.clock.now)
            elif step.kind not in {"compute", "sleep"}:
                self.ranks[me].come_back()
            yield from getattr(self, step.kind)(me, step)
        self.ranks[me].come_back()
        self.ranks[me].finish = self.clock.now

    def only_starts(self, me: int, step: Step) -> bool:
        """Tell whether a call neither waits nor tests: it is nonblocking, or sends and waits for nobody."""
        if step.kind != "send":
            return step.kind in {"isend", "irecv"}
        link, buffered = self.link(me, step.peer), step.mode == "buffered"
        small = link.eager_limit is None or step.nbytes <= link.eager_limit
        asks = link.acknowledged_from is not None and step.nbytes >= link.acknowledged_from
        return buffered or (small and step.mode != "synchronous" and not asks)

    # -- time without messages ---------------------------------------------------------------------------------------

    def compute(self, me: int, step: Step) -> Life:
        """A burst, with the extra time of a cold start after waits."""
        rank, kind, begin = self.ranks[me], self.machine.nodes[self.nodes[me]], self.clock.now
        rank.waits += begin - rank.mark - rank.messages
        warm = step.nanoseconds * 1e-9 * kind.factor(step.region)
        owed = kind.cold_start.after(rank.waits) - rank.paid
        longer = min(owed, kind.cold_start.at_most * warm)
        rank.paid += longer
        if longer == owed:
            rank.waits = rank.paid = 0.0
        rank.compute += warm + longer
        rank.leave(begin)
        yield begin + warm + longer
        rank.mark, rank.messages = self.clock.now, 0.0

    def sleep(self, me: int, step: Step) -> Life:
        """A sleep."""
        self.ranks[me].leave(self.clock.now)
        yield self.clock.now + step.nanoseconds * 1e-9

    def progress(self, rank: int, message: Message) -> Life:
        """P(now): wait until the library of a rank continues with a message."""
        if self.network.progress is Progress.CALLS:
            yield Turn(self.clock.now, message.source, message.actor)
            there = self.ranks[rank]
            if there.back is not None and there.left < self.clock.now:
                yield there.back

    # -- messages ----------------------------------------------------------------------------------------------------

    def launch(self, me: int, step: Step, context: object = "program") -> Message:
        """Start a message, which then proceeds on its own."""
        link = self.link(me, step.peer)
        buffered = step.mode == "buffered"
        small = link.eager_limit is None or step.nbytes <= link.eager_limit
        eager = buffered or (small and step.mode != "synchronous")
        asks = link.acknowledged_from is not None and step.nbytes >= link.acknowledged_from
        back = self.link(step.peer, me)
        answer = travel(back) + completion(back) + self.further(step.peer, me)
        message = Message(
            me, step.peer, step.nbytes, link, self.further(me, step.peer), answer, eager,
            eager and asks and not buffered, next(self.actors[me]), Moment(),
        )  # fmt: skip
        self.channels[context, me, step.peer, step.tag].send(message)
        self.clock.live(self.way(message))
        return message

    def way(self, message: Message) -> Life:
        """Run a message from its start to its arrival."""
        if not message.is_eager:
            yield from self.handshake(message)
        here = self.nodes[message.source]
        carrier = self.within[here] if here == self.nodes[message.dest] else self.between
        of_rank = message.is_eager and not isinstance(carrier, ByFlows)
        yield Turn(self.clock.now, message.source, 0 if of_rank else message.actor)
        if not message.is_eager and here == self.nodes[message.dest] and message.link.copy_time is not None:
            begin = max(self.clock.now, self.copied[message.dest])
            self.copied[message.dest] = begin + message.link.copy_time(message.nbytes)
            yield begin
        yield from carrier.carry(message)

    def handshake(self, message: Message) -> Life:
        """Run the handshake of a rendezvous, until its data start."""
        envelope = self.clock.now + travel(message.link) + message.further
        self.clock.at(envelope, message.seen.come)
        if message.is_read or self.network.progress is Progress.CALLS:
            yield envelope
        yield message.posted
        yield from self.progress(message.dest, message)
        if message.is_read:
            return
        yield self.clock.now + message.answer
        yield from self.progress(message.source, message)

    def freed(self, message: Message) -> Moment:
        """Return F: the moment when the sender is free of its message."""
        if not message.is_acknowledged and not message.is_read:
            return message.free
        acknowledged = Moment()
        self.clock.live(self.acknowledgement(message, acknowledged))
        return acknowledged

    def acknowledgement(self, message: Message, acknowledged: Moment) -> Life:
        """The receiver's library handles the message and sends an acknowledgement."""
        yield message.arrived
        yield from self.progress(message.dest, message)
        yield self.clock.now + message.answer
        acknowledged.come()

    def overhead(self, message: Message) -> float:
        """Return the time of a call that does not wait for its message."""
        stated = message.link.send_overhead
        return message.s if stated is None else stated(message.nbytes)

    def send(self, me: int, step: Step) -> Life:
        """A blocking send, in any mode."""
        begin, message = self.clock.now, self.launch(me, step)
        free = self.freed(message)
        yield message.started
        if message.is_acknowledged:
            yield begin + self.ranks[me].spend(self.overhead(message))
            yield free
            return
        call = self.overhead(message) if message.is_eager else 0.0
        self.ranks[me].spend(0.0 if message.is_read else message.s)
        yield free
        if self.clock.now < begin + call:
            yield self.clock.now + self.ranks[me].spend(begin + call - self.clock.now)

    def isend(self, me: int, step: Step, context: object = "program") -> Life:
        """A nonblocking send."""
        begin, message = self.clock.now, self.launch(me, step, context)
        self.ranks[me].requests[step.requests[0]] = self.freed(message)
        if message.is_eager:
            yield message.started
        yield begin + self.ranks[me].spend(self.overhead(message))

    def receive_delay(self, me: int, step: Step) -> float:
        """Spend r on a receive."""
        return self.ranks[me].spend(self.link(step.peer, me).receive_delay)

    def recv(self, me: int, step: Step) -> Life:
        """A blocking receive."""
        yield self.channels["program", step.peer, me, step.tag].receive()
        last = self.ranks[me].spend(completion(self.link(step.peer, me)))
        yield self.clock.now + self.receive_delay(me, step) + last

    def irecv(self, me: int, step: Step, context: object = "program") -> Life:
        """A nonblocking receive."""
        request = step.requests[0]
        self.ranks[me].requests[request] = self.channels[context, step.peer, me, step.tag].receive()
        self.ranks[me].completions[request] = completion(self.link(step.peer, me))
        yield self.clock.now + self.receive_delay(me, step)

    def probe(self, me: int, step: Step) -> Life:
        """Wait for the envelope of a message."""
        yield self.channels["program", step.peer, me, step.tag].probe()
        yield self.clock.now + self.receive_delay(me, step)

    def wait(self, me: int, step: Step) -> Life:
        """Wait for all of some requests, then spend the e of the first receive among them."""
        for request in step.requests:
            yield self.ranks[me].requests[request]
        receives = [self.ranks[me].completions[each] for each in step.requests if each in self.ranks[me].completions]
        if receives and receives[0]:
            yield self.clock.now + self.ranks[me].spend(receives[0])

    def barrier(self, me: int, _: Step) -> Life:
        """A dissemination barrier: rounds of an empty message to and from ranks at distances 1, 2, 4 and so on."""
        ranks, distance = len(self.program), 1
        context = ("barrier", self.ranks[me].barriers)
        self.ranks[me].barriers += 1
        while distance < ranks:
            yield from self.irecv(me, Step("irecv", (me - distance) % ranks, tag=distance, requests=(-1,)), context)
            yield from self.isend(me, Step("isend", (me + distance) % ranks, tag=distance, requests=(-2,)), context)
            yield from self.wait(me, Step("wait", requests=(-1, -2)))
            distance *= 2
