"""A second opinion on nonblocking collectives: a slow simulator, written from the chapters in docs/pages/model alone.

It shares with the engines the values of machines (:mod:`clue.machine`) and the rounds of collectives
(:mod:`clue.collectives`), and nothing of :mod:`clue.kernel`. Every rank, every message and every collective in the
background is a process of one event loop over all of virtual time; nothing runs ahead. It covers bursts, blocking and
nonblocking messages, blocking and nonblocking collectives, waits and tests. Each rank has a node of its own, all links
between nodes are equal, and messages either do not slow each other or share ports.

Where events coincide on paper, rounding may decide their order. A nudge lengthens every delay by up to 1e-13 of it,
equal times equally, so that other orders come up. If no nudge changes a result, it does not depend on rounding.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, NamedTuple, TypeAlias, TypeVar

from clue.collectives import Collective, Round, default_choice, lower
from clue.machine import Machine, Ports, Progress, Rendezvous
from tests.kernel.oracle import Caller, Moment, Port


class Step(NamedTuple):
    """One step of a rank.

    Attributes:
        kind: compute, send, isend, recv, irecv, collective, icollective, wait or test.
        peer: Partner of a message.
        nbytes: Size of a message.
        requests: The request that the step starts, or those that it waits for.
        nanoseconds: Duration of a burst.
        collective: The collective of all ranks.
    """

    kind: str
    peer: int = 0
    nbytes: int = 0
    requests: tuple[int, ...] = ()
    nanoseconds: int = 0
    collective: Collective | None = None


class Action(NamedTuple):
    """The order of actions at one time: by rank, then by actor, then by message.

    Attributes:
        rank: The rank.
        actor: The rank itself (0), then its nonblocking collectives in the order of their calls.
        message: The actor itself (0), then the messages that it sends, in the order of their starts.
    """

    rank: int
    actor: int
    message: int = 0


class Turn(NamedTuple):
    """A time, and an action at that time."""

    at: float
    action: Action


T = TypeVar("T")
Life: TypeAlias = Generator["float | Turn | Moment", None, T]
#: Events that are no actions come before all actions.
_AHEAD = Action(-1, 0)


class Clock:
    """Virtual time and the processes that run in it."""

    def __init__(self, nudge: int | None) -> None:
        self.now = 0.0
        self._nudge = nudge
        self._serial = count()
        self._ahead: list[tuple[Any, ...]] = []

    def at(self, time: float, do: Callable[[], None], action: Action = _AHEAD) -> None:
        """Schedule a callback for a time."""
        if self._nudge is not None and time > self.now:
            time *= 1 + 1e-13 * Random(f"{self._nudge} {time}").random()
        heappush(self._ahead, (time, action, next(self._serial), do))

    def live(self, process: Life[None]) -> None:
        """Run a process until it waits for a time or a moment."""
        until = next(process, None)
        again = partial(self.live, process)
        match until:
            case Moment():
                until.then(again)
            case Turn(time, action):
                self.at(time, again, action)
            case float():
                self.at(until, again)

    def run(self) -> None:
        """Run all events."""
        while self._ahead:
            self.now, *_, do = heappop(self._ahead)
            do()


@dataclass(eq=False)
class Message:
    """A message on its way.

    Attributes:
        action: The place of its actions among those of its sender.
        waits_for_receiver: Whether its sender is free only when the receiver has told it that the message is there.
        posted: When its receive is posted.
        free: When its sender may continue.
        arrived: When it has arrived.
    """

    source: int
    dest: int
    nbytes: int
    action: Action
    is_rendezvous: bool
    is_acknowledged: bool
    waits_for_receiver: bool
    posted: Moment = field(default_factory=Moment)
    free: Moment = field(default_factory=Moment)
    arrived: Moment = field(default_factory=Moment)


class Channel:
    """Messages and receives of a pair of ranks, in the program or one collective: the k-th receive takes message k."""

    def __init__(self) -> None:
        self.sent: deque[Message] = deque()
        self.wanted: deque[Moment] = deque()

    def send(self, message: Message) -> None:
        """Match a message with a waiting receive, or keep it."""
        self.sent.append(message)
        self.match()

    def receive(self) -> Moment:
        """Post a receive; return the moment when its message has arrived."""
        arrived = Moment()
        self.wanted.append(arrived)
        self.match()
        return arrived

    def match(self) -> None:
        """Match the first message with the first receive, if both are there."""
        if self.sent and self.wanted:
            message, arrived = self.sent.popleft(), self.wanted.popleft()
            message.posted.come()
            message.arrived.then(arrived.come)


@dataclass
class Actor:
    """A rank, or one of its nonblocking collectives.

    Attributes:
        number: 0 for the rank itself, i for its i-th nonblocking collective.
        begun: Number of messages that it has started to send.
    """

    rank: int
    number: int = 0
    begun: int = 0


@dataclass
class Rank(Caller):
    """The state of a rank.

    Attributes:
        collectives: Number of collectives that it has called.
        in_background: Number of these that are nonblocking.
        receives: The requests that are receives.
    """

    collectives: int = 0
    in_background: int = 0
    receives: set[int] = field(default_factory=set)


class BackgroundOracle:
    """A program on a machine: rank k is on node k."""

    def __init__(self, program: Sequence[Sequence[Step]], machine: Machine, nudge: int | None = None) -> None:
        self.program, self.machine, self.clock = program, machine, Clock(nudge)
        self.network, self.link = machine.network, machine.network.between_nodes
        self.within_calls = self.network.progress is Progress.CALLS
        self.ranks = [Rank() for _ in program]
        self.channels: dict[tuple[object, int, int], Channel] = defaultdict(Channel)
        self.sends = [Port() for _ in program]
        self.receives = [Port() for _ in program]

    def finishes(self) -> list[float]:
        """Return when each rank ends; -1 for a rank that is blocked for ever."""
        for me in range(len(self.program)):
            self.clock.at(0.0, partial(self.clock.live, self.life(me)))
        self.clock.run()
        return [rank.finish for rank in self.ranks]

    def life(self, me: int) -> Life[None]:
        """Run the steps of a rank in order."""
        rank, actor = self.ranks[me], Actor(me)
        for step in self.program[me]:
            if step.kind == "compute":
                rank.leave(self.clock.now)
                yield self.clock.now + step.nanoseconds * 1e-9
                continue
            if self.only_starts(step):
                rank.leave(self.clock.now)
            else:
                rank.come_back()
            yield from getattr(self, step.kind)(actor, step)
        rank.come_back()
        rank.finish = self.clock.now

    def only_starts(self, step: Step) -> bool:
        """Tell whether a call neither waits nor tests: it is nonblocking, or sends and waits for nobody."""
        if step.kind != "send":
            return step.kind in {"isend", "irecv", "icollective"}
        link = self.link
        asks = link.acknowledged_from is not None and step.nbytes >= link.acknowledged_from
        return (link.eager_limit is None or step.nbytes <= link.eager_limit) and not asks

    def progress(self, rank: int) -> Life[None]:
        """P(now): wait until the library of a rank handles what has happened now."""
        there = self.ranks[rank]
        if self.within_calls and there.back is not None and there.left < self.clock.now:
            yield there.back

    # -- messages ----------------------------------------------------------------------------------------------------

    def overhead(self, nbytes: int) -> float:
        """Return c(m)."""
        stated = self.link.send_overhead
        return self.link.send_delay(nbytes) if stated is None else stated(nbytes)

    def completion(self) -> float:
        """Return e: the processor time of a receive once its message is there."""
        stated = self.link.receive_overhead
        return 0.0 if stated is None else max(stated - self.link.receive_delay, 0.0)

    def travel(self) -> float:
        """Return how long an empty message travels."""
        return self.link.send_delay(0) + self.link.transmission_delay(0)

    def launch(self, actor: Actor, peer: int, nbytes: int, context: object) -> Life[Message]:
        """Start a message, which then proceeds on its own."""
        link, me = self.link, actor.rank
        rendezvous = link.eager_limit is not None and nbytes > link.eager_limit
        asks = link.acknowledged_from is not None and nbytes >= link.acknowledged_from
        actor.begun += 1
        action = Action(me, actor.number, actor.begun)
        asks = asks and not rendezvous
        told = asks or (rendezvous and link.rendezvous is Rendezvous.READ)
        message = Message(me, peer, nbytes, action, rendezvous, asks, told)
        if not rendezvous:
            yield Turn(self.clock.now, Action(me, actor.number))
        self.channels[context, me, peer].send(message)
        self.clock.live(self.way(message))
        return message

    def way(self, message: Message) -> Life[None]:
        """Run a message from its start to its arrival, and until its sender is free."""
        if message.is_rendezvous:
            yield from self.handshake(message)
            yield Turn(self.clock.now, message.action)
        if isinstance(self.network.contention, Ports):
            yield from self.pass_ports(message)
        else:
            left = self.clock.now + self.link.send_delay(message.nbytes)
            self.let_go(message, left)
            yield left + self.link.transmission_delay(message.nbytes)
        message.arrived.come()
        if message.waits_for_receiver:
            yield from self.progress(message.dest)
            yield Turn(self.clock.now, message.action)
            yield self.clock.now + self.travel() + self.completion()
            message.free.come()

    def handshake(self, message: Message) -> Life[None]:
        """Run the handshake of a rendezvous, until its data start."""
        reads = self.link.rendezvous is Rendezvous.READ
        if reads or self.within_calls:
            yield self.clock.now + self.travel()
        yield message.posted
        yield from self.progress(message.dest)
        if reads:
            return
        yield Turn(self.clock.now, message.action)
        yield self.clock.now + self.travel() + self.completion()
        yield from self.progress(message.source)

    def let_go(self, message: Message, time: float) -> None:
        """Free the sender at a time, unless it waits for the receiver."""
        if not message.waits_for_receiver:
            self.clock.at(time, message.free.come)

    def pass_ports(self, message: Message) -> Life[None]:
        """Pass the sender's send port, then the receiver's receive port."""
        start, source, dest, nbytes = self.clock.now, message.source, message.dest, message.nbytes
        s, t = self.link.send_delay(nbytes), self.link.transmission_delay(nbytes)
        sending, transmitting = s - self.link.send_delay(0), t - self.link.transmission_delay(0)
        h = sending / (sending + transmitting) if sending + transmitting else 0.0
        o = max(sending, transmitting)
        w = min(o, s + t)
        begin = self.sends[source].get((source, dest), start, o, w)
        self.let_go(message, begin + max(s, w) if message.is_rendezvous else start + h * (begin - start) + s)
        yield Turn(max(start, begin + s + t - w), message.action)
        yield self.receives[dest].get((source, dest), self.clock.now, o, w) + w

    def send(self, actor: Actor, step: Step) -> Life[None]:
        """A blocking send."""
        begin = self.clock.now
        message = yield from self.launch(actor, step.peer, step.nbytes, "program")
        yield from self.end_of_send(begin, message)

    def end_of_send(self, begin: float, message: Message) -> Life[None]:
        """Wait until a blocking send ends: when the sender is free and, unless it is a rendezvous, after its call."""
        if message.is_acknowledged:
            yield begin + self.overhead(message.nbytes)
        yield message.free
        if not message.is_rendezvous and self.clock.now < begin + self.overhead(message.nbytes):
            yield begin + self.overhead(message.nbytes)

    def isend(self, actor: Actor, step: Step) -> Life[None]:
        """A nonblocking send."""
        begin = self.clock.now
        message = yield from self.launch(actor, step.peer, step.nbytes, "program")
        self.ranks[actor.rank].requests[step.requests[0]] = message.free
        yield begin + self.overhead(step.nbytes)

    def recv(self, actor: Actor, step: Step) -> Life[None]:
        """A blocking receive."""
        yield self.channels["program", step.peer, actor.rank].receive()
        yield self.clock.now + self.link.receive_delay + self.completion()

    def irecv(self, actor: Actor, step: Step) -> Life[None]:
        """A nonblocking receive."""
        arrived = self.channels["program", step.peer, actor.rank].receive()
        self.ranks[actor.rank].requests[step.requests[0]] = arrived
        self.ranks[actor.rank].receives.add(step.requests[0])
        yield self.clock.now + self.link.receive_delay

    def wait(self, actor: Actor, step: Step) -> Life[None]:
        """Wait for all of some requests, then spend e if there is a receive among them."""
        rank = self.ranks[actor.rank]
        for request in step.requests:
            yield rank.requests[request]
        if rank.receives.intersection(step.requests) and self.completion():
            yield self.clock.now + self.completion()

    def test(self, _: Actor, __: Step) -> Life[None]:
        """A test, which costs the same whether or not its request is complete."""
        yield self.clock.now + self.link.receive_delay

    # -- collectives -------------------------------------------------------------------------------------------------

    def begin(self, me: int, step: Step) -> tuple[int, Sequence[Round]]:
        """Return the number of a collective, which is the context of its messages, and the rank's rounds."""
        assert step.collective is not None
        self.ranks[me].collectives += 1
        algorithm = default_choice(self.network.collective_library, step.collective)
        return self.ranks[me].collectives, lower(step.collective, me, algorithm)

    def collective(self, actor: Actor, step: Step) -> Life[None]:
        """A blocking collective: the rank runs its rounds in order."""
        context, rounds = self.begin(actor.rank, step)
        for each in rounds:
            yield from self.round(actor, each, context, in_background=False)

    def icollective(self, actor: Actor, step: Step) -> Life[None]:
        """A nonblocking collective: the call takes no time, and the first round begins with it."""
        rank = self.ranks[actor.rank]
        rank.in_background += 1
        done = rank.requests[step.requests[0]] = Moment()
        self.clock.live(self.background(Actor(actor.rank, rank.in_background), *self.begin(actor.rank, step), done))
        yield self.clock.now

    def background(self, actor: Actor, context: int, rounds: Sequence[Round], done: Moment) -> Life[None]:
        """Run the rounds of a nonblocking collective beside its rank."""
        for each in rounds:
            yield from self.round(actor, each, context, in_background=True)
        done.come()

    def round(self, actor: Actor, each: Round, context: int, *, in_background: bool) -> Life[None]:
        """Start all receives and sends, wait for them, then reduce; a round of one message uses a blocking call."""
        if len(each.receives) + len(each.sends) == 1:
            yield from self.only_call(actor, each, context, in_background=in_background)
        else:
            yield from self.exchange(actor, each, context, in_background=in_background)
        yield self.clock.now + self.machine.nodes[actor.rank].reduction_delay * each.reduced

    def only_call(self, actor: Actor, each: Round, context: int, *, in_background: bool) -> Life[None]:
        """Make the blocking send or receive of a round of one message."""
        for peer in each.receives:
            arrived = self.channels[context, peer, actor.rank].receive()
            yield from self.await_all(actor, [arrived], in_background=in_background)
            yield self.clock.now + self.link.receive_delay + self.completion()
        for peer, nbytes in each.sends:
            begin = self.clock.now
            message = yield from self.launch(actor, peer, nbytes, context)
            if message.is_rendezvous:
                yield from self.await_all(actor, [message.free], in_background=in_background)
            elif message.is_acknowledged:
                yield begin + self.overhead(nbytes)
                yield from self.await_all(actor, [message.free], in_background=in_background)
            else:
                yield from self.end_of_send(begin, message)

    def exchange(self, actor: Actor, each: Round, context: int, *, in_background: bool) -> Life[None]:
        """Post all receives, start all sends, wait for all, then spend e if there are receives."""
        awaited = []
        for peer in each.receives:
            awaited.append(self.channels[context, peer, actor.rank].receive())
            yield self.clock.now + self.link.receive_delay
        for peer, nbytes in each.sends:
            begin = self.clock.now
            message = yield from self.launch(actor, peer, nbytes, context)
            awaited.append(message.free)
            yield begin + self.overhead(nbytes)
        yield from self.await_all(actor, awaited, in_background=in_background)
        if each.receives and self.completion():
            yield self.clock.now + self.completion()

    def await_all(self, actor: Actor, moments: Sequence[Moment], *, in_background: bool) -> Life[None]:
        """Wait for all moments; a round in the background that has waited goes on when its rank's library may."""
        since = self.clock.now
        yield from moments
        if in_background and self.clock.now > since:
            yield from self.progress(actor.rank)
