"""A rank's side of the conversation with the kernel: ops that it tells or asks, the bursts before them, and payloads.

Ops that need no answer wait here and travel with the next op that does: the kernel never runs while a rank does, so it
learns of them early enough. A burst is the thread's CPU time between two calls (or what regions declare).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import RLock, active_count
from time import thread_time_ns
from types import FrameType
from typing import Any

from clue.trace.calls import LiveOp
from clue.trace.ops import NO_REQUEST, PROC_NULL, Op
from clue.trace.wire import Channel
from virtual_layer.substitutes.arena import INLINE, Arena
from virtual_layer.threads import LastCall

#: Bytes under way: nothing, the bytes themselves, or segment, offset and length in shared memory.
Payload = Any

_OPS, _BYTES = 256, 1 << 20
_COMPUTE, _REGION, _LINE, _WTIME = int(Op.COMPUTE), int(LiveOp.REGION), int(LiveOp.LINE), int(LiveOp.WTIME)
_WORK = int(LiveOp.WORK)
#: Ops without a burst: a burst before them belongs to the op after them.
_TIMELESS = frozenset({_REGION, int(LiveOp.ANNOUNCE), int(LiveOp.RESULT)})
#: Files of the layer: their frames are not the program's.
_OURS = frozenset({str(file) for file in Path(__file__).parent.parent.rglob("*.py")} | {"<frozen runpy>"})


class _Cut(Channel):
    """The channel of a process that the program forked: it refuses to send."""

    def __init__(self) -> None:
        super().__init__(-1, -1)

    def send(self, value: Any) -> None:
        """Refuse."""
        del value
        raise RuntimeError("MPI must be called by the rank's own process, got a call in one that it forked")

    def close(self) -> None:
        """Do nothing."""


_CUT = _Cut()


class Port:
    """The only way from a rank to the kernel.

    Attributes:
        rank: Number of this rank in the program, spawned worlds included.
        region: Index of the present region; 0 is outside any.
        rate: Speed (flop/s) that turns declared operations into bursts, or ``None``: bursts are measured.
        serve: Answers another rank's request while this one waits, from its payload; set where this rank
            exposes memory.
    """

    def __init__(self, arena: Arena) -> None:
        self.rank = 0
        self.region = 0
        self.rate: float | None = None
        self.serve: Callable[[Any], Any] | None = None
        self._channel: Channel = _CUT
        self._arena = arena
        self._lock = RLock()
        self._depth = 0
        self._burst = 0
        self._last = LastCall([])
        self._queue: list[tuple[Any, ...]] = []
        self._bytes = 0
        self._lines: dict[tuple[int, int], int] = {}
        self._floor = 0
        self._regions: dict[str, int] = {"": 0}
        #: Name of the present region, and names of those around it.
        self._name = ""
        self._nested: list[str] = []

    def begin(self, channel: Channel, rank: int, rate: float | None) -> None:
        """Become the port of a rank."""
        self.rank = rank
        self.rate = rate
        self._channel = channel

    # -- bursts -------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Begin a call of MPI: the burst before it ends. Calls within a call belong to it."""
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1 and self.rate is None:
            self._add_burst(thread_time_ns() - self._last.at[0])

    def _add_burst(self, nanoseconds: int) -> None:
        if nanoseconds > self._floor:
            self._burst += nanoseconds - self._floor

    def close(self) -> None:
        """End a call of MPI: the next burst begins."""
        self._depth -= 1
        if self._depth == 0:
            self._last.at[0] = thread_time_ns()
        self._lock.release()

    def outside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Keep the time in a function out of the bursts around it.

        This inlines :meth:`open` and :meth:`close`. Here and in :meth:`ask` every function call is expensive: with many
        ranks, caches are cold when a rank's turn comes.
        """
        acquire, release, clock, last = self._lock.acquire, self._lock.release, thread_time_ns, self._last

        def called(*args: Any, **kwargs: Any) -> Any:
            acquire()
            depth = self._depth
            self._depth = depth + 1
            if not depth and self.rate is None:
                self._add_burst(clock() - last.at[0])
            try:
                return function(*args, **kwargs)
            finally:
                self._depth = depth
                if not depth:
                    last.at[0] = clock()
                release()

        return called

    def calibrate(self) -> None:
        """Measure the shortest burst, that of immediately repeated calls, to subtract it from all bursts."""
        bursts = []
        for _ in range(52):
            with self:
                bursts.append(self._burst)
                self._burst = 0
        self._floor = sorted(bursts[1:])[25]

    def work(self, function: Callable[..., Any], *args: Any) -> Any:
        """Do the program's own work within a call, such as pickling: it belongs to the next op's burst."""
        begin = thread_time_ns()
        try:
            return function(*args)
        finally:
            self.charge(thread_time_ns() - begin)

    def charge(self, nanoseconds: int) -> None:
        """Add CPU time spent within a call to the next op's burst."""
        if self.rate is None:
            self._burst += nanoseconds

    def enter_region(self, name: str) -> None:
        """Begin a region inside the present one."""
        with self:
            self._end_burst()
            if name not in self._regions:
                self._regions[name] = self.ask(_REGION, payload=name)
            self._nested.append(self._name)
            self._name, self.region = name, self._regions[name]

    def leave_region(self, flops: float) -> None:
        """End the present region; ``flops`` are its operations, if the program declares them.

        Within a call they count only if declared operations are what takes time: measured time there is no burst.
        """
        with self:
            if self.rate is not None:
                self._burst += round(flops / self.rate * 1e9)
            self._end_burst()
            if flops and (self._depth == 1 or self.rate is not None):
                self._queue.append((_WORK, 0, self.region, -1, 0, 0, round(flops), -1, 0, (), None, -1))
            self._name = self._nested.pop() if self._nested else ""
            self.region = self._regions[self._name]

    def __enter__(self) -> None:
        self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end_burst(self) -> None:
        if self._burst:
            self.tell(_COMPUTE, payload=self._name)

    # -- ops ----------------------------------------------------------------------------------------------

    def tell(
        self,
        op: int,
        *,
        peer: int = PROC_NULL,
        tag: int = 0,
        context: int = 0,
        nbytes: int = 0,
        request: int = NO_REQUEST,
        flags: int = 0,
        entries: Sequence[Any] = (),
        payload: Payload = None,
    ) -> None:
        """Tell the kernel of an op; it arrives there with the next op that is asked."""
        burst = 0
        if op not in _TIMELESS:
            burst, self._burst = self._burst, 0
        self._queue.append((op, burst, self.region, peer, tag, context, nbytes, request, flags, entries, payload, -1))
        self._bytes += nbytes
        if len(self._queue) >= _OPS or self._bytes >= _BYTES:
            self.ask(_WTIME)

    def ask(
        self,
        op: int,
        *,
        peer: int = PROC_NULL,
        tag: int = 0,
        context: int = 0,
        nbytes: int = 0,
        request: int = NO_REQUEST,
        flags: int = 0,
        entries: Sequence[Any] = (),
        payload: Payload = None,
    ) -> Any:
        """Ask the kernel for an op: sleep until it is over in virtual time, and return the kernel's answer."""
        burst = 0
        if op not in _TIMELESS:
            burst, self._burst = self._burst, 0
        line, channel, calls = self._line(), self._channel, self._queue
        calls.append((op, burst, self.region, peer, tag, context, nbytes, request, flags, entries, payload, line))
        self._queue, self._bytes = [], 0
        try:
            channel.send(calls)
            serving, answer = channel.receive()
            while serving:
                channel.send(self._served(answer))
                serving, answer = channel.receive()
        except (EOFError, BrokenPipeError):
            # The kernel has ended, and has reported why.
            os._exit(1)
        return answer

    def _served(self, asked: Any) -> Any:
        """Answer the kernel while this rank waits: serve another rank's request, or (``None``) count the threads."""
        if asked is None:
            return active_count()
        assert self.serve is not None
        return self.serve(asked)

    def _line(self) -> int:
        """Return the number of the program's line that made the present call, after telling it to the kernel."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename in _OURS:
            frame = frame.f_back
        if frame is None:
            return -1
        # Finding the line takes long in a large function, so the instruction is the key.
        index = self._lines.get((id(frame.f_code), frame.f_lasti))
        return self._new_line(frame) if index is None else index

    def _new_line(self, frame: FrameType) -> int:
        index = self._lines[id(frame.f_code), frame.f_lasti] = len(self._lines)
        place = frame.f_code.co_filename, frame.f_lineno
        self._queue.append((_LINE, 0, 0, -1, 0, 0, 0, index, 0, (), place, -1))
        return index

    def part(self, op: int, *, nbytes: int = 0, payload: Payload = None) -> None:
        """Tell the kernel the last op, which has no answer."""
        burst, self._burst = self._burst, 0
        self._queue.append((op, burst, self.region, PROC_NULL, 0, 0, nbytes, NO_REQUEST, 0, (), payload, self._line()))
        self._channel.send(self._queue)

    def cut(self) -> None:
        """End the conversation."""
        self._channel.close()
        self._channel, self._queue = _CUT, []

    def elsewhere(self) -> list[str]:
        """Return notes on measured computation that no burst contains."""
        return [] if self.rate is not None else self._last.elsewhere()

    def wait_for_start(self) -> Any:
        """Sleep until the kernel lets this rank begin; return its message."""
        _, answer = self._channel.receive()
        self.restart()
        return answer

    def restart(self) -> None:
        """Begin the first burst now."""
        self._burst = 0
        self._last.at[0] = thread_time_ns()

    # -- payloads -----------------------------------------------------------------------------------------

    def room(self, length: int, readers: int = 1) -> tuple[Payload, Any]:
        """Return a payload of ``length`` bytes for ``readers`` readers, and the memory to fill before sending it.

        The memory of a small payload is a ``bytearray`` that is the payload itself.
        """
        if length <= INLINE:
            inline = bytearray(length)
            return inline, inline
        block = self.block(length, readers)
        return block, self.view(block)

    def copy(self, data: memoryview) -> Payload:
        """Return a payload with these bytes."""
        length = data.nbytes
        if length <= INLINE:
            return data.tobytes()
        block = self.block(length, 1)
        self._arena.view(block[1], length)[:] = data
        return block

    def block(self, length: int, readers: int) -> Payload:
        """Return a payload of ``length`` bytes in shared memory."""
        return (0, self._arena.take(length, readers), length)

    def view(self, payload: Payload) -> Any:
        """Return a payload's bytes, valid until it is released."""
        if type(payload) is tuple:
            return self._arena.view(payload[1], payload[2])
        return payload if payload is not None else b""

    def release(self, payload: Payload) -> None:
        """Note that this rank has read a payload."""
        if type(payload) is tuple:
            self._arena.release(payload[1])
