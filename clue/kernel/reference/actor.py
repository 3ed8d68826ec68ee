"""Actors send and receive, each on its own clock: the meaning of messages and of the rounds of collectives."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import simpy

from clue.collectives import Collective, Round, Schedule
from clue.kernel.model.costs import MessageCost
from clue.kernel.model.history import Awaited, History, Until
from clue.kernel.model.observation import Segment
from clue.kernel.model.program import Row
from clue.kernel.model.turns import Turns
from clue.kernel.reference.accesses import Accesses
from clue.kernel.reference.matching import Channel, Mailboxes, Message, Pending, Receive
from clue.kernel.reference.virtual_machine import VirtualMachine, wake
from clue.kernel.reference.virtual_time import action
from clue.result import Activity, Part
from clue.trace import Flag

# Plain integers: an operation on an IntFlag costs more than all the rest of a send.
_BUFFERED, _SYNCHRONOUS = int(Flag.BUFFERED), int(Flag.SYNCHRONOUS)
#: What a blocking operation yields: events to wait for.
Events = Generator[simpy.Event, Any, None]


@dataclass(eq=False)
class Instance:
    """One running copy of a program: what its ranks share.

    Attributes:
        mailboxes: Where its messages meet its receives.
        worlds: By number of a spawned world, an event that happens when the Spawn is done.
        collectives: By context, the collectives on it in order, where they are known beforehand.
        first: Its first rank among those of all instances.
        nodes: By context, the numbered nodes of its members, computed on first use.
        chosen: By context and collective, the collective as it is lowered and its algorithm, likewise.
        accesses: Its one-sided operations.
    """

    mailboxes: Mailboxes
    worlds: dict[int, simpy.Event] = field(default_factory=dict)
    collectives: Mapping[int, Sequence[Collective]] = field(default_factory=dict)
    first: int = 0
    nodes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    chosen: dict[tuple[int, Collective], tuple[Collective, str]] = field(default_factory=dict)
    accesses: Accesses = field(default_factory=Accesses)


def is_eager(cost: MessageCost, flags: int) -> bool:
    """Tell whether a message is sent without waiting for its receive."""
    return (cost.eager or bool(flags & _BUFFERED)) and not flags & _SYNCHRONOUS


def is_acknowledged(cost: MessageCost, flags: int) -> bool:
    """Tell whether the send of an eager message ends only when it is acknowledged."""
    return cost.acknowledged and not flags & _BUFFERED


class Actor:
    """Sends and receives on its own clock: a rank, or a nonblocking collective in its background.

    Attributes:
        rank: Rank within the program.
        number: Rank among all instances.
        order: Place of its actions among events of one time; its messages follow, one by one.
        place: 0 for the rank itself, i for its i-th nonblocking collective.
        clock: Its virtual time, seconds.
        in_calls: Whether it does nothing unless its rank is within a call.
        turns: The turns of a rank that takes turns with background load.
        communicate: Processor time spent on messages so far.
    """

    def __init__(self, machine: VirtualMachine, instance: Instance, rank: int, place: int, clock: float) -> None:
        self.instance = instance
        self.machine = machine
        self.env = machine.env
        self.costs = machine.costs
        self.mailboxes = instance.mailboxes
        self.message_type = instance.mailboxes.message_type
        self.receive_type = instance.mailboxes.receive_type
        self.observed = machine.observation.messages is not None or machine.observation.sent is not None
        self.ordered = machine.transport.takes_turns
        self.nodes = machine.placement.nodes
        self.offset = instance.first
        self.number = number = instance.first + rank
        self.node = self.nodes[number]
        self.rank = rank
        self.place = place
        self.launched = 0
        self.order = action(number, place)
        self.clock = clock
        self.in_calls = False
        self.turns: Turns | None = None
        self.communicate = 0.0
        self.region = 0
        self.site = 0
        self.segments: list[Segment] | None = None
        histories = machine.observation.histories
        self.history: History | None = None if histories is None else histories.setdefault((number, place), [])
        self.keeps = histories is not None
        self.blocked_on: Row | None = None
        self._turn = -1.0

    # -- time ---------------------------------------------------------------------------------------------

    def spend(
        self, activity: Activity, seconds: float, cause: Message | Part | None = None, *, end: float | None = None
    ) -> None:
        """Spend processor time on a message.

        Args:
            activity: What it is spent on.
            seconds: How much.
            cause: The message or other cause, where that says more than the activity.
            end: When it ends, where others know that time: rounding must not make two different times of it.
        """
        begin = self.clock
        self.clock = begin + seconds if end is None else end
        self.communicate += seconds
        if self.turns is not None:
            self.turns.pass_time(seconds)
        if self.keeps and seconds:
            self.keep(activity, begin, cause)

    def wait_until(self, time: float, what: object, until: Until = Until.DONE) -> None:
        """Advance the clock to a time, if that is still to come; ``what`` is the event waited for."""
        if time > self.clock:
            begin, self.clock = self.clock, time
            if self.keeps:
                self.keep(Activity.WAIT, begin, Awaited(what, until))

    def sleep_until(self, time: float, what: object, until: Until = Until.DONE) -> None:
        """Sleep until a time, if that is still to come, then wait for this rank's turn."""
        since = self.clock
        if time > since:
            self.wait_until(time, what, until)
            if self.turns is not None:
                self.wake(since)

    def wake(self, since: float) -> None:
        """Wait for this rank's turn, if it has slept since a time and takes turns."""
        if self.turns is not None and self.clock > since:
            begin, self.clock = self.clock, self.turns.wake(since, self.clock)
            if self.keeps and self.clock > begin:
                self.keep(Activity.WAIT, begin, Part.SHARING)

    def keep(self, activity: Activity, begin: float, about: object) -> None:
        """Record an activity from its start until now, if anything collects it."""
        if self.segments is not None:
            self.segments.append((self.number, activity, self.region, self.site, begin, self.clock))
        if self.history is not None and self.clock > begin:
            self.history.append((begin, self.clock, activity, about, self.site))

    def in_turn(self) -> Events:
        """Wait until all events before this rank's clock have happened; ranks decide ties."""
        if self._turn != self.clock:
            self._turn = self.clock
            yield self.env.at(self.clock, self.order)

    def takes_turns_with(self, dest: int) -> bool:
        """Tell whether the order in which messages to a rank start matters: whether contention can slow them."""
        return self.ordered and self.nodes[self.offset + dest] != self.node

    def until_known(self, holder: Pending) -> Events:
        """Block until it is known when something ends, or when a probe can see it."""
        holder.waiter = event = self.env.event()
        self._turn = -1.0
        yield event

    def until_in_call(self) -> Events:
        """Wait, at the end of a wait, until this actor's rank is within a call."""
        event = self.env.event()
        self.machine.within_call(self.number, self.clock, self.order, event.succeed)
        time = yield from self.until(event)
        self.wait_until(time, self, Until.CALL)

    def until(self, event: simpy.Event) -> Generator[simpy.Event, Any, Any]:
        """Block until an event has happened; returns its value."""
        self._turn = -1.0
        return (yield event)

    # -- messages -----------------------------------------------------------------------------------------

    def launch(self, channel: Channel, nbytes: int, flags: int = 0, *, blocking: bool = True) -> Message:
        """Begin to send at the time of this actor's clock.

        When this returns, the rank has paid for an eager send: for all of a blocking send, unless it is not yet known
        how long the sender is held, and only for the call of a nonblocking one.
        """
        message = self._message_to(channel[2], nbytes)
        cost = self.costs.message(self.number, message.dest, nbytes, self.clock)
        if is_eager(cost, flags):
            head = self.clock + cost.envelope
            message.acknowledged = is_acknowledged(cost, flags)
            self.machine.carrier(cost).begin(message, self.clock, cost)
            self._pay(message, cost, blocking)
            if message.arrival is not None:
                message.envelope = min(message.arrival, head)
                if message.acknowledged:
                    self.machine.acknowledge(message)
        else:
            message.eager = False
            message.envelope = self.clock + cost.envelope
            message.busy = cost.send
        receive = self.mailboxes.deliver(channel, message)
        if receive is not None:
            self.machine.meet(message, receive)
        return message

    def begin_access(self, dest: int, nbytes: int) -> Message:
        """Begin to send the data of a one-sided operation; pay as for a nonblocking eager send."""
        message = self._message_to(dest, nbytes)
        cost = self.costs.message(self.number, message.dest, nbytes, self.clock)
        self.machine.begin(message, self.clock)
        if message.leaves > self.clock and not cost.between_nodes:
            # Its data wait for copies, maybe until parameters have changed; its call does not.
            self.spend(Activity.SEND, cost.send if cost.call is None else cost.call)
        else:
            self._pay(message, cost, blocking=False)
        return message

    def access_directly(self, dest: int, nbytes: int, back: int) -> Message:
        """Write and read data in the memory of a rank of this node; return a message that arrives when that is done."""
        message = self._message_to(dest, nbytes)
        there, here, empty = (self.costs.message(self.number, message.dest, m, self.clock) for m in (nbytes, back, 0))
        for seconds in (empty.send if empty.call is None else empty.call, there.copied, here.copied):
            self.spend(Activity.SEND, seconds)
        message.arrival = self.clock
        return message

    def _message_to(self, dest: int, nbytes: int) -> Message:
        """Return a new message to a rank of the program, which this actor has at its clock."""
        dest += self.offset
        self.launched += 1
        message = self.message_type(self.number, dest, nbytes, self.clock, self.order + self.launched)
        message.site = self.site
        if self.observed:
            self.observe(self.number, dest, nbytes)
        return message

    def _pay(self, message: Message, cost: MessageCost, blocking: bool) -> None:
        """Pay for an eager send that begins, as far as its cost is known."""
        if message.acknowledged:
            message.sent = None
        if message.acknowledged or not blocking:
            if cost.call is None:
                self.spend(Activity.SEND, message.busy, message)
            else:
                self.spend(Activity.SEND, cost.call)
        elif message.sent is not None:
            began = self.clock
            if message.leaves > began and cost.held:
                self.wait_until(began + (message.leaves - began) * cost.held, message, Until.LEAVES)
            self.spend(Activity.SEND, message.busy, message)
            message.sent = self.clock
            if cost.call is not None:
                self._end_call(began + cost.call)
        elif cost.call is not None:
            message.call_ends = self.clock + cost.call

    def _end_call(self, end: float) -> None:
        """Spend processor time until the call of a blocking send is done, if its data have left before."""
        if end > self.clock:
            self.spend(Activity.SEND, end - self.clock, end=end)

    def observe(self, source: int, dest: int, nbytes: int) -> None:
        """Count a message between two ranks, which belongs to the call site of this actor's op."""
        seen = self.machine.observation
        if seen.sent is not None:
            seen.sent[self.site] += nbytes
        if seen.messages is not None and seen.nbytes is not None:
            seen.messages[source, dest] += 1
            seen.nbytes[source, dest] += nbytes

    def finish_send(self, message: Message) -> Events:
        """Block in a send until the message has gone."""
        if message.sent is None:
            yield from self.until_known(message)
        assert message.sent is not None
        since = self.clock
        if message.acknowledged:
            self.sleep_until(message.sent, message)
        elif message.sent > self.clock:
            self.wait_until(message.sent - message.busy, message, Until.LEAVES)
            slept = self.clock > since
            self.spend(Activity.SEND, message.sent - self.clock, message, end=message.sent)
            if slept:
                self.wake(since)
        self._end_call(message.call_ends)
        # An eager message that nobody acknowledges leaves whatever its sender does.
        if self.in_calls and self.clock > since and (message.acknowledged or not message.eager):
            yield from self.until_in_call()

    def keep_sending(self, message: Message) -> bool:
        """Pay for the call of a nonblocking send; tell whether the message keeps its sender longer than the call.

        The cost of a rendezvous call is fixed when the call is made, though its data may leave later.
        """
        if not message.eager:
            cost = self.costs.message(message.source, message.dest, message.nbytes, self.clock)
            self.spend(Activity.SEND, cost.send if cost.call is None else cost.call)
        return message.sent is None or message.sent > self.clock

    def receive_cost(self, source: int) -> float:
        """Return the time of a receive or probe call that begins now; the source may be a wildcard."""
        if source < 0:
            return self.costs.poll_delay(self.number, self.clock)
        return self.costs.message(self.offset + source, self.number, 0, self.clock).receive

    def price(self, receive: Receive, source: int) -> None:
        """Set what a receive costs that begins now; from a wildcard, only its call is known by now."""
        if source < 0:
            receive.cost = self.receive_cost(source)
        else:
            cost = self.costs.message(self.offset + source, self.number, 0, self.clock)
            receive.cost, receive.completion = cost.receive, cost.completion

    def post(self, channel: Channel) -> Receive:
        """Post a receive at the time of this actor's clock."""
        receive = self.receive_type(self.clock, self.place)
        self.price(receive, channel[1])
        message = self.mailboxes.post(channel, receive)
        if message is not None:
            self.machine.meet(message, receive)
        return receive

    def finish_receive(self, receive: Receive) -> Events:
        """Block in a receive until the message is there, then take it."""
        if receive.end is None:
            yield from self.until_known(receive)
        assert receive.end is not None
        since = self.clock
        self.sleep_until(receive.end, receive)
        if self.in_calls and self.clock > since:
            yield from self.until_in_call()
        self.spend(Activity.RECEIVE, receive.cost)
        if receive.completion:
            self.spend(Activity.RECEIVE, receive.completion)

    def complete(self, pendings: Iterable[Pending]) -> None:
        """Spend what a call takes once the messages of its receives are there: the figure of the first of these."""
        for each in pendings:
            if isinstance(each, Receive):
                if each.completion:
                    self.spend(Activity.RECEIVE, each.completion)
                return

    # -- collectives --------------------------------------------------------------------------------------

    def rounds(self, schedule: Schedule, context: int, serial: int, members: tuple[int, ...]) -> Events:
        """Run one rank's part of a collective. Its messages travel in channels of their own."""
        tag = ~serial
        for step in schedule:
            if len(step.sends) + len(step.receives) == 1:
                yield from self._single(step, context, tag, members)
            else:
                yield from self._exchange(step, context, tag, members)
            if step.reduced:
                delay = self.costs.node_type(self.node, self.clock).reduction_delay
                self.spend(Activity.RECEIVE, step.reduced * delay, Part.REDUCTION)

    def _single(self, step: Round, context: int, tag: int, members: tuple[int, ...]) -> Events:
        """Run a round of one message: a blocking send or receive."""
        if step.receives:
            yield from self.finish_receive(self.post((context, members[step.receives[0]], self.rank, tag)))
            return
        peer, nbytes = step.sends[0]
        if self.takes_turns_with(members[peer]):
            yield from self.in_turn()
        message = self.launch((context, self.rank, members[peer], tag), nbytes)
        if message.sent is None or message.sent > self.clock:
            yield from self.finish_send(message)

    def _exchange(self, step: Round, context: int, tag: int, members: tuple[int, ...]) -> Events:
        """Run a round of several messages: nonblocking receives and sends, then the wait for all."""
        pending: list[Pending] = []
        for peer in step.receives:
            receive = self.post((context, members[peer], self.rank, tag))
            self.spend(Activity.RECEIVE, receive.cost)
            pending.append(receive)
        for peer, nbytes in step.sends:
            if self.takes_turns_with(members[peer]):
                yield from self.in_turn()
            message = self.launch((context, self.rank, members[peer], tag), nbytes, blocking=False)
            if self.keep_sending(message):
                pending.append(message)
        since = self.clock
        for each in pending:
            if each.end is None:
                yield from self.until_known(each)
            self.wait_until(each.end, each)  # type: ignore[arg-type]
        self.wake(since)
        if self.in_calls and self.clock > since:
            yield from self.until_in_call()
        self.complete(pending)


class Background(Actor):
    """A nonblocking collective: it progresses beside its rank, at no cost to the rank until the rank waits for it.

    Where the library makes progress within calls only, it goes on after each wait when its rank is within a call.
    """

    def __init__(self, rank: Actor, place: int) -> None:
        super().__init__(rank.machine, rank.instance, rank.rank, place, rank.clock)
        self.site = rank.site
        self.in_calls = bool(rank.machine.absences)
        self.end: float | None = None
        self.waiter: simpy.Event | None = None

    def run(self, schedule: Schedule, context: int, serial: int, members: tuple[int, ...]) -> Events:
        """Run the collective to its end."""
        yield from self.rounds(schedule, context, serial, members)
        self.end = self.clock
        wake(self)
