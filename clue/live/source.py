"""A rank of a live run as the kernel sees it: a source of calls."""

from __future__ import annotations

from collections import deque
from typing import Any

from clue.trace.calls import Call
from clue.trace.wire import Channel


class ProcessSource:
    """The calls of one rank process."""

    def __init__(self, rank: int, channel: Channel) -> None:
        self.rank = rank
        self._channel = channel
        self._queue: deque[tuple[Any, ...]] = deque()

    def resume(self, answer: object) -> Call:
        """Return the next call; the program runs if it waits for this answer.

        Raises:
            EOFError: If the process is gone.
        """
        queue = self._queue
        if not queue:
            self._channel.send((False, answer))
            queue.extend(self._channel.receive())
        return Call._make(queue.popleft())

    def serve(self, origin: int, serial: int, payload: Any) -> Any:
        """Let the sleeping program's layer answer what another rank asks of it."""
        self._channel.send((True, (origin, serial, payload)))
        return self._channel.receive()
