"""A fake kernel without time for tests of rank processes: it matches messages in order and runs ranks in turn."""

from __future__ import annotations

from collections import deque
from typing import Any

from clue.execution.processes import Processes, World, one_core
from clue.execution.source import ProcessSource
from clue.trace import ANY, Flag, Op
from clue.trace.calls import BLOCKING, Call, LiveOp, Mode

_LAST = {LiveOp.END, LiveOp.RAISED, LiveOp.ABORT}
_SENDS, _RECEIVES = {Op.SEND, Op.ISEND}, {Op.RECV, Op.IRECV}


class FakeKernel:
    """Serves messages between ranks, and the requests that every program makes."""

    def __init__(self, sources: list[ProcessSource]) -> None:
        self.sources = sources
        self.sent: list[list[tuple[int, Call]]] = [[] for _ in sources]
        self.posted: list[list[Call]] = [[] for _ in sources]
        self.outcomes: list[dict[int, Any]] = [{} for _ in sources]
        self.asleep: dict[int, Call] = {}
        self.ready: deque[tuple[int, Any]] = deque((rank, None) for rank in range(len(sources)))
        self.ended: dict[int, Call] = {}
        self.keys: dict[str, int] = {}
        self.regions: list[str] = [""]
        self.log: list[tuple[int, Call]] = []

    def run(self) -> None:
        """Run the ranks until all have ended or are blocked."""
        while self.ready:
            rank, answer = self.ready.popleft()
            call = self.sources[rank].resume(answer)
            self.log.append((rank, call))
            self.take(rank, call)

    def take(self, rank: int, call: Call) -> None:
        """Execute a call, and let the rank continue immediately if the call does not block."""
        if call.op in _LAST:
            self.ended[rank] = call
            return
        if call.op in _SENDS:
            self.send(rank, call)
        elif call.op == Op.IRECV:
            self.posted[rank].append(call)
            self.match(rank)
        elif call.op == Op.RECV:
            self.posted[rank].append(call._replace(request=0))
            self.match(rank)
        elif call.op == LiveOp.CANCEL:
            self.cancel(rank, call.request)
        self.asleep[rank] = call
        self.wake(rank)

    def send(self, rank: int, call: Call) -> None:
        """Keep a message until a receive matches it; the send completes immediately."""
        if call.op == Op.ISEND:
            self.outcomes[rank][call.request] = None
        self.sent[call.peer].append((rank, call))
        self.match(call.peer)
        self.wake(call.peer)

    def cancel(self, rank: int, request: int) -> None:
        """Cancel a receive that has no message yet."""
        waiting = [call for call in self.posted[rank] if call.request == request]
        for call in waiting:
            self.posted[rank].remove(call)
            self.outcomes[rank][request] = "cancelled"

    def match(self, rank: int) -> None:
        """Match messages with receives, both in order."""
        for posted in list(self.posted[rank]):
            found = self.find(rank, posted)
            if found is not None:
                self.sent[rank].remove(found)
                self.posted[rank].remove(posted)
                self.outcomes[rank][posted.request] = (found[0], found[1].tag, found[1].payload)

    def find(self, rank: int, want: Call) -> tuple[int, Call] | None:
        """Return the first message that matches a receive, with its source."""
        for source, call in self.sent[rank]:
            if call.context == want.context and want.peer in {source, ANY} and want.tag in {call.tag, ANY}:
                return source, call
        return None

    def wake(self, rank: int) -> None:
        """Answer the call of a blocked rank, if there is an answer."""
        call = self.asleep.get(rank)
        if call is not None:
            found, answer = self.answer(rank, call)
            if found:
                del self.asleep[rank]
                self.ready.append((rank, answer))

    def answer(self, rank: int, call: Call) -> tuple[bool, Any]:  # noqa: PLR0911 - one for each op
        """Return whether a call has an answer, and the answer."""
        outcomes = self.outcomes[rank]
        if call.op == Op.RECV:
            return 0 in outcomes, outcomes.pop(0, None)
        if call.op == Op.WAIT:
            names = call.entries or (call.request,)
            ready = all(name in outcomes for name in names)
            return ready, [outcomes.pop(name) for name in names] if ready else None
        if call.op == LiveOp.TEST:
            return self.test(rank, call)
        if call.op in {Op.PROBE, LiveOp.IPROBE}:
            found = self.find(rank, call)
            told = None if found is None else (found[0], found[1].tag, found[1].nbytes)
            return found is not None or call.op == LiveOp.IPROBE, told
        if call.op in {Op.MPROBE, LiveOp.IMPROBE}:
            found = self.find(rank, call)
            if found is None:
                return call.op == LiveOp.IMPROBE, None
            self.sent[rank].remove(found)
            outcomes[call.request] = (found[0], found[1].tag, found[1].payload)
            return True, (found[0], found[1].tag, found[1].nbytes)
        if call.op == Op.MRECV and not call.flags & Flag.NONBLOCKING:
            return True, outcomes.pop(call.request)
        if call.op == LiveOp.ANNOUNCE:
            return True, self.keys.setdefault(call.payload[0], len(self.keys))
        if call.op == LiveOp.REGION:
            if call.payload not in self.regions:
                self.regions.append(call.payload)
            return True, self.regions.index(call.payload)
        if call.op == LiveOp.WTIME:
            return True, float(sum(rank == each for each, _ in self.log))
        return True, None

    def test(self, rank: int, call: Call) -> tuple[bool, Any]:
        """Return whether a test has an answer, and the places and outcomes of the completed requests."""
        outcomes = self.outcomes[rank]
        places = [place for place, name in enumerate(call.entries) if name in outcomes]
        if len(places) < (len(call.entries) if call.tag == Mode.ALL else 1):
            return not call.flags & BLOCKING, None
        places = places[:1] if call.tag == Mode.ANY else places
        return True, [(place, outcomes.pop(call.entries[place])) for place in places]


def started(*, rate: float | None = None, virtual_clock: bool = False) -> Processes:
    """Start the process that ranks are forked from, on one core."""
    with one_core():
        return Processes(memory=1 << 32, rate=rate, virtual_clock=virtual_clock)


def run(command: tuple[str, ...], ranks: int, processes: Processes) -> FakeKernel:
    """Run a program under the fake kernel."""
    world = World("w0", tuple(range(ranks)), command)
    kernel = FakeKernel([ProcessSource(rank, processes.start(world, rank)[0]) for rank in range(ranks)])
    kernel.run()
    return kernel
