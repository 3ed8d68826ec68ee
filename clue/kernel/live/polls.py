"""A rank that looks, tests and waits for some: what it finds depends on when it looks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

import simpy

from clue.kernel.live.messages import Bell, LiveMessage, Settled
from clue.kernel.model.program import Row
from clue.kernel.reference.actor import Background, Events
from clue.kernel.reference.matching import Message, Receive
from clue.kernel.reference.rank import Rank
from clue.kernel.reference.virtual_time import ACTIONS_END, action
from clue.trace import NO_REQUEST, Op
from clue.trace.calls import BLOCKING, Call, LiveOp, Mode

if TYPE_CHECKING:
    from clue.kernel.live.simulation import LiveJob

#: So many polls in a row that found nothing, with no more CPU time than this before each (ns), are a loop that spins.
_SPINNING, _SPIN_BURST = 100, 50_000
#: Calls that may find nothing.
POLLS = frozenset({Op.POLL, LiveOp.TEST, LiveOp.IPROBE, LiveOp.IMPROBE})
#: Calls that do not end a streak of polls.
IDLE = POLLS | {LiveOp.WTIME, LiveOp.SLEEP, LiveOp.LINE}
#: A rank that asks for the time while it polls goes on by this part of the time that it has polled.
_STEP = 1 / 64
_NEVER = float("inf")

#: What a request can be.
Pending = Message | Receive | Background | Settled


class PollingRank(Rank):
    """A rank that looks whether something has come, and goes on where nothing has.

    Attributes:
        call: The call it is in.
        answer: What its program is to be told of a call that looked.
        asked_time: Whether its program has asked for the time since its polls began to find nothing.
        streak: How many polls in a row have found nothing.
    """

    job: LiveJob
    requests: dict[int, Pending]  # type: ignore[assignment]

    def __init__(self, job: LiveJob, rank: int) -> None:
        super().__init__(job, rank, rank)
        self.call = Call(Op.LOCAL)
        self.answer: Any = None
        self.asked_time = False
        self.streak = 0
        self._streak_began = 0.0
        self._served = -1.0
        self._bell = Bell(self.env)

    def outcome(self, pending: Pending | None, request: int = NO_REQUEST) -> Any:
        """Return what the program is told of something that is complete."""
        raise NotImplementedError

    # -- one look -----------------------------------------------------------------------------------------

    def pause(self, row: Row) -> Events | None:
        """Look at nothing that the kernel knows of: the program looks at its own memory."""
        return self._polled(row, lambda _: None)

    def iprobe(self, row: Row) -> Events | None:
        """Look for a message."""
        return self._polled(row, self._look)

    def improbe(self, row: Row) -> Events | None:
        """Look for a message, and keep it for its receive."""
        return self._polled(row, self._look_and_take)

    def test(self, row: Row) -> Events | None:
        """Look for requests that are complete, or wait for some that are."""
        if row.flags & BLOCKING:
            return self._wait_for_some(row)
        return self._polled(row, self._take_complete)

    def _polled(self, row: Row, look: Callable[[Row], Any]) -> Events:
        """Look once; where the program only spins until something changes, go to where it does."""
        yield from self.in_turn()
        self.answer = look(row)
        if self.answer is None:
            if not self.streak:
                self._streak_began, self.asked_time = self.clock, False
            spins = self.call.cpu <= _SPIN_BURST and self.streak >= _SPINNING
            self.streak += 1
            looked = self.clock
            self._poll(row)
            if spins:
                yield from self._spin(looked)
                self.answer = look(row)
        if self.answer is not None:
            self.streak = 0

    def _look(self, row: Row) -> Any:
        found = self.job.mailboxes.visible((row.context, row.peer, self.rank, row.tag), self.clock)
        if found is None:
            return None
        self._poll(row._replace(peer=found.source))
        return envelope_of(found)

    def _look_and_take(self, row: Row) -> Any:
        seen = self._look(row)
        if seen is not None:
            channel = (row.context, seen[0], self.rank, seen[1])
            receive = Receive(None)
            receive.cost = self.receive_cost(seen[0])
            self.mailboxes.post(channel, receive)
            self.requests[row.request] = receive
        return seen

    def _take_complete(self, row: Row) -> Any:
        """Return the outcomes of requests that are complete by now, if that is enough; these are then forgotten."""
        known = [(i, name, self.requests[name]) for i, name in enumerate(row.entries) if name in self.requests]
        done = [each for each in known if each[2].end is not None and each[2].end <= self.clock]
        if known and (not done or (row.tag == Mode.ALL and len(done) < len(known))):
            return None
        if row.tag == Mode.ANY:
            done = done[:1]
        for _, name, _ in done:
            del self.requests[name]
        return [(i, self.outcome(pending, name)) for i, name, pending in done]

    # -- waits --------------------------------------------------------------------------------------------

    def _await_envelope(self, row: Row) -> Events:
        probe = Receive(self.clock, self.place)
        self.job.mailboxes.post((row.context, row.peer, self.rank, row.tag), probe, takes=False)
        if probe.message is None:
            yield from self.until_known(probe)
        message = probe.message
        assert message is not None
        self._note(row, message)
        yield from self._until_seen(message)
        self._poll(row._replace(peer=message.source))

    def _wait_for_some(self, row: Row) -> Events:
        """Wait for the first of several requests to be complete."""
        yield from self.in_turn()
        self.answer = self._take_complete(row)
        while self.answer is None:
            pendings = [self.requests[name] for name in row.entries if name in self.requests]
            first = min((each for each in pendings if each.end is not None), key=_end, default=None)
            end = _NEVER if first is None else _end(first)
            if (yield from self._until(pendings, end, action(self.number, 0, 1))):
                assert first is not None
                self.sleep_until(_end(first), first)
                self.answer = self._take_complete(row)

    def _until(self, pendings: Sequence[Pending], time: float, order: int) -> Generator[simpy.Event, Any, bool]:
        """Wait until a time has come, and its place there, or one more of some requests is known to end.

        Returns:
            Whether the time has come.
        """
        self._bell = bell = Bell(self.env)
        for pending in pendings:
            if pending.end is None:
                pending.waiter = bell
        self.job.mailboxes.bells[self.rank] = bell
        if time < _NEVER:
            at = max(time, self.env.now)
            self.simulation.at(at, order, lambda: _ring(bell, True))
        self._turn = -1.0
        come = yield bell
        return bool(come)

    # -- loops that spin ----------------------------------------------------------------------------------

    def _spin(self, looked: float) -> Events:
        """Go to where something that this rank can see changes after it looked.

        A request ends, a message can be seen, or another rank has got at its memory.
        """
        # One that asks for the time may be waiting for a time, and must not overshoot it by much.
        limit = self.clock + _STEP * (self.clock - self._streak_began) if self.asked_time else _NEVER
        self.job.spinning[self.rank] = self
        come = False
        while not come:
            pendings = list(self.requests.values())
            ends = (each.end for each in pendings if each.end is not None and each.end >= looked)
            served = self._served if self._served >= looked else _NEVER
            seen = self.job.mailboxes.next_seen(self.rank, looked)
            change = min(min(ends, default=_NEVER), seen, served, limit)
            come = yield from self._until(pendings, max(change, self.clock), ACTIONS_END)
        del self.job.spinning[self.rank]
        self.wait_until(min(change, self.env.now), None)

    def let_on(self) -> None:
        """Let it go on although nothing has changed for it, because nothing else can happen."""
        self._bell.succeed(True)

    def note_service(self, time: float) -> None:
        """Note that this rank's memory is looked at or changed by another at a time."""
        self._served = time
        self.job.mailboxes.ring(self.rank)


def envelope_of(found: Receive | Message) -> tuple[int, int, int]:
    """Return source, tag and size of a message that was found."""
    message = found.message if isinstance(found, Receive) else found
    assert isinstance(message, LiveMessage)
    return message.source, message.tag, message.nbytes


def _end(pending: Pending) -> float:
    assert pending.end is not None
    return pending.end


def _ring(bell: Bell, come: bool) -> None:
    bell.succeed(come)
