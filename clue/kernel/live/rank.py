"""A rank whose program runs: the meaning of what no trace has, and the answers to all calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clue.collectives import lower
from clue.errors import LiveError, ReplayError
from clue.kernel.live.mailboxes import UNMATCHED
from clue.kernel.live.meetings import Meeting
from clue.kernel.live.messages import LiveMessage, Settled
from clue.kernel.live.polls import IDLE, POLLS, Pending, PollingRank, envelope_of
from clue.kernel.live.source import Source
from clue.kernel.model.blocked import channel_context, describe_wait
from clue.kernel.model.history import Spawned
from clue.kernel.model.program import ANY_TAG, Row
from clue.kernel.reference.actor import Background, Events
from clue.kernel.reference.matching import Channel, Message, Receive
from clue.kernel.reference.rank import HANDLERS
from clue.result import Activity, Part
from clue.trace import ANY, COLLECTIVES, NO_REQUEST, Flag, Op
from clue.trace.calls import BLOCKING, Call, LiveOp

if TYPE_CHECKING:
    from clue.kernel.live.simulation import LiveJob

_ANY_SOURCE, _BUFFERED, _NONBLOCKING = int(Flag.ANY_SOURCE), int(Flag.BUFFERED), int(Flag.NONBLOCKING)
#: Spawns are counted apart from the collectives of their communicator.
_SPAWNS = 1 << 40

Handler = Callable[["LiveRank", Row], "Events | None"]
Answer = Callable[["LiveRank", Row], Any]


class LiveRank(PollingRank):
    """A rank that is told what to do by a program, call by call.

    Attributes:
        source: The program.
        began: Whether its program has begun.
        ended: Whether its program has said that it ends.
    """

    message_type = LiveMessage

    def __init__(self, job: LiveJob, rank: int, source: Source) -> None:
        super().__init__(job, rank)
        self.source = source
        self.began = self.ended = False
        self._found: Receive | Message | None = None
        self._waited: Sequence[Pending | None] = ()
        self._meeting: tuple[Meeting, int] | None = None
        self._meetings: dict[int, tuple[Meeting, int, Row]] = {}
        self._served_until: dict[int, float] = {}

    # -- the program --------------------------------------------------------------------------------------

    def run(self) -> Events:
        """Do what the program says until it ends."""
        yield from self._start()
        self.began = True
        resume, table, record, burst = self.source.resume, _TABLE, self.job.record, self.job.burst
        answer: Any = None
        while not self.ended:
            self.call = call = resume(answer)
            handler, answers, kept = table[call.op]
            cpu = call.cpu
            if burst is not None:
                cpu = burst(self.rank, record.rows(self.rank), call) if kept else 0
            row = self._row(call, cpu)
            self.region = row.region
            if cpu:
                if self.processor is None:
                    self.compute_alone(row.cpu, row.region)
                else:
                    yield from self.compute_among_others(row.cpu, row.region)
            if call.op not in IDLE:
                self.streak = 0
            begin, self._found = self.clock, None
            blocking = handler(self, row)
            if blocking is not None:
                self.blocked_on = row
                yield from blocking
            answer = answers(self, row) if answers is not None else None
            record.add(self, call, cpu, begin, answer)
        yield from self._stop()

    def _row(self, call: Call, cpu: int) -> Row:
        """Return a call as the op that it is."""
        op, _, region, peer, tag, context, nbytes, request, flags, entries, _, _ = call
        if peer == ANY:
            flags |= _ANY_SOURCE
        members = self.job.members(context, self.rank) if Op.BARRIER <= op < LiveOp.ANNOUNCE else ()
        return Row(
            op,
            cpu / 1e9,
            region,
            peer,
            ANY_TAG if tag == ANY else tag,
            context,
            nbytes,
            request,
            flags,
            members,
            entries,
        )

    def launch(self, channel: Channel, nbytes: int, flags: int = 0) -> Message:
        """Begin to send at this rank's clock; its own messages carry what the program gives."""
        message = super().launch(channel, nbytes, flags)
        if channel[3] >= 0:
            message.payload = self.call.payload  # type: ignore[attr-defined]
        return message

    def _note(self, row: Row, found: Receive | Message) -> None:  # noqa: ARG002 - it needs no row to know
        self._found = found

    # -- answers ------------------------------------------------------------------------------------------

    def outcome(self, pending: Pending | None, request: int = NO_REQUEST) -> Any:
        """Return what the program is told of something that is complete."""
        if isinstance(pending, Receive):
            message = pending.message
            if message is None:
                return None
            assert isinstance(message, LiveMessage)
            return message.source, message.tag, message.payload
        if isinstance(pending, Background):
            meeting, serial, row = self._meetings.pop(request)
            return self._due(meeting, serial, row)
        return pending.outcome if isinstance(pending, Settled) else None

    def _due(self, meeting: Meeting, serial: int, row: Row) -> Any:
        context = channel_context(row)
        answer = meeting.answer(row.op, self.position(row), serial)
        self.job.leave(context, serial, meeting)
        return answer

    def _received(self, _row: Row) -> Any:
        return None if self._found is None else self.outcome(self._found)

    def _receive_matched(self, row: Row) -> Events | None:
        self._found = None if row.flags & _NONBLOCKING else self.requests.get(row.request)  # type: ignore[assignment]
        return self._matched_receive(row)

    def _seen(self, _row: Row) -> Any:
        """Return what a probe saw."""
        return None if self._found is None else envelope_of(self._found)

    def _wait(self, row: Row) -> Events | None:
        names = row.entries or (row.request,)
        self._waited = [self.requests.get(name) for name in names]
        return super()._wait(row)

    def _waited_for(self, row: Row) -> list[Any]:
        names, waited = row.entries or (row.request,), self._waited
        self._waited = ()
        return [self.outcome(pending, name) for name, pending in zip(names, waited, strict=True)]

    def _take_answer(self, _row: Row) -> Any:
        answer, self.answer = self.answer, None
        return answer

    # -- collectives --------------------------------------------------------------------------------------

    def _collective(self, row: Row) -> Events | None:
        serial = self.next_serial(row.context)
        position = self.position(row)
        meeting = self._join(row, row.context, serial)
        schedule = lower(meeting.collective(row, position, self.costs), position, meeting.algorithm)
        return self._run_schedule(row, schedule, serial)

    def _neighbor(self, row: Row) -> Events | None:
        context = channel_context(row)
        self._join(row, context, self.serials.get(context, 0))
        return super()._neighbor(row)

    def _join(self, row: Row, context: int, serial: int) -> Meeting:
        meeting = self.job.meeting(context, serial, row)
        meeting.join(row, self.position(row), self.call.payload)
        if row.flags & _NONBLOCKING:
            self._meetings[row.request] = meeting, serial, row
        else:
            self._meeting = meeting, serial
        return meeting

    def _met(self, row: Row) -> Any:
        if row.flags & _NONBLOCKING:
            return None
        assert self._meeting is not None
        (meeting, serial), self._meeting = self._meeting, None
        return self._due(meeting, serial, row)

    def _result(self, row: Row) -> None:
        """Take what this rank has reduced, for the other members."""
        meeting = self.job.meetings.get((row.context, row.request))
        if meeting is not None:
            meeting.reduced(meeting.row.members.index(self.rank), self.call.payload)

    # -- the rest -----------------------------------------------------------------------------------------

    def _announce(self, row: Row) -> None:
        key, remote, name = self.call.payload
        self.answer = self.job.announce(self.rank, key, row.entries, remote, name)

    def _region(self, _row: Row) -> None:
        self.answer = self.job.region(self.call.payload)

    def _line(self, row: Row) -> None:
        self.job.lines[self.rank, row.request] = self.call.payload

    def _other(self, _row: Row) -> None:
        self.job.unmodelled[self.call.payload] += 1

    def _work(self, row: Row) -> None:
        self.job.record.work(self.rank, row.region, row.nbytes)

    def _node(self, _row: Row) -> None:
        self.answer = self.node, self.costs.node_type(self.node, self.clock).name

    def _time(self, _row: Row) -> None:
        self.asked_time = True
        self.answer = self.clock

    def _cancel(self, row: Row) -> None:
        pending = self.requests.get(row.request)
        if isinstance(pending, Receive) and pending.message is None and self.job.mailboxes.cancel(self.rank, pending):
            self.requests[row.request] = Settled(0.0, "cancelled")
            self.job.record.cancelled(self, row.request)

    def _spawn(self, row: Row) -> Events:
        world = self.job.spawned(row.context, self.next_serial(_SPAWNS | row.context))
        if self.rank == row.peer:
            self.spend(Activity.SEND, self.costs.node_type(self.node, self.clock).spawn_delay, Part.SPAWN)
            self.job.begin_world(world, row.nbytes, self.call.payload)
            self.job.worlds[world].succeed(Spawned(self.number, self.clock))
        else:
            self._turn = -1.0
            spawned = yield self.job.worlds[world]
            self.sleep_until(spawned.time, spawned)
        self.answer = world, self.job.children[world]

    def _serve(self, row: Row) -> Events | None:
        if self.takes_turns_with(row.peer):
            return self._serve_in_turn(row)
        self._ask(row)
        return None

    def _serve_in_turn(self, row: Row) -> Events:
        yield from self.in_turn()
        self._ask(row)

    def _ask(self, row: Row) -> None:
        """Send a one-sided operation to where its data are."""
        reply = self.requests[row.request] = Settled()
        payload, back = self.call.payload, row.entries[0] if row.entries else 0
        message = self.launch((UNMATCHED, self.rank, row.peer, -1), row.nbytes, _BUFFERED)

        def arrive() -> None:
            assert message.arrival is not None
            time = max(message.arrival, self._served_until.get(row.peer, 0.0))
            self._served_until[row.peer] = time
            self.simulation.at(max(time, self.env.now), message.order, lambda: self._let_serve(row, payload))

        self.job.open_services[self.rank, row.request] = reply, back, row.peer
        assert isinstance(message, LiveMessage)
        if message.arrival is None:
            message.landed = arrive
        else:
            arrive()

    def _let_serve(self, row: Row, payload: Any) -> None:
        target = self.job.ranks[row.peer]
        if target.ended:
            raise ReplayError(
                f"a one-sided operation of rank {self.rank} must find rank {row.peer} alive, but it ended"
            )
        target.note_service(self.env.now)
        for origin, request, outcome in target.source.serve(self.rank, row.request, payload):
            reply, back, peer = self.job.open_services.pop((origin, request))
            cost = self.costs.message(peer, origin, back, self.env.now)
            reply.settle((self.env.now + cost.send) + cost.transmission, outcome)

    def _end(self, row: Row) -> None:
        self.ended = True
        if row.nbytes:
            raise LiveError(
                f"{self.job.program.name}: rank {self.rank} must end well, got exit status {row.nbytes}",
                self.rank,
                row.nbytes,
            )

    def _abort(self, row: Row) -> None:
        text = f"{self.job.program.name}: rank {self.rank} called Abort({row.nbytes}){self.job.place(self)}"
        raise LiveError(text, self.rank, row.nbytes)

    def _raised(self, _row: Row) -> None:
        raise LiveError(f"{self.job.program.name}: rank {self.rank} raised {self.call.payload}", self.rank, 1)

    def waits_for(self) -> str:
        """Say in words what this rank is blocked on, and where in its program."""
        return self._waits_for() + self.job.place(self)

    def _waits_for(self) -> str:
        row = self.blocked_on
        if row is None:
            return super().waits_for()
        if row.op in POLLS and not row.flags & BLOCKING:
            return "something to change: it polls"
        if row.op == Op.WAIT or row.op in POLLS:
            waited = self._waited if row.op == Op.WAIT else [self.requests.get(name) for name in row.entries]
            open_ = [self._describe(each, row) for each in waited if each is not None and each.end is None]
            return (f"one of {len(open_)} requests, " if len(open_) > 1 else "") + (open_ or ["its requests"])[0]
        return LiveOp(row.op).name.lower() if row.op >= LiveOp.ANNOUNCE else super().waits_for()

    def _describe(self, pending: Pending, row: Row) -> str:
        """Say in words what an open request is."""
        if isinstance(pending, Message):
            return f"the receive of its message to rank {pending.dest}"
        found = self.job.mailboxes.posted(self.rank, pending) if isinstance(pending, Receive) else None
        if found is not None:
            context, posted = found
            receive = row._replace(op=Op.IRECV, context=context, peer=posted.source, tag=posted.tag)
            return describe_wait(receive, self.offset, 0, 0)
        return "a collective" if isinstance(pending, Background) else "a message"


