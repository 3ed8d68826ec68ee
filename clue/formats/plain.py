"""A trace without communicators: the common part of writing time-independent traces and GOAL.

Partners are ranks of the trace, tags distinguish communicators, receives have sizes, and collectives that a format
does not support are lowered to messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from clue.collectives import LIBRARIES, PLAIN, Collective, Round, Schedule, default_choice, lower, neighbor
from clue.errors import UsageError
from clue.formats.remarks import Remarks
from clue.kernel import Program, compile_program
from clue.kernel.model.program import Row
from clue.trace import ANY, COLLECTIVES, NO_REQUEST, PROC_NULL, Flag, Op, Trace
from clue.trace.meaning import LARGEST_TAG
from clue.units import count_of

_MODES = int(Flag.SYNCHRONOUS | Flag.BUFFERED | Flag.READY)
_WILD = int(Flag.ANY_SOURCE | Flag.ANY_TAG)
_SENDS = (int(Op.SEND), int(Op.ISEND))
# Plain integers, because an operation on an IntFlag costs more than the rest of the work on a message.
_CANCELLED, _NONBLOCKING, _INTER = int(Flag.CANCELLED), int(Flag.NONBLOCKING), int(Flag.INTER)


class Compute(NamedTuple):
    """A burst, ns."""

    nanoseconds: int


class Sleep(NamedTuple):
    """A time in which the rank needs no processor, ns."""

    nanoseconds: int


class Transfer(NamedTuple):
    """One side of a message; a receive gets its size from the sender: see :meth:`Plain.nbytes`."""

    sends: bool
    blocking: bool
    peer: int
    tag: int
    nbytes: int
    request: int


class Wait(NamedTuple):
    """A wait for all of these requests."""

    requests: tuple[int, ...]


class Poll(NamedTuple):
    """A Test for a message from a partner that found nothing."""

    peer: int
    tag: int


class Whole(NamedTuple):
    """A blocking collective of all ranks that is not lowered, with the sizes of all ranks."""

    op: Op
    collective: Collective


class Branch(NamedTuple):
    """A nonblocking collective: its steps run concurrently with the rank and are done when its request is complete."""

    request: int
    steps: tuple[Transfer | Wait, ...]


Step = Compute | Sleep | Transfer | Wait | Poll | Whole | Branch


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """A trace without communicators.

    Attributes:
        name: Name for comments and messages.
        steps: Steps of each rank, in order.
        sizes: Bytes received by each rank, by request.
    """

    name: str
    steps: Sequence[Sequence[Step]]
    sizes: Sequence[dict[int, int]]

    def nbytes(self, rank: int, message: Transfer) -> int:
        """Return the size of a message, given either side; 0 for a receive without a sender."""
        return message.nbytes if message.sends else self.sizes[rank].get(message.request, 0)


def plain(trace: Trace, library: str, remarks: Remarks, *, keep: frozenset[Op] = frozenset()) -> Plain:
    """Remove communicators and modes from a trace.

    Collectives are lowered as if each rank had a separate node, because no machine is given.

    Args:
        trace: The trace.
        library: MPI library whose default algorithms lower the collectives: ``"mpich"`` or ``"openmpi"``.
        remarks: Collects remarks on changes.
        keep: Blocking collectives of all ranks that are not lowered.

    Raises:
        UsageError: If the program spawned ranks, or makes collective calls on intercommunicators.
        ReplayError: If the members of a communicator disagree about its collectives.
    """
    if library not in LIBRARIES:
        raise UsageError(f"collectives: library must be one of {', '.join(LIBRARIES)}, got {library!r}")
    _refuse(trace)
    _remark_on_columns(trace, remarks)
    program = compile_program(trace)
    remarks.count(
        "receive or probe does not tell what it matched; it is|"
        "receives or probes do not tell what they matched; they are",
        "left out, so that later receives of the same kind may have the sizes of other messages",
        program.unresolved,
    )
    channels = _Channels(trace)
    steps = [
        list(_Flattening(program, rank, library, keep, channels, remarks).steps()) for rank in range(program.ranks)
    ]
    channels.remark(remarks)
    return Plain(trace.name, steps, channels.sizes(program.ranks))


def _refuse(trace: Trace) -> None:
    spawned = sum(head.world > 0 for head in trace.head.rank_heads)
    if spawned:
        raise UsageError(
            f"{trace.name}: program must not spawn others to be written in this format, got "
            f"{count_of(spawned, 'spawned rank')}"
        )
    between = (trace.ops.flags & _INTER > 0) & np.isin(trace.ops.op, [int(op) for op in COLLECTIVES])
    if between.any():
        raise UsageError(
            f"{trace.name}: collectives must be on intracommunicators to be written in this format, got "
            f"{int(between.sum())} on intercommunicators"
        )


def _remark_on_columns(trace: Trace, remarks: Remarks) -> None:
    ops = trace.ops
    cancelled = ops.flags & _CANCELLED > 0
    real = ops.peer != PROC_NULL  # null partners send and receive nothing
    sends = np.isin(ops.op, [*_SENDS, int(Op.LOCAL)])  # a send that was cancelled is recorded as a local call
    for words, rest, those in (
        ("op lies in a region, which is|ops lie in regions, which are", "left out", ops.region > 0),
        (
            "send has a mode|sends have a mode",
            "(synchronous, buffered, ready), which is left out",
            (ops.flags & _MODES > 0) & real,
        ),
        (
            "receive named no source or no tag; it names|receives named no source or no tag; they name",
            "what was matched",
            (ops.flags & _WILD > 0) & (ops.peer != ANY) & (ops.tag != ANY) & real & (ops.op != Op.PROBE),
        ),
        ("receive was cancelled and is|receives were cancelled and are", "left out", cancelled & ~sends),
        ("send was cancelled and is|sends were cancelled and are", "left out", cancelled & sends),
        ("one-sided operation is|one-sided operations are", "left out", ops.op == Op.RMA),
        (
            "call that clue does not model (files, …) is|calls that clue does not model (files, …) are",
            "left out",
            ops.op == Op.OTHER,
        ),
        ("call that packs or unpacks is|calls that pack or unpack are", "left out", ops.op == Op.PACK),
        ("probe is|probes are", "left out", ops.op == Op.PROBE),
        (
            "matched probe is left out; its receive stays|matched probes are left out; their receives stay",
            "",
            ops.op == Op.MPROBE,
        ),
        (
            "Test or probe that found nothing does not say what it looked for and is|"
            "Tests or probes that found nothing do not say what they looked for and are",
            "left out",
            (ops.op == Op.POLL) & ((ops.peer < 0) | (ops.tag < 0)) & (ops.flags & _CANCELLED == 0),
        ),
        (
            "constructor of a communicator is written as an allreduce of 8 B|"
            "constructors of communicators are written as an allreduce of 8 B each",
            "",
            ops.op == Op.COMM,
        ),
    ):
        remarks.count(words, rest, int(those.sum()))


def free_tags(used: set[int]) -> Iterator[int]:
    """Yield tags that are not used: those above all others, then those between, as tags are at most LARGEST_TAG."""
    above = max(used, default=-1) + 1
    yield from range(max(above, 0), LARGEST_TAG + 1)
    yield from (tag for tag in range(above) if tag not in used)


class _Channels:
    """All messages by sender, receiver and tag, in order, so that tags replace communicators and receives get sizes."""

    def __init__(self, trace: Trace) -> None:
        contexts = np.array([c.context for c in trace.head.communicators] or [0])
        messages = np.isin(trace.ops.op, [Op.SEND, Op.RECV, Op.ISEND, Op.IRECV, Op.MPROBE])
        self._world = contexts[0]
        on_world = messages & (contexts[trace.ops.comm] == self._world) if len(trace.ops) else messages
        used = set(np.unique(trace.ops.tag[on_world]).tolist())
        self._first, self._free = next(free_tags(used)), free_tags(used)
        self._elsewhere = int((messages & ~on_world & (trace.ops.peer != PROC_NULL)).sum())
        self._tags: dict[tuple[int, int], int] = {}
        self._sent: dict[tuple[int, int, int], list[int]] = {}
        self._received: dict[tuple[int, int, int], list[int]] = {}

    def tag(self, context: int, tag: int) -> int:
        """Return the tag that represents a tag of a context: the same in the world's context, another one elsewhere.

        Collectives have separate, negative tags.
        """
        if context == self._world and tag >= 0:
            return tag
        known = self._tags.get((context, tag))
        if known is None:
            known = self._tags[context, tag] = next(self._free)
        return known

    def note(self, rank: int, message: Transfer) -> None:
        """Record a message, from either side."""
        if message.sends:
            self._sent.setdefault((rank, message.peer, message.tag), []).append(message.nbytes)
        else:
            self._received.setdefault((message.peer, rank, message.tag), []).append(message.request)

    def sizes(self, ranks: int) -> list[dict[int, int]]:
        """Return the received size of each request of each rank."""
        sizes: list[dict[int, int]] = [{} for _ in range(ranks)]
        for channel, requests in self._received.items():
            sizes[channel[1]].update(zip(requests, self._sent.get(channel, ()), strict=False))
        return sizes

    def remark(self, remarks: Remarks) -> None:
        """Remark on changed tags, and on messages without a partner."""
        remarks.count(
            "send or receive is on another communicator than the first; its tags begin|"
            "sends and receives are on other communicators than the first; their tags begin",
            f"at {self._first}",
            self._elsewhere,
        )
        unsent = sum(max(0, len(r) - len(self._sent.get(channel, ()))) for channel, r in self._received.items())
        remarks.count(
            "receive has no message and is written|receives have no message and are written", "with 0 B", unsent
        )


class _Flattening:
    """Translates the rows of one rank to steps."""

    def __init__(  # noqa: PLR0917 - one caller
        self,
        program: Program,
        rank: int,
        library: str,
        keep: frozenset[Op],
        channels: _Channels,
        remarks: Remarks,
    ) -> None:
        self._program, self._rank, self._library, self._keep = program, rank, library, keep
        self._channels, self._remarks = channels, remarks
        self._rows = program.rows[rank]
        # Requests of lowered collectives and of blocking calls are numbered after those of the program.
        self._next_request = max((row.request for row in self._rows), default=-1) + 1
        self._serials: dict[int, int] = {}
        self._probed: dict[int, Row] = {}
        self._open: set[int] = set()
        self._pending = 0

    def steps(self) -> Iterator[Step]:
        """Yield the rank's steps; bursts before rows that are left out add up."""
        for row in self._rows:
            self._pending += round(row.cpu * 1e9)
            for step in _HANDLERS[row.op](self, row):
                if self._pending:
                    yield Compute(self._pending)
                    self._pending = 0
                yield step
        if self._pending:
            yield Compute(self._pending)

    # -- the steps of each row ---------------------------------------------------------------------------

    def nothing(self, _row: Row) -> Sequence[Step]:
        """Skip the row."""
        return ()

    def message(self, row: Row) -> Sequence[Step]:
        """Send or receive."""
        return self._sent_or_received(row, self._probed.values())

    def _sent_or_received(self, row: Row, probed: Iterable[Row]) -> Sequence[Step]:
        """Send or receive, after matched probes that are not received yet."""
        if row.peer == PROC_NULL or row.flags & _CANCELLED:
            return ()
        blocking = row.request == NO_REQUEST
        sends = row.op in _SENDS
        if not blocking:
            self._open.add(row.request)
        channel = row.peer, row.context, row.tag
        if not sends and any((each.peer, each.context, each.tag) == channel for each in probed):
            self._remarks.count(
                "receive is written before that of an earlier matched probe and takes the message that the probe had|"
                "receives are written before those of earlier matched probes and take the messages that these had",
                "found",
            )
        tag = self._channels.tag(row.context, row.tag)
        return (self._message(sends, row.peer, tag, row.nbytes, None if blocking else row.request),)

    def matched_probe(self, row: Row) -> Sequence[Step]:
        """Remember the message that the matched receive will take."""
        self._probed[row.request] = row
        return ()

    def matched_receive(self, row: Row) -> Sequence[Step]:
        """Receive the message that the matched probe found."""
        earlier = [self._probed[each] for each in takewhile(lambda each: each != row.request, self._probed)]
        probe = self._probed.pop(row.request, None)
        if probe is None:
            return ()
        request = row.request if row.flags & _NONBLOCKING else NO_REQUEST
        return self._sent_or_received(probe._replace(op=int(Op.RECV), request=request), earlier)

    def wait(self, row: Row) -> Sequence[Step]:
        """Wait for the requests that exist."""
        requests = tuple(each for each in row.entries or (row.request,) if each in self._open)
        self._open.difference_update(requests)
        return (Wait(requests),) if requests else ()

    def sleep(self, row: Row) -> Sequence[Step]:
        """Sleep."""
        return (Sleep(row.nbytes),)

    def poll(self, row: Row) -> Sequence[Step]:
        """Test, if the request is known; other tests, and receives that were cancelled, are left out."""
        if row.peer < 0 or row.tag < 0 or row.flags & _CANCELLED:
            return ()
        return (Poll(row.peer, self._channels.tag(row.context, row.tag)),)

    def collective(self, row: Row) -> Sequence[Step]:
        """Keep or lower a collective."""
        serial = self._serials.get(row.context, 0)
        self._serials[row.context] = serial + 1
        collective = self._program.collectives[row.context][serial]
        op = Op[collective.name.upper()]
        whole = row.members == tuple(range(self._program.ranks))
        algorithm = default_choice(self._library, collective)
        if op in self._keep and whole and not row.flags & _NONBLOCKING:
            if algorithm != default_choice(self._library, replace(collective, manner=PLAIN)):
                self._remarks.count(
                    "call of a rank to a collective loses what decides its|"
                    "calls of ranks to collectives lose what decides their",
                    "algorithm (in place, operation, elements)",
                )
            return (Whole(op, collective),)
        return self._lowered(row, lower(collective, row.members.index(self._rank), algorithm), ~(2 * serial))

    def neighbor(self, row: Row) -> Sequence[Step]:
        """Lower a collective, which consists of messages already."""
        serial = self._serials.get(~row.context, 0)
        self._serials[~row.context] = serial + 1
        return self._lowered(row, neighbor(row.entries), ~(2 * serial + 1))

    def _lowered(self, row: Row, schedule: Schedule, key: int) -> Sequence[Step]:
        self._remarks.count(
            "call of a rank to a collective is|calls of ranks to collectives are", "lowered to messages"
        )
        if not schedule:
            if row.flags & _NONBLOCKING:
                self._open.add(row.request)
                return (Branch(row.request, ()),)
            return ()
        tag = self._channels.tag(row.context, key)
        steps = [step for each in schedule for step in self._round(each, row.members, tag)]
        if row.flags & _NONBLOCKING:
            self._open.add(row.request)
            return (Branch(row.request, tuple(steps)),)
        return steps

    def _round(self, each: Round, members: Sequence[int], tag: int) -> Iterator[Transfer | Wait]:
        """Yield one round: a single message is blocking; several are started together, followed by a wait for all."""
        alone = len(each.sends) + len(each.receives) == 1
        started = []
        for source in each.receives:
            started.append(self._message(False, members[source], tag, 0, None, blocking=alone))
        for dest, nbytes in each.sends:
            started.append(self._message(True, members[dest], tag, nbytes, None, blocking=alone))
        yield from started
        if not alone and started:
            yield Wait(tuple(message.request for message in started))

    def _message(  # noqa: PLR0917 - the order of the fields
        self, sends: bool, peer: int, tag: int, nbytes: int, request: int | None, blocking: bool | None = None
    ) -> Transfer:
        number = request
        if number is None:
            number = self._next_request
            self._next_request += 1
        message = Transfer(sends, request is None if blocking is None else blocking, peer, tag, nbytes, number)
        self._channels.note(self._rank, message)
        return message


def _handlers() -> list[Callable[[_Flattening, Row], Sequence[Step]]]:
    table: list[Callable[[_Flattening, Row], Sequence[Step]]] = [_Flattening.nothing] * (max(Op) + 1)
    for op in (Op.SEND, Op.RECV, Op.ISEND, Op.IRECV):
        table[op] = _Flattening.message
    for op in COLLECTIVES:
        table[op] = _Flattening.collective
    table[Op.NEIGHBOR] = _Flattening.neighbor
    table[Op.MPROBE] = _Flattening.matched_probe
    table[Op.MRECV] = _Flattening.matched_receive
    table[Op.WAIT] = _Flattening.wait
    table[Op.POLL] = _Flattening.poll
    table[Op.SLEEP] = _Flattening.sleep
    return table


_HANDLERS = _handlers()
