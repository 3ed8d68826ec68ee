"""Probes, tests and Waitsome of a running program: their outcomes depend on the time at which they look."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from typing import Any

import simpy

from clue.kernel.live.job import Job
from clue.kernel.live.mailboxes import LiveMessage
from clue.kernel.live.pending import Bell
from clue.kernel.model.program import Row
from clue.kernel.reference.actor import Events
from clue.kernel.reference.matching import Message, Pending, Receive
from clue.kernel.reference.rank import Rank
from clue.kernel.reference.virtual_time import ACTIONS_END, action
from clue.trace import Op
from clue.trace.calls import BLOCKING, Call, LiveOp, Mode

#: A loop counts as spinning after this many unsuccessful polls in a row, with at most this CPU time, ns, before each.
#: If a loop has once gone on after a longer streak, it counts as spinning only after as many polls as that.
_SPINNING, _SPIN_BURST = 100, 50_000
#: Calls that may find nothing.
POLLS = frozenset({Op.POLL, LiveOp.TEST, LiveOp.IPROBE, LiveOp.IMPROBE})
#: Calls that do not end a streak of polls.
_IDLE = POLLS | {LiveOp.WTIME, LiveOp.SLEEP, LiveOp.LINE}
#: A rank that asks for the time while it polls advances by this fraction of the time that it has polled, and by this
#: many seconds at least. Otherwise time might never pass, because its polls and bursts may take none.
_STEP, _LEAST_STEP = 1 / 64, 1e-6
_NEVER = float("inf")

#: A handler that returns the answer to its call.
Answered = Generator[simpy.Event, Any, Any]


class Polls:
    """The calls of a rank that look whether something has happened, and go on if nothing has.

    Args:
        job: The state that its program's ranks share.
        rank: The rank.
        outcome: Returns the outcome of a complete operation, given its request number.

    Attributes:
        asked_time: Whether its program has asked for the time since its polls began to find nothing.
        waited: Nanoseconds that pass in the latest poll beyond its cost, if its program may be waiting for a time.
    """

    def __init__(self, job: Job, rank: Rank, outcome: Callable[[Pending | None, int], Any]) -> None:
        self.asked_time, self.waited = False, 0
        self._job, self._rank, self._outcome = job, rank, outcome
        self._mailboxes = job.mailboxes
        #: Number of polls in a row that have found nothing, and when they began.
        self._streak, self._streak_began = 0, 0.0
        #: Whether time has passed in one of these polls though nothing changed.
        self._skipped = False
        #: Whether the program has asked for the time before one of these polls that does not look at memory.
        self._timed = False
        self._line = -1
        #: Lines of the program that make these polls, unless they ask for the time or look at memory.
        self._lines: set[int] = set()
        #: By line, the longest streak after which the program went on though it had found nothing.
        self._given_up: dict[int, int] = {}
        self._served = -1.0
        #: When the last wait of a loop that spins ended.
        self._spun = -1.0
        self._bell = Bell(rank.env)

    def hear(self, call: Call, cpu: int) -> None:
        """Note the next call, and the duration of the burst before it in nanoseconds, measured or stated."""
        calls = call.op not in _IDLE or call.flags & BLOCKING
        if calls and self._streak > _SPINNING:
            if self._lines:
                self._job.overlong += self._skipped
                self._given_up |= {line: max(self._streak, self._given_up.get(line, 0)) for line in self._lines}
            elif self._timed:
                self._job.overlong_timed += self._skipped
        # A program that computes between its polls does not spin: it would go on, whether or not anything changes.
        if calls or cpu > _SPIN_BURST:
            self._go_on()
        self._line = call.line

    def _go_on(self) -> None:
        """Note that this rank does not spin."""
        self._streak, self._skipped, self._timed = 0, False, False
        self._lines.clear()
        self._job.stir()

    # -- one look -----------------------------------------------------------------------------------------

    def pause(self, row: Row) -> Answered:
        """Poll without a request: the program looks at its own memory, which the kernel does not see."""
        return self._polled(row, lambda _: None)

    def iprobe(self, row: Row) -> Answered:
        """Look for a message."""
        return self._polled(row, self._look)

    def improbe(self, row: Row) -> Answered:
        """Look for a message, and keep it for its receive."""
        return self._polled(row, self._look_and_take)

    def test(self, row: Row) -> Answered:
        """Look for complete requests, or wait until some are complete."""
        return self._wait_for_some(row) if row.flags & BLOCKING else self._polled(row, self._take_complete)

    def _polled(self, row: Row, look: Callable[[Row], Any]) -> Answered:
        """Look once; if the program spins until something changes, skip to that change and look again."""
        rank = self._rank
        yield from rank.in_turn()
        answer, self.waited = look(row), 0
        if answer is None:
            if not self._streak:
                self._streak_began, self.asked_time = rank.clock, False
            spins = self._streak >= max(_SPINNING, self._given_up.get(self._line, 0))
            self._streak += 1
            if self.asked_time:
                self._lines.clear()
                self._timed |= row.op != Op.POLL
            elif row.op != Op.POLL:
                self._lines.add(self._line)
            looked = rank.clock
            rank.poll(row)
            if spins:
                begin = rank.clock
                yield from self._spin(looked)
                answer = look(row)
                if answer is None and self.asked_time:
                    self._wait_whole(begin)
        if answer is not None:
            self._go_on()
        return answer

    def _wait_whole(self, begin: float) -> None:
        """Let a wait since a time last whole nanoseconds, as in a trace, so that its replay ends at the same time."""
        rank = self._rank
        self.waited = round((rank.clock - begin) * 1e9)
        self.waited += begin + self.waited / 1e9 < rank.clock
        rank.wait_until(begin + self.waited / 1e9, None)

    def _look(self, row: Row) -> Any:
        found = self._mailboxes.visible((row.context, row.peer, self._rank.rank, row.tag), self._rank.clock)
        if found is None:
            return None
        self._rank.poll(row._replace(peer=found.source))
        return envelope_of(found)

    def _look_and_take(self, row: Row) -> Any:
        seen = self._look(row)
        if seen is not None:
            rank = self._rank
            receive = Receive(None)
            rank.price(receive, seen[0])
            self._mailboxes.post((row.context, seen[0], rank.rank, seen[1]), receive)
            rank.requests[row.request] = receive
        return seen

    def _take_complete(self, row: Row) -> Any:
        """Return the outcomes of the complete requests, if there are enough of them, and forget these requests."""
        requests = self._rank.requests
        known = [(i, name, requests[name]) for i, name in enumerate(row.entries) if name in requests]
        done = [each for each in known if each[2].end is not None and each[2].end <= self._rank.clock]
        if known and (not done or (row.tag == Mode.ALL and len(done) < len(known))):
            return None
        if row.tag == Mode.ANY:
            done = done[:1]
        for _, name, _ in done:
            del requests[name]
        self._rank.complete(pending for _, _, pending in done)
        return [(i, self._outcome(pending, name)) for i, name, pending in done]

    # -- waits --------------------------------------------------------------------------------------------

    def probe(self, row: Row) -> Events:
        """Wait until a message can be seen."""
        rank = self._rank
        probe = Receive(rank.clock, rank.place)
        self._mailboxes.post((row.context, row.peer, rank.rank, row.tag), probe, takes=False)
        if probe.message is None:
            yield from rank.until_known(probe)
        message = probe.message
        assert message is not None
        rank.note(row, message)
        yield from rank.until_seen(message)
        rank.wait_until(rank.env.now, message)  # what it sees may have been decided late
        rank.poll(row._replace(peer=message.source))

    def _wait_for_some(self, row: Row) -> Answered:
        """Wait for the first of several requests to be complete."""
        rank = self._rank
        yield from rank.in_turn()
        answer = self._take_complete(row)
        while answer is None:
            pendings = [rank.requests[name] for name in row.entries if name in rank.requests]
            first = min((each for each in pendings if each.end is not None), key=_end, default=None)
            end = _NEVER if first is None else _end(first)
            if (yield from self._until(pendings, end, action(rank.number, 0, 1))):
                assert first is not None
                rank.sleep_until(_end(first), first)
                answer = self._take_complete(row)
        return answer

    def _until(self, pendings: Sequence[Pending], time: float, order: int) -> Generator[simpy.Event, Any, bool]:
        """Wait until a time and a place among its events, or until the end of another request becomes known.

        Returns:
            Whether the time has come.
        """
        env = self._rank.env
        self._bell = bell = Bell(env)
        for pending in pendings:
            if pending.end is None:
                pending.waiter = bell
        self._mailboxes.bells[self._rank.rank] = bell
        if time < _NEVER:
            self._rank.machine.at(max(time, env.now), order, lambda: _ring(bell))
        return bool((yield from self._rank.until(bell)))

    # -- loops that spin ----------------------------------------------------------------------------------

    def _spin(self, looked: float) -> Events:
        """Skip to the next change after the last look that this rank can see.

        A change is the end of a request, a message that can be seen, or an access of another rank to its memory. The
        job may let the rank go on before any of these.
        """
        rank = self._rank
        # A program that asks for the time may be waiting until a time, and must not overshoot it by much.
        step = max(_STEP * (rank.clock - self._streak_began), _LEAST_STEP)
        limit = rank.clock + step if self.asked_time else _NEVER
        # What changed at the time of the look may have come after it, unless this rank was woken at that time to look.
        since = math.nextafter(looked, _NEVER) if looked == self._spun else looked
        # The rank may continue although nothing has changed for it: it may be counting its polls.
        self._job.spinning[rank.rank] = lambda: _ring(self._bell)
        come = False
        while not come:
            pendings = list(rank.requests.values())
            ends = (each.end for each in pendings if each.end is not None and each.end >= since)
            served = self._served if self._served >= since else _NEVER
            seen = self._mailboxes.next_seen(rank.rank, since)
            change = min(min(ends, default=_NEVER), seen, served, limit)
            come = yield from self._until(pendings, max(change, rank.clock), ACTIONS_END)
            come = come or rank.env.now < since  # a bell at the very time of the last look
        del self._job.spinning[rank.rank]
        self._skipped |= rank.clock < rank.env.now and (rank.env.now < change or change == limit)
        rank.wait_until(min(change, rank.env.now), None)
        self._spun = rank.clock
        if rank.clock == limit:
            self._job.stir()

    def note_service(self, time: float) -> None:
        """Note that another rank reads or changes this rank's memory at a time."""
        self._served = time
        self._mailboxes.ring(self._rank.rank)


def envelope_of(found: Receive | Message) -> tuple[int, int, int]:
    """Return the source, tag and size of a message that was found."""
    message = found.message if isinstance(found, Receive) else found
    assert isinstance(message, LiveMessage)
    return message.source, message.tag, message.nbytes


def _end(pending: Pending) -> float:
    assert pending.end is not None
    return pending.end


def _ring(bell: Bell) -> None:
    bell.succeed(True)
