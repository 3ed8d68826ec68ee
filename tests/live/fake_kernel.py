"""A kernel without time for tests of the processes: matches messages in order, lets ranks run in turn."""

from __future__ import annotations

from collections import deque
from typing import Any

from clue.live.processes import Processes, World, one_core
from clue.live.source import ProcessSource
from clue.trace import ANY, Op
from clue.trace.calls import Call, LiveOp


class FakeKernel:
    """Serves Send, Recv and what every program needs."""

    def __init__(self, sources: list[ProcessSource]) -> None:
        self.sources = sources
        self.sent: list[list[tuple[int, Call]]] = [[] for _ in sources]
        self.waiting: dict[int, Call] = {}
        self.ready: deque[tuple[int, Any]] = deque((rank, None) for rank in range(len(sources)))
        self.ended: dict[int, Call] = {}
        self.keys: dict[str, int] = {}
        self.log: list[tuple[int, Call]] = []

    def run(self) -> None:
        """Let the ranks run until nothing more happens."""
        while self.ready:
            rank, answer = self.ready.popleft()
            call = self.sources[rank].resume(answer)
            self.log.append((rank, call))
            self.take(rank, call)

    def take(self, rank: int, call: Call) -> None:
        """Do what a call says."""
        if call.op in {LiveOp.END, LiveOp.RAISED, LiveOp.ABORT}:
            self.ended[rank] = call
        elif call.op == LiveOp.ANNOUNCE:
            self.ready.appendleft((rank, self.keys.setdefault(call.payload[0], len(self.keys))))
        elif call.op == LiveOp.WTIME:
            self.ready.appendleft((rank, 0.0))
        elif call.op == Op.SEND:
            self.sent[call.peer].append((rank, call))
            self.ready.appendleft((rank, None))
            self.wake(call.peer)
        elif call.op == Op.RECV:
            self.waiting[rank] = call
            self.wake(rank)
        else:
            self.ready.appendleft((rank, None))

    def wake(self, rank: int) -> None:
        """Let a receive end whose message is there."""
        want = self.waiting.get(rank)
        for i, (source, call) in enumerate(self.sent[rank] if want else []):
            assert want is not None
            if call.context == want.context and want.peer in {source, ANY} and want.tag in {call.tag, ANY}:
                del self.sent[rank][i], self.waiting[rank]
                self.ready.append((rank, (source, call.tag, call.payload)))
                return


def run(command: tuple[str, ...], ranks: int) -> FakeKernel:
    """Run a program under the fake kernel."""
    world = World("w0", tuple(range(ranks)), command)
    with one_core():
        processes = Processes(memory=1 << 32)
        try:
            kernel = FakeKernel([ProcessSource(rank, processes.start(world, rank)[0]) for rank in range(ranks)])
            kernel.run()
        finally:
            processes.close()
    return kernel