def _table() -> dict[int, tuple[Handler, Answer | None, bool]]:
    """Return by op what it means, its answer if it has one, and whether it is an op of a trace."""
    live = LiveRank
    table: dict[int, tuple[Handler, Answer | None, bool]] = {
        op: (HANDLERS[op], None, True) for op in Op if op not in COLLECTIVES
    }
    table[Op.RECV] = HANDLERS[Op.RECV], live._received, True
    table[Op.MRECV] = live._receive_matched, live._received, True
    table[Op.PROBE] = HANDLERS[Op.PROBE], live._seen, True
    table[Op.MPROBE] = HANDLERS[Op.MPROBE], live._seen, True
    table[Op.WAIT] = live._wait, live._waited_for, True
    table[Op.POLL] = live.pause, None, True
    table[Op.OTHER] = live._other, None, True
    table[Op.SPAWN] = live._spawn, live._take_answer, True
    table |= dict.fromkeys(COLLECTIVES, (live._collective, live._met, True))
    table[Op.NEIGHBOR] = live._neighbor, live._met, True
    polls: dict[LiveOp, Handler] = {LiveOp.TEST: live.test, LiveOp.IPROBE: live.iprobe, LiveOp.IMPROBE: live.improbe}
    table |= {op: (handler, live._take_answer, True) for op, handler in polls.items()}
    asked: dict[LiveOp, Handler] = {
        LiveOp.ANNOUNCE: live._announce,
        LiveOp.REGION: live._region,
        LiveOp.WTIME: live._time,
        LiveOp.NODE: live._node,
    }
    table |= {op: (handler, live._take_answer, False) for op, handler in asked.items()}
    told: dict[LiveOp, Handler] = {
        LiveOp.LINE: live._line,
        LiveOp.CANCEL: live._cancel,
        LiveOp.RESULT: live._result,
        LiveOp.WORK: live._work,
        LiveOp.ABORT: live._abort,
        LiveOp.RAISED: live._raised,
    }
    table |= {op: (handler, None, False) for op, handler in told.items()}
    # The burst before the end is a row of its own.
    table[LiveOp.END] = live._end, None, True
    table[LiveOp.SLEEP] = HANDLERS[Op.SLEEP], None, True
    table[LiveOp.SERVE] = live._serve, None, True
    return table


_TABLE = _table()
