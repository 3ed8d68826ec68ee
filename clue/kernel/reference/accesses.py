"""One-sided operations: a message to the target, what happens there, and the answer to the origin.

An operation is executed when it arrives at its target, or when the target's next call that waits or tests begins if its
library does nothing outside of these; the operations of one origin on one target do not overtake each other. The answer
costs the target nothing. Locks are granted strictly first come, first served.

The origin itself executes operations on memory of its node that MPI has allocated.
"""

from __future__ import annotations

from collections import defaultdict, deque
from functools import partial
from typing import Any, Protocol

import simpy

from clue.kernel.model.program import Row
from clue.kernel.reference.matching import Message, Pending
from clue.kernel.reference.virtual_machine import VirtualMachine, wake
from clue.trace import LOCKING
from clue.trace import Access as Kind

_UNLOCK, _EXCLUSIVE = int(Kind.UNLOCK), int(Kind.EXCLUSIVE_LOCK)


class Origin(Protocol):
    """The rank that starts an operation (:class:`clue.kernel.reference.rank.Rank`)."""

    rank: int
    order: int
    offset: int
    machine: VirtualMachine
    requests: dict[int, Pending]
    observed: bool

    def begin_access(self, dest: int, nbytes: int) -> Message:
        """Begin to send data to a rank of the program."""

    def access_directly(self, dest: int, nbytes: int, back: int) -> Message:
        """Write and read data in the memory of a rank of the same node."""

    def observe(self, source: int, dest: int, nbytes: int) -> None:
        """Count a message between two ranks."""


class Access:
    """A one-sided operation under way: a request that is complete when its answer is there.

    Attributes:
        kind: What it does at its target: a :class:`clue.trace.Access`.
        context: Context of its window.
        origin, target: Ranks of the program.
        back: Data that the answer brings back, bytes.
        message: The message to the target.
        answer: The answer, once it has left; ``None`` if there is none, because the origin does it all itself.
        reached: When its turn came at the target, seconds: it has arrived, and so have earlier ones of its origin.
        done: When it was executed at the target, or the lock was granted, seconds.
        released: For a lock that had to wait, the operation that released the lock before.
        outcome: What the program gets.
        payload: What a running program's target is to do.
        end: When it is complete, or ``None`` while that is not known.
        waiter: Event of an origin blocked until the end is known.
    """

    __slots__ = (
        "answer",
        "back",
        "context",
        "done",
        "end",
        "kind",
        "message",
        "origin",
        "outcome",
        "payload",
        "reached",
        "released",
        "target",
        "waiter",
    )

    def __init__(self, origin: int, row: Row, message: Message) -> None:
        self.kind, self.context = row.tag, row.context
        self.origin, self.target = origin, row.peer
        self.back = row.entries[0] if row.entries else 0
        self.message = message
        self.answer: Message | None = None
        self.reached = self.done = 0.0
        self.released: Access | None = None
        self.outcome: Any = None
        self.payload: Any = None
        self.end: float | None = None
        self.waiter: simpy.Event | None = None


class _Lock:
    """The lock on one rank's memory in one window: its holders, and the operations that wait for it, in order."""

    __slots__ = ("holders", "waiting")

    def __init__(self) -> None:
        self.holders: dict[int, bool] = {}
        self.waiting: deque[Access] = deque()

    def granted(self) -> list[Access]:
        """Give the lock to those that can have it now; return them."""
        found = []
        while self.waiting:
            exclusive = self.waiting[0].kind == _EXCLUSIVE
            if self.holders and (exclusive or any(self.holders.values())):
                break
            first = self.waiting.popleft()
            self.holders[first.origin] = exclusive
            found.append(first)
        return found


class Accesses:
    """The one-sided operations of one running copy of a program."""

    def __init__(self) -> None:
        #: By origin and target, operations whose arrival, or that of an earlier one, is not known yet, in order.
        self._sent: defaultdict[tuple[int, int], deque[Access]] = defaultdict(deque)
        #: By origin and target, when the latest operation reached the target, seconds.
        self._reached: dict[tuple[int, int], float] = {}
        #: By target, the operations that wait for its next call, each with its origin, in the order of their arrivals.
        self._waiting: defaultdict[int, deque[tuple[Origin, Access]]] = defaultdict(deque)
        #: By window and target.
        self._locks: defaultdict[tuple[int, int], _Lock] = defaultdict(_Lock)

    def start(self, rank: Origin, row: Row) -> Access:
        """Send an operation to its target at the time of the origin's clock, which pays as for an Isend."""
        message = rank.begin_access(row.peer, row.nbytes)
        access = self.started(rank, row, message)
        self._sent[rank.rank, row.peer].append(access)
        if message.arrival is None:
            message.landed = partial(self._reach, rank, row.peer)
        else:
            self._reach(rank, row.peer)
        return access

    def start_directly(self, rank: Origin, row: Row) -> Access:
        """Let the origin execute an operation at the time of its clock, which it advances."""
        message = rank.access_directly(row.peer, row.nbytes, row.entries[0] if row.entries else 0)
        access = self.started(rank, row, message)
        access.end = message.arrival
        return access

    def started(self, rank: Origin, row: Row, message: Message) -> Access:
        """Note an operation that an origin has just started."""
        access = rank.requests[row.request] = Access(rank.rank, row, message)
        if rank.observed:
            rank.observe(message.dest, message.source, access.back)
        return access

    def execute(self, access: Access) -> Any:  # noqa: ARG002 - a running program does something here
        """Do at the target what an operation asks for; return the outcome: nothing in a replay."""
        return None

    def _reach(self, rank: Origin, target: int) -> None:
        """Let operations reach a target that have arrived there, as have all before them."""
        pair = rank.rank, target
        sent, machine = self._sent[pair], rank.machine
        while sent and sent[0].message.arrival is not None:
            access = sent.popleft()
            arrival = access.message.arrival
            assert arrival is not None
            time = self._reached[pair] = max(arrival, self._reached.get(pair, 0.0), machine.env.now)
            machine.at(time, access.message.order, partial(self._at_target, rank, access))

    def _at_target(self, rank: Origin, access: Access) -> None:
        """Let an operation that has reached its target be executed: now, or within the target's next call."""
        machine, waiting = rank.machine, self._waiting[access.target]
        access.reached = machine.env.now
        if not machine.absences:
            self._execute(rank, access)
            return
        waiting.append((rank, access))

        def execute() -> None:
            # Those that have waited for the same call are executed in the order of their arrivals.
            self._execute(*waiting.popleft())

        absence = machine.absences[rank.offset + access.target]
        absence.after(machine.env.now, lambda time: machine.at(time, access.message.order, execute))

    def _execute(self, rank: Origin, access: Access) -> None:
        lock = self._locks[access.context, access.target] if access.kind in LOCKING else None
        access.outcome = self.execute(access)
        if lock is None:
            self._answer(rank, access)
            return
        if access.kind == _UNLOCK:
            self._answer(rank, access)
            lock.holders.pop(access.origin, None)
        else:
            lock.waiting.append(access)
        for each in lock.granted():
            if each is not access:
                each.released = access
            self._answer(rank, each)

    def _answer(self, rank: Origin, access: Access) -> None:
        """Let the answer travel back to the origin."""
        to, machine = access.message, rank.machine
        access.done = now = machine.env.now
        access.answer = answer = Message(to.dest, to.source, access.back, now, to.order)

        def landed() -> None:
            access.end = answer.arrival
            wake(access)

        answer.landed = landed
        machine.begin(answer, now)
        if answer.arrival is not None:
            landed()
