"""A rank of a live run as the kernel sees it: a source of calls."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Callable
from typing import Any

from clue.trace.calls import Call
from clue.trace.wire import Channel


class ProcessSource:
    """The calls of one rank process.

    Attributes:
        rank: Its rank.

    Args:
        rank: Its rank.
        channel: The way to it.
        wait: Waits until the channel is readable, or raises.
    """

    def __init__(self, rank: int, channel: Channel, wait: Callable[[select.poll], None] | None = None) -> None:
        self.rank = rank
        self._wait = wait
        self._channel = channel
        self._ready = select.poll()
        self._ready.register(channel.incoming, select.POLLIN)
        self._queue: deque[tuple[Any, ...]] = deque()

    def resume(self, answer: object) -> Call:
        """Return the next call; a program that waits for this answer is resumed.

        Raises:
            EOFError: If the process has disappeared.
            LiveError: If it makes no call for too long.
        """
        queue = self._queue
        if not queue:
            self._channel.send((False, answer))
            if self._wait is not None:
                self._wait(self._ready)
            queue.extend(self._channel.receive())
        return Call._make(queue.popleft())

    def serve(self, origin: int, serial: int, payload: Any) -> Any:
        """Let the virtual layer of the sleeping program serve another rank's request."""
        self._channel.send((True, (origin, serial, payload)))
        return self._channel.receive()
