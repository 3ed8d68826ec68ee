"""MPI matching while a program runs: wildcard receives take the first message in virtual time.

A receive that names its source takes the next message of that source that fits, as in a replay: the order in which
ranks are simulated cannot matter. A receive from any source takes, among the first fitting message of each source, the
one whose envelope arrives first (ties: the lowest source). This is known once virtual time has reached that arrival:
whatever a rank does afterwards happens later. Until then the receive is *undecided*, and no receive posted later gets a
message that fits it, whatever source and tag it names.

Messages of collectives (tags below 0) are matched as in a replay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from clue.kernel.live.pending import Bell
from clue.kernel.model.costs import MessageCost
from clue.kernel.model.program import ANY_TAG
from clue.kernel.reference.matching import Channel, Mailboxes, Message, Receive
from clue.kernel.reference.rank import Rank
from clue.kernel.reference.virtual_machine import VirtualMachine, wake
from clue.trace import ANY


class LiveMessage(Message):
    """A message with its payload.

    Attributes:
        tag: Its tag.
        payload: Its data, from the program.
        box: The box in which it waits for its receive; ``None`` for a message of a collective.
    """

    __slots__ = ("box", "payload", "tag")

    def __init__(self, source: int, dest: int, nbytes: int, ready: float, order: int) -> None:
        super().__init__(source, dest, nbytes, ready, order)
        self.tag = 0
        self.payload: Any = None
        self.box: Box | None = None


class LiveReceive(Receive):
    """A receive that a program has posted.

    Attributes:
        entry: What it looks for, unless it belongs to a collective.
    """

    __slots__ = ("entry",)

    def __init__(self, posted: float | None, place: int = 0) -> None:
        super().__init__(posted, place)
        self.entry: Posted | None = None


@dataclass(slots=True, eq=False)
class Posted:
    """What a receive looks for.

    Attributes:
        serial: Its place among the receives posted in its box.
        source: Its source, or ``ANY``.
        tag: Its tag, or :data:`ANY_TAG`.
        receive: The receive.
        time: When it was posted, seconds.
        takes: Whether it takes the message; a probe only looks.
    """

    serial: int
    source: int
    tag: int
    receive: Receive
    time: float
    takes: bool

    @property
    def is_wild(self) -> bool:
        """Whether it leaves its source or tag open."""
        return self.source == ANY or self.tag == ANY_TAG

    def fits(self, source: int, tag: int) -> bool:
        """Tell whether a message of this source and tag could match it."""
        return self.source in {ANY, source} and self.tag in {ANY_TAG, tag}


class Box:
    """A rank's unmatched messages and receives in one context.

    Attributes:
        rank: The rank.
        messages: Messages by source, in the order of their sends; no queue is empty.
        named: Receives that name source and tag, by source and tag; no queue is empty.
        wild: Other receives and all probes, in the order in which they were posted.
        alarm: Virtual time of the next look at undecided receives, or infinity.
        deciding: Whether all events up to now have happened.
    """

    __slots__ = ("_serial", "alarm", "deciding", "messages", "named", "rank", "wild")

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.messages: dict[int, deque[LiveMessage]] = {}
        self.named: dict[tuple[int, int], deque[Posted]] = {}
        self.wild: list[Posted] = []
        self.alarm = float("inf")
        self.deciding = False
        self._serial = 0

    # -- messages -----------------------------------------------------------------------------------------

    def add(self, message: LiveMessage) -> None:
        """Keep a message."""
        queue = self.messages.get(message.source)
        if queue is None:
            self.messages[message.source] = deque((message,))
        else:
            queue.append(message)

    def put_back(self, message: LiveMessage) -> None:
        """Keep a message that was taken, in its place among those of its source."""
        self.messages[message.source] = deque(sorted((message, *self.messages.get(message.source, ())), key=_order))

    def take(self, message: LiveMessage) -> None:
        """Remove a message."""
        queue = self.messages[message.source]
        queue.remove(message)
        if not queue:
            del self.messages[message.source]

    def first_from(self, source: int, tag: int) -> LiveMessage | None:
        """Return the first message of a source with a tag, which may be any."""
        for message in self.messages.get(source, ()):
            if tag in {message.tag, ANY_TAG}:
                return message
        return None

    def firsts(self, source: int, tag: int) -> Iterator[LiveMessage]:
        """Return the first message of each source that fits a source and tag, either of which may be any."""
        for each in self.messages if source == ANY else (source,):
            message = self.first_from(each, tag)
            if message is not None:
                yield message

    # -- receives -----------------------------------------------------------------------------------------

    def entry(self, source: int, tag: int, receive: Receive, time: float, takes: bool) -> Posted:
        """Return what a receive looks for that is posted now."""
        self._serial += 1
        return Posted(self._serial, source, tag, receive, time, takes)

    def post(self, posted: Posted) -> None:
        """Keep a receive."""
        if posted.is_wild or not posted.takes:
            self.wild.append(posted)
            return
        queue = self.named.get((posted.source, posted.tag))
        if queue is None:
            self.named[posted.source, posted.tag] = deque((posted,))
        else:
            queue.append(posted)

    def post_again(self, posted: Posted) -> None:
        """Keep a receive that had a message, in its place among those posted."""
        self.post(posted)
        if posted.is_wild:
            self.wild.sort(key=_serial)
        else:
            queue = self.named[posted.source, posted.tag]
            self.named[posted.source, posted.tag] = deque(sorted(queue, key=_serial))

    def take_named(self, source: int, tag: int) -> Posted | None:
        """Remove and return the first receive that names this source and tag."""
        queue = self.named.get((source, tag))
        if queue is None:
            return None
        posted = queue.popleft()
        if not queue:
            del self.named[source, tag]
        return posted

    def in_order(self) -> list[Posted]:
        """Return all receives in the order in which they were posted."""
        if not self.named:
            return list(self.wild)
        return sorted((*(each for queue in self.named.values() for each in queue), *self.wild), key=_serial)

    def remove(self, posted: Posted) -> None:
        """Remove a receive."""
        if posted in self.wild:
            self.wild.remove(posted)
            return
        queue = self.named[posted.source, posted.tag]
        queue.remove(posted)
        if not queue:
            del self.named[posted.source, posted.tag]

    def is_settled_until(self, message: LiveMessage) -> bool:
        """Tell whether an incoming message cannot match any receive before the next look."""
        if self.named or len(self.wild) > 1 or self.wild[0].source != ANY:
            return False
        return message.envelope is None or message.envelope >= self.alarm


def _serial(posted: Posted) -> int:
    return posted.serial


def _order(message: LiveMessage) -> int:
    return message.order


def _is_seen(message: LiveMessage, time: float) -> bool:
    """Tell whether a probe could see a message at a time."""
    return message.envelope is not None and message.envelope <= time


class LiveMailboxes(Mailboxes):
    """The queues of a running program.

    Args:
        machine: What it runs on.
        ranks: Its ranks; spawned ranks are appended to this sequence.

    Attributes:
        outgoing: By rank, the payload of the message that it sends now.
        bells: By rank, the bell to ring when something about its messages changes.
        late: Number of messages that arrived late because their receive was not known in time.
        largest: Size of the largest message, bytes.
    """

    message_type = LiveMessage
    receive_type = LiveReceive

    def __init__(self, machine: VirtualMachine, ranks: Sequence[Rank]) -> None:
        super().__init__()
        self._machine, self._ranks = machine, ranks
        machine.on_arrival = self._arrived
        self._boxes: dict[int, dict[int, Box]] = {}
        self.outgoing: dict[int, Any] = {}
        self.bells: dict[int, Bell] = {}
        self.late = 0
        self.largest = 0

    def box(self, context: int, rank: int) -> Box:
        """Return a rank's box in a context."""
        boxes = self._boxes.get(rank)
        if boxes is None:
            boxes = self._boxes[rank] = {}
        box = boxes.get(context)
        if box is None:
            box = boxes[context] = Box(rank)
        return box

    # -- as in a replay -----------------------------------------------------------------------------------

    def deliver(self, channel: Channel, message: Message) -> Receive | None:
        """Match a message with the first receive posted for it, or keep it; returns the receive."""
        context, source, dest, tag = channel
        self.largest = max(self.largest, message.nbytes)
        if tag < 0:
            return super().deliver(channel, message)
        assert isinstance(message, LiveMessage)
        message.tag, message.box, message.payload = tag, self.box(context, dest), self.outgoing[source]
        box = message.box
        if not box.wild:
            posted = box.take_named(source, tag)
            if posted is not None:
                posted.receive.match(message)
                return posted.receive
        box.add(message)
        self.changed(box, message)
        return None

    def post(self, channel: Channel, receive: Receive, takes: bool = True) -> Message | None:
        """Match a receive with a message kept for it, or keep it; returns the message."""
        context, source, dest, tag = channel
        if tag < 0:
            return super().post(channel, receive)
        box = self.box(context, dest)
        posted = box.entry(source, tag, receive, self._ranks[dest].clock, takes)
        if isinstance(receive, LiveReceive):
            receive.entry = posted
        if takes and source != ANY and not box.wild:
            message = box.first_from(source, tag)
            if message is not None:
                box.take(message)
                receive.match(message)
                return message
        box.post(posted)
        if box.wild:
            self._settle(box)
        return None

    def left_over(self) -> list[Message]:
        """Return messages that no receive took."""
        boxes = (box for boxes in self._boxes.values() for box in boxes.values())
        return super().left_over() + [m for box in boxes for queue in box.messages.values() for m in queue]

    # -- by arrival ---------------------------------------------------------------------------------------

    def _arrived(self, message: Message) -> None:
        assert isinstance(message, LiveMessage)
        if message.box is not None and message.receive is None:
            self.changed(message.box, message)

    def changed(self, box: Box, message: LiveMessage) -> None:
        """Note that a message has entered a box, or that the time at which it can be seen has become known."""
        if box.wild and not box.is_settled_until(message):
            self._settle(box)
        self.ring(box.rank)

    def ring(self, rank: int) -> None:
        """Wake a rank that waits for something to change."""
        bell = self.bells.pop(rank, None)
        if bell is not None:
            bell.succeed()

    def visible(self, channel: Channel, time: float) -> LiveMessage | None:
        """Return the message that a receive posted now would take among those visible at a time."""
        context, source, dest, tag = channel
        box = self.box(context, dest)
        waiting = box.in_order() if box.wild else []
        seen = [
            message
            for message in box.firsts(source, tag)
            if message.envelope is not None and message.envelope <= time and not _is_for(waiting, message)
        ]
        return min(seen, key=_by_arrival, default=None)

    def next_seen(self, rank: int, time: float) -> float:
        """Return the first time, from a given one on, at which a rank can see a message already sent, or infinity."""
        queues = (queue for box in self._boxes.get(rank, {}).values() for queue in box.messages.values())
        envelopes = (message.envelope for queue in queues for message in queue)
        return min((each for each in envelopes if each is not None and each >= time), default=float("inf"))

    def cancel(self, rank: Rank, receive: Receive) -> bool:
        """Remove a receive to which no message has come by a rank's present time; tell whether it was there."""
        if receive.message is not None:
            return self._part(rank, receive)
        found = self.posted(rank.rank, receive)
        if found is None:
            return False
        box = self.box(found[0], rank.rank)
        box.remove(found[1])
        self._settle(box)
        return True

    def _part(self, rank: Rank, receive: Receive) -> bool:
        """Part a receive from a message that is still to come: a sender may be ahead of the rank in virtual time.

        Its message and later ones of that source are matched anew, as far as they are still to come. A rendezvous stays
        with its receive, as its sender may have gone on; if that receive would get another message, nothing changes.
        """
        message = receive.message
        assert isinstance(message, LiveMessage)
        box = message.box
        assert box is not None
        later = list(self._later(rank, message))
        free = [message, *(own for _, own in later if own.eager)]
        for posted, own in later:
            if not own.eager and any(each.order < own.order and posted.fits(each.source, each.tag) for each in free):
                return False
        if _is_seen(message, rank.clock) or not message.eager:
            return False
        for posted, own in later:
            if own.eager:
                posted.receive.message = None
                box.post_again(posted)
        for each in free:
            each.receive = None
            box.put_back(each)
        self._settle(box)
        self.ring(box.rank)
        return True

    def _later(self, rank: Rank, message: LiveMessage) -> Iterator[tuple[Posted, LiveMessage]]:
        """Yield receives whose messages come later than another one of the same source, and these messages."""
        for each in rank.requests.values():
            if isinstance(each, LiveReceive) and each.entry is not None and isinstance(each.message, LiveMessage):
                own = each.message
                alike = own.box is message.box and own.source == message.source
                if alike and own.order > message.order and not _is_seen(own, rank.clock):
                    yield each.entry, own

    def posted(self, rank: int, receive: Receive) -> tuple[int, Posted] | None:
        """Return the context and the entry of a rank's receive that has no message yet."""
        for context, box in self._boxes.get(rank, {}).items():
            for posted in box.in_order():
                if posted.receive is receive:
                    return context, posted
        return None

    def _settle(self, box: Box) -> None:
        """Match messages with receives in the order in which these were posted, as far as can be decided now."""
        undecided: list[Posted] = []
        for posted in box.in_order():
            message = self._decide(box, posted, undecided)
            if message is None:
                undecided.append(posted)
                continue
            box.remove(posted)
            if posted.time < self._machine.env.now:
                self.late += self._earliest(message, posted.time) < self._machine.env.now
            if posted.takes:
                box.take(message)
                self._be_late(message)
                posted.receive.match(message)
                if posted.source == ANY:
                    cost = self._costs(message, posted.time, 0)
                    posted.receive.cost, posted.receive.completion = cost.receive, cost.completion
                self._machine.meet(message, posted.receive)
            else:
                posted.receive.message = message
                wake(posted.receive)

    def _decide(self, box: Box, posted: Posted, before: list[Posted]) -> LiveMessage | None:
        """Return the message for a receive, if known by now; ``before`` are undecided receives posted before it."""
        first, envelope = None, float("inf")
        for message in box.firsts(posted.source, posted.tag):
            if posted.source != ANY:
                return None if _is_for(before, message) else message
            at = message.envelope
            if at is not None and (at < envelope or (at == envelope and first and message.source < first.source)):
                first, envelope = message, at
        # The message of a source that an earlier receive may take only matters if it comes first.
        if first is None or _is_for(before, first):
            return None
        return first if self._has_come(box, first, envelope) else None

    def _be_late(self, message: LiveMessage) -> None:
        """Let a message whose receive was not known earlier arrive now, or start its data now.

        A message may overtake an earlier and longer one of its source; its receive is not known until that one arrives.
        Besides, where the link back is faster, the answer to a rendezvous could return before its envelope has arrived.
        A message that a probe only looks at keeps its times, which order it among those still to be received.
        """
        now = self._machine.env.now
        if message.arrival is not None and message.arrival < now:
            message.arrival = now
        if message.envelope is not None and message.envelope < now:
            message.envelope = now

    def _earliest(self, message: LiveMessage, posted: float) -> float:
        """Return when a message arrives, or when its data start if they must wait for a receive posted at a time."""
        if message.eager:
            return self._machine.env.now if message.arrival is None else message.arrival
        cost = self._costs(message, message.ready, message.nbytes)
        if cost.reads:
            return max(message.ready + cost.envelope, posted)
        return max(message.ready, posted) + cost.answer

    def _costs(self, message: LiveMessage, time: float, nbytes: int) -> MessageCost:
        return self._machine.costs.message(message.source, message.dest, nbytes, time)

    def _has_come(self, box: Box, message: LiveMessage, time: float) -> bool:
        """Tell whether all events up to a message's envelope have happened; if not, look at the box again then."""
        env = self._machine.env
        if env.now > time or (box.deciding and env.now == time):
            return True
        if time < box.alarm:
            box.alarm = time
            # The data of a rendezvous may start at exactly this time, in the message's place among events.
            self._machine.at(time, message.order, lambda: self._look_again(box, time))
        return False

    def _look_again(self, box: Box, time: float) -> None:
        if box.alarm != time:  # there was a look at an earlier time, which has set the alarm anew
            return
        box.alarm, box.deciding = float("inf"), True
        self._settle(box)
        box.deciding = False


def _is_for(receives: list[Posted], message: LiveMessage) -> bool:
    """Tell whether any of the given receives could take a message."""
    return any(each.takes and each.fits(message.source, message.tag) for each in receives)


def _by_arrival(message: LiveMessage) -> tuple[float, int]:
    assert message.envelope is not None
    return message.envelope, message.source
