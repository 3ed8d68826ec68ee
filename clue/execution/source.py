"""A rank of a live run as the kernel sees it: a source of calls."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Callable, Iterable
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
        longer: Tells how much longer bursts have just taken than they count; left out, they count as measured.
    """

    def __init__(
        self,
        rank: int,
        channel: Channel,
        wait: Callable[[select.poll], None] | None = None,
        longer: Callable[[], float] | None = None,
    ) -> None:
        self.rank = rank
        self._wait = wait
        self._longer = longer
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
            queue.extend(self._scaled(self._channel.receive()))
        return Call._make(queue.popleft())

    def _scaled(self, calls: list[tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
        """Return calls with the bursts before them as they count, in whole ns; what took time takes at least 1 ns."""
        longer = 1.0 if self._longer is None else self._longer()
        if longer == 1.0:
            return calls
        return ((op, max(round(cpu / longer), cpu > 0), *rest) for op, cpu, *rest in calls)

    def serve(self, payload: Any) -> Any:
        """Let the virtual layer of the sleeping program serve another rank's request."""
        self._channel.send((True, payload))
        return self._channel.receive()

    def threads(self) -> int:
        """Return how many threads of Python the process has, which waits in one of them for an answer."""
        self._channel.send((True, None))
        threads: int = self._channel.receive()
        return threads
