"""The exchange between a running program and its rank: calls become ops, and their outcomes become answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from clue.collectives import lower
from clue.errors import LiveError, ReplayError
from clue.kernel.live.job import Job
from clue.kernel.live.mailboxes import LiveMessage
from clue.kernel.live.meetings import Meeting
from clue.kernel.live.pending import Settled
from clue.kernel.live.polls import POLLS, Answered, Polls, envelope_of
from clue.kernel.live.source import Source
from clue.kernel.model.blocked import channel_context, describe_wait
from clue.kernel.model.history import Spawned
from clue.kernel.model.program import ANY_TAG, Row
from clue.kernel.reference.accesses import Access
from clue.kernel.reference.actor import Background, Events
from clue.kernel.reference.matching import Message, Pending, Receive
from clue.kernel.reference.rank import APART, HANDLERS, Handler, Rank
from clue.result import Activity, Part
from clue.trace import ANY, COLLECTIVES, NO_REQUEST, PROC_NULL, Flag, Op
from clue.trace.calls import BLOCKING, Call, LiveOp

_ANY_SOURCE, _NONBLOCKING = int(Flag.ANY_SOURCE), int(Flag.NONBLOCKING)
_COMPUTE, _BARRIER, _ANNOUNCE = int(Op.COMPUTE), int(Op.BARRIER), int(LiveOp.ANNOUNCE)
#: Spawns are counted apart from the collectives of their communicator.
_SPAWNS = 1 << 40
#: How often in a row a rank may ask for the time, if its clock stands still, before it counts as waiting for ever.
_MOST_LOOKS = 100_000

Answer = Callable[[Row], Any]


class Conversation:
    """The calls of a program to its rank, one by one, and the answers to them.

    Args:
        job: The state that the program's ranks share.
        rank: The rank.
        source: The program.
    """

    def __init__(self, job: Job, rank: Rank, source: Source) -> None:
        self._job, self._rank, self._source = job, rank, source
        self._polls = Polls(job, rank, self._outcome)
        self._call = Call(Op.LOCAL)
        self._ended = False
        #: The time that the rank asked for last, and how often in a row it was the same.
        self._asked, self._looks = -1.0, 0
        #: The answer to the present call, where its handler knows it.
        self._answer: Any = None
        self._waited: Sequence[Pending | None] = ()
        self._meeting: tuple[Meeting, int] | None = None
        self._meetings: dict[int, tuple[Meeting, int, Row]] = {}
        self._table = self._meanings()
        #: Handlers of ops by op code, in the form that a rank uses.
        self.meaning = {op: handler for op, (handler, _, _) in self._table.items()}
        #: Ops that are not MPI calls, as far as a trace could tell.
        self.apart = APART | {LiveOp.SLEEP} | {op for op, (_, _, kept) in self._table.items() if not kept}

    # -- the program --------------------------------------------------------------------------------------

    def ops(self) -> Iterator[Row]:
        """Yield the program's ops one by one; the rank asks for the next op when the previous one is done."""
        rank, record, burst, found = self._rank, self._job.record, self._job.burst, self._rank.received
        assert found is not None
        answer: Any = None
        while not self._ended:
            if self._job.failure is not None:
                raise self._job.failure  # of another rank, or a signal: this rank might run on for ever
            self._call = call = self._source.resume(answer)
            _, answers, kept = self._table[call.op]
            cpu = call.cpu
            if burst is not None:
                cpu = burst(rank.rank, record.rows(rank.rank), call) if kept else 0
            self._polls.hear(call, cpu)
            self._job.mailboxes.outgoing[rank.rank] = call.payload
            row = self._row(call)
            if cpu:
                yield Row(_COMPUTE, cpu / 1e9, call.region, PROC_NULL, 0, 0, 0, NO_REQUEST, 0, (), ())
            begin = rank.clock
            found.clear()
            yield row
            answer = answers(row) if answers is not None else None
            record.add(rank, call, cpu, begin, answer)
            if self._polls.waited:
                record.wait(rank, self._polls.waited)
                self._polls.waited = 0

    def _row(self, call: Call) -> Row:
        """Return the op of a call, without the burst before it."""
        op, _, region, peer, tag, context, nbytes, request, flags, entries, _, _ = call
        if peer == ANY:
            flags |= _ANY_SOURCE
        members = self._job.members(context, self._rank.rank) if _BARRIER <= op < _ANNOUNCE else ()
        return Row(
            op,
            0.0,
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

    # -- answers ------------------------------------------------------------------------------------------

    def _outcome(self, pending: Pending | None, request: int = NO_REQUEST) -> Any:
        """Return the outcome of a complete operation, for the program."""
        if isinstance(pending, Receive):
            message = pending.message
            if message is None:
                return None
            assert isinstance(message, LiveMessage)
            return message.source, message.tag, message.payload
        if isinstance(pending, Background):
            meeting, serial, row = self._meetings.pop(request)
            return self._due(meeting, serial, row)
        return pending.outcome if isinstance(pending, Settled | Access) else None

    def _due(self, meeting: Meeting, serial: int, row: Row) -> Any:
        context = channel_context(row)
        answer = meeting.answer(row.op, self._rank.position(row), serial)
        self._job.leave(context, serial, meeting)
        return answer

    def _found(self) -> Receive | Message | None:
        """Return what the rank's latest receive or probe found."""
        return self._rank.received[-1][1] if self._rank.received else None

    def _received(self, _row: Row) -> Any:
        found = self._found()
        return self._outcome(found) if isinstance(found, Receive) else None

    def _receive_matched(self, rank: Rank, row: Row) -> Events | None:
        receive = rank.requests.get(row.request)
        if isinstance(receive, Receive) and not row.flags & _NONBLOCKING:
            rank.note(row, receive)
        return rank.receive_matched(row)

    def _probe(self, _rank: Rank, row: Row) -> Events | None:
        return None if row.peer == PROC_NULL else self._polls.probe(row)

    def _seen(self, _row: Row) -> Any:
        """Return what a probe saw."""
        found = self._found()
        return None if found is None else envelope_of(found)

    def _wait(self, rank: Rank, row: Row) -> Events | None:
        names = row.entries or (row.request,)
        self._waited = [rank.requests.get(name) for name in names]
        return rank.wait(row)

    def _waited_for(self, row: Row) -> list[Any]:
        names, waited = row.entries or (row.request,), self._waited
        self._waited = ()
        return [self._outcome(pending, name) for name, pending in zip(names, waited, strict=True)]

    def _take_answer(self, _row: Row) -> Any:
        answer, self._answer = self._answer, None
        return answer

    def _answered(self, call: Callable[[Row], Answered]) -> Handler:
        """Return the handler of a call that returns its own answer."""

        def handler(_rank: Rank, row: Row) -> Events:
            self._answer = yield from call(row)

        return handler

    # -- collectives --------------------------------------------------------------------------------------

    def _collective(self, rank: Rank, row: Row) -> Events | None:
        serial = rank.next_serial(row.context)
        position = rank.position(row)
        meeting = self._join(row, row.context, serial)
        collective = meeting.collective(row, position, rank.costs, rank.nodes_of(row))
        schedule = lower(collective, position, meeting.algorithm)
        return rank.run_schedule(row, schedule, serial)

    def _neighbor(self, rank: Rank, row: Row) -> Events | None:
        context = channel_context(row)
        self._join(row, context, rank.serials.get(context, 0))
        return rank.neighbor_exchange(row)

    def _join(self, row: Row, context: int, serial: int) -> Meeting:
        meeting = self._job.meeting(context, serial, row)
        meeting.join(row, self._rank.position(row), self._call.payload)
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

    def _result(self, rank: Rank, row: Row) -> None:
        """Store the result of this rank's reduction for the other members."""
        meeting = self._job.meetings.get((row.context, row.request))
        if meeting is not None:
            meeting.reduced(meeting.row.members.index(rank.rank), self._call.payload)

    # -- the rest -----------------------------------------------------------------------------------------

    def _announce(self, rank: Rank, row: Row) -> None:
        key, remote, name = self._call.payload
        self._answer = self._job.announce(rank.rank, key, row.entries, remote, name)

    def _region(self, _rank: Rank, _row: Row) -> None:
        self._answer = self._job.region(self._call.payload)

    def _line(self, rank: Rank, row: Row) -> None:
        self._job.lines[rank.rank, row.request] = self._call.payload

    def _other(self, _rank: Rank, _row: Row) -> None:
        self._job.unmodelled[self._call.payload] += 1

    def _work(self, rank: Rank, row: Row) -> None:
        self._job.record.work(rank.rank, row.region, row.nbytes)

    def _node(self, rank: Rank, _row: Row) -> None:
        self._answer = rank.node, rank.costs.node_type(rank.node, rank.clock).name

    def _time(self, rank: Rank, _row: Row) -> None:
        self._polls.asked_time = True
        self._answer = rank.clock
        self._looks = self._looks + 1 if rank.clock == self._asked else 0
        self._asked = rank.clock
        if self._looks > _MOST_LOOKS:
            text = (
                f"{self._job.name}: rank {rank.rank} must let virtual time pass, but asked for the time "
                f"{_MOST_LOOKS:,} times in a row at {rank.clock:.9g} s{self._place()}: a loop that waits for a time "
                "needs measured bursts, or a poll or a sleep"
            )
            raise LiveError(text, rank.rank)

    def _cancel(self, rank: Rank, row: Row) -> Events:
        yield from rank.in_turn()
        pending = rank.requests.get(row.request)
        if isinstance(pending, Receive) and self._job.mailboxes.cancel(rank, pending):
            rank.requests[row.request] = Settled(0.0, "cancelled")
            self._job.record.cancelled(rank, row.request)

    def _spawn(self, rank: Rank, row: Row) -> Events:
        job = self._job
        world = job.spawned(row.context, rank.next_serial(_SPAWNS | row.context))
        done = job.instance.worlds[world]
        if rank.rank == row.peer:
            rank.spend(Activity.SEND, rank.costs.node_type(rank.node, rank.clock).spawn_delay, Part.SPAWN)
            job.begin_world(world, row.nbytes, self._call.payload)
            done.succeed(Spawned(rank.number, rank.clock))
        else:
            yield from rank.until_spawned(done)
        self._answer = world, job.children[world]

    # -- one-sided operations -----------------------------------------------------------------------------

    def serve(self, access: Access) -> Any:
        """Execute a one-sided operation of another rank; return its outcome.

        Raises:
            ReplayError: If the program has ended.
        """
        if access.payload is not None and self._ended:
            raise ReplayError(
                f"a one-sided operation of rank {access.origin} must find rank {self._rank.rank} alive, but it ended"
            )
        self._polls.note_service(self._rank.env.now)
        return None if access.payload is None else self._source.serve(access.payload)

    # -- the end ------------------------------------------------------------------------------------------

    def _end(self, rank: Rank, row: Row) -> None:
        self._ended = True
        if row.nbytes:
            raise LiveError(
                f"{self._job.name}: rank {rank.rank} must end well, got exit status {row.nbytes}",
                rank.rank,
                row.nbytes,
            )

    def _abort(self, rank: Rank, row: Row) -> None:
        text = f"{self._job.name}: rank {rank.rank} called Abort({row.nbytes}){self._place()}"
        raise LiveError(text, rank.rank, row.nbytes)

    def _raised(self, rank: Rank, _row: Row) -> None:
        raise LiveError(f"{self._job.name}: rank {rank.rank} raised {self._call.payload}", rank.rank, 1)

    # -- words --------------------------------------------------------------------------------------------

    def _place(self) -> str:
        return self._job.place(self._rank.rank, self._call.line)

    def waits_for(self) -> str:
        """Say in words what its rank is blocked on, and where in the program."""
        return self._waits_for() + self._place() + self._threads()

    def _threads(self) -> str:
        """Say that another thread of the rank may have to call MPI before it can go on, if it has several."""
        threads = 1 if self._ended else self._source.threads()
        return f" in one of its {threads} threads (only one at a time can call MPI in live runs)" if threads > 1 else ""

    def _waits_for(self) -> str:
        rank, row = self._rank, self._rank.blocked_on
        if row is None:
            return rank.waits_for()
        if row.op in POLLS and not row.flags & BLOCKING:
            return "something to change: it polls"
        if row.op == Op.WAIT or row.op in POLLS:
            waited = self._waited if row.op == Op.WAIT else [rank.requests.get(name) for name in row.entries]
            open_ = [self._describe(each, row) for each in waited if each is not None and each.end is None]
            return (f"one of {len(open_)} requests, " if len(open_) > 1 else "") + (open_ or ["its requests"])[0]
        return LiveOp(row.op).name.lower() if row.op >= LiveOp.ANNOUNCE else rank.waits_for()

    def _describe(self, pending: Pending, row: Row) -> str:
        """Say in words what an open request is."""
        if isinstance(pending, Message):
            return f"the receive of its message to rank {pending.dest}"
        found = self._job.mailboxes.posted(self._rank.rank, pending) if isinstance(pending, Receive) else None
        if found is not None:
            context, posted = found
            receive = row._replace(op=Op.IRECV, context=context, peer=posted.source, tag=posted.tag)
            return describe_wait(receive, 0, 0, 0)
        if isinstance(pending, Access):
            return f"a lock of rank {pending.target}'s memory" if pending.kind else "a one-sided operation"
        return "a collective" if isinstance(pending, Background) else "a message"

    # -- the table ----------------------------------------------------------------------------------------

    def _meanings(self) -> dict[int, tuple[Handler, Answer | None, bool]]:
        """Return, by op, its handler, its answer if it has one, and whether it is an op of a trace."""
        polls, answered = self._polls, self._answered
        table: dict[int, tuple[Handler, Answer | None, bool]] = {op: (HANDLERS[op], None, True) for op in Op}
        table[Op.RECV] = HANDLERS[Op.RECV], self._received, True
        table[Op.MRECV] = self._receive_matched, self._received, True
        table[Op.PROBE] = self._probe, self._seen, True
        table[Op.MPROBE] = HANDLERS[Op.MPROBE], self._seen, True
        table[Op.WAIT] = self._wait, self._waited_for, True
        table[Op.POLL] = answered(polls.pause), None, True
        table[Op.OTHER] = self._other, None, True
        table[Op.SPAWN] = self._spawn, self._take_answer, True
        table |= dict.fromkeys(COLLECTIVES, (self._collective, self._met, True))
        table[Op.NEIGHBOR] = self._neighbor, self._met, True
        looks = {LiveOp.TEST: polls.test, LiveOp.IPROBE: polls.iprobe, LiveOp.IMPROBE: polls.improbe}
        table |= {op: (answered(look), self._take_answer, True) for op, look in looks.items()}
        asked: dict[LiveOp, Handler] = {
            LiveOp.ANNOUNCE: self._announce,
            LiveOp.REGION: self._region,
            LiveOp.WTIME: self._time,
            LiveOp.NODE: self._node,
        }
        table |= {op: (handler, self._take_answer, False) for op, handler in asked.items()}
        told: dict[LiveOp, Handler] = {
            LiveOp.LINE: self._line,
            LiveOp.CANCEL: self._cancel,
            LiveOp.RESULT: self._result,
            LiveOp.WORK: self._work,
            LiveOp.ABORT: self._abort,
            LiveOp.RAISED: self._raised,
        }
        table |= {op: (handler, None, False) for op, handler in told.items()}
        # The burst before the end is a row of its own.
        table[LiveOp.END] = self._end, None, True
        table[LiveOp.SLEEP] = HANDLERS[Op.SLEEP], None, True
        return table
