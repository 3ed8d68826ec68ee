"""MPI matching: messages and receives of one channel meet in order.

A channel is (context, source, dest, tag). In a replay every receive names the source and tag it matched when
recorded, so MPI's rule - by communicator, source and tag, in order - comes down to first in, first out per channel,
and matching does not depend on the order in which ranks are simulated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

import simpy

Channel = tuple[int, int, int, int]


class Pending(Protocol):
    """Anything that an actor can wait for.

    Attributes:
        waiter: Event of the actor that is blocked until the end is known.
    """

    waiter: simpy.Event | None

    @property
    def end(self) -> float | None:
        """When it is complete, seconds, or ``None`` while that is not known."""


class Message:
    """A message on its way.

    Attributes:
        source: Sending rank.
        dest: Receiving rank.
        nbytes: Size.
        ready: When the send call began, seconds.
        order: Place of its events among events of the same time.
        eager: Whether it is sent without waiting for its receive.
        acknowledged: Whether the sender waits until the receiver's library has acknowledged the message: an eager one,
            or one whose data it reads.
        envelope: When its head has arrived and a probe can see it, or ``None`` while that is not known.
        called: When the receiver's library handled the message, to answer or acknowledge it, seconds; ``None`` while
            that is not known, and where there is nothing to answer.
        answered: When the answer to a rendezvous has reached the sender, seconds: its data may start, though a send
            port may delay them; ``None`` while that is not known, and for an eager message.
        leaves: When its data start, seconds, once that is known.
        busy: How long the sender is busy with its data from then on, seconds.
        leaving: How much longer than that its data keep the sender of a rendezvous, seconds.
        call_ends: When the processor is done with the call of a blocking eager send, seconds; 0 if that is not stated.
        site: The sender's call site.
        sent: When the sender is free of it, or ``None`` while that is not known.
        arrival: When it has arrived, or ``None`` while that is not known.
        receive: The receive that matched it.
        waiter: Event of a sender blocked until ``sent`` is known.
        looker: Event of a probe blocked until ``envelope`` is known.
        landed: Function to call once the arrival is known, of a message that no receive takes.
    """

    __slots__ = (
        "acknowledged",
        "answered",
        "arrival",
        "busy",
        "call_ends",
        "called",
        "dest",
        "eager",
        "envelope",
        "landed",
        "leaves",
        "leaving",
        "looker",
        "nbytes",
        "order",
        "ready",
        "receive",
        "sent",
        "site",
        "source",
        "waiter",
    )

    def __init__(self, source: int, dest: int, nbytes: int, ready: float, order: int) -> None:
        self.site = 0
        self.source = source
        self.dest = dest
        self.nbytes = nbytes
        self.ready = ready
        self.order = order
        self.leaves = ready
        self.busy = self.leaving = self.call_ends = 0.0
        self.eager = True
        self.acknowledged = False
        self.envelope: float | None = None
        self.called: float | None = None
        self.answered: float | None = None
        self.sent: float | None = None
        self.arrival: float | None = None
        self.receive: Receive | None = None
        self.waiter: simpy.Event | None = None
        self.looker: simpy.Event | None = None
        self.landed: Callable[[], None] | None = None

    @property
    def end(self) -> float | None:
        """When the send is complete, or ``None`` while that is not known."""
        return self.sent

    def known(self, *, by_envelope: bool) -> float:
        """Return when the receiver's library can know of a rendezvous: as it begins, or when it sees the envelope."""
        return self.envelope if by_envelope and self.envelope is not None else self.ready


class Receive:
    """A posted receive.

    Attributes:
        posted: When the receive was posted, seconds; ``None`` for a matched probe whose receive is still to come.
        place: The actor that posted it: 0 for the rank itself, i for its i-th nonblocking collective.
        cost: Time of the receive call.
        completion: Further processor time once the message is there, seconds.
        message: The message that it matched.
        waiter: Event of a receiver blocked until the message's arrival is known.
    """

    __slots__ = ("completion", "cost", "message", "place", "posted", "waiter")

    def __init__(self, posted: float | None, place: int = 0) -> None:
        self.posted = posted
        self.place = place
        self.cost = self.completion = 0.0
        self.message: Message | None = None
        self.waiter: simpy.Event | None = None

    @property
    def end(self) -> float | None:
        """When the message has arrived, or ``None`` while that is not known."""
        return None if self.message is None else self.message.arrival

    def match(self, message: Message) -> None:
        """Match this receive with a message."""
        self.message, message.receive = message, self


class Mailboxes:
    """The queues of one program, by channel: unexpected messages or posted receives; one of the two is always empty."""

    #: Types of the messages and of the posted receives that they keep.
    message_type = Message
    receive_type = Receive

    def __init__(self) -> None:
        self._unexpected: dict[Channel, deque[Message]] = {}
        self._posted: dict[Channel, deque[Receive]] = {}
        self._probes: dict[Channel, simpy.Event] = {}

    def deliver(self, channel: Channel, message: Message) -> Receive | None:
        """Match a message with the first receive posted for it, or keep it; returns the receive."""
        posted = self._posted.get(channel)
        if posted is not None:
            receive = posted.popleft()
            if not posted:
                del self._posted[channel]
            receive.match(message)
            return receive
        queue = self._unexpected.get(channel)
        if queue is None:
            self._unexpected[channel] = deque((message,))
        else:
            queue.append(message)
        probe = self._probes.pop(channel, None)
        if probe is not None:
            probe.succeed()
        return None

    def post(self, channel: Channel, receive: Receive) -> Message | None:
        """Match a receive with the first message kept for it, or keep it; returns the message."""
        queue = self._unexpected.get(channel)
        if queue is not None:
            message = queue.popleft()
            if not queue:
                del self._unexpected[channel]
            receive.match(message)
            return message
        self._posted.setdefault(channel, deque()).append(receive)
        return None

    def peek(self, channel: Channel) -> Message | None:
        """Return the message that the next receive would match, if it has been sent."""
        queue = self._unexpected.get(channel)
        return queue[0] if queue else None

    def await_message(self, channel: Channel, event: simpy.Event) -> None:
        """Let an event happen when an unexpected message of this channel comes in."""
        self._probes[channel] = event

    def left_over(self) -> list[Message]:
        """Return messages that no receive took."""
        return [message for queue in self._unexpected.values() for message in queue]
