"""Messages that carry data, and requests that no replay knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import simpy

from clue.kernel.reference.matching import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from clue.kernel.live.mailboxes import Box


class LiveMessage(Message):
    """A message with what it carries.

    Attributes:
        tag: Its tag.
        payload: What the program put into it.
        box: Where it waits for its receive; ``None`` for one that no receive takes.
        landed: What to do once its arrival is known.
    """

    __slots__ = ("box", "landed", "payload", "tag")

    def __init__(self, source: int, dest: int, nbytes: int, ready: float, order: int) -> None:
        super().__init__(source, dest, nbytes, ready, order)
        self.tag = 0
        self.payload: Any = None
        self.box: Box | None = None
        self.landed: Callable[[], None] | None = None


class Bell(simpy.Event):
    """An event that any of several things may bring about, the first of them."""

    def succeed(self, value: Any = None) -> simpy.Event:
        """Happen, unless it has happened."""
        return self if self.triggered else super().succeed(value)


class Settled:
    """A request that ends without a message: a cancelled receive, or the reply to a one-sided operation.

    Attributes:
        end: When it is complete, seconds, or ``None`` while that is open.
        outcome: What the program is told of it.
        waiter: Event of a rank that waits for the end.
    """

    def __init__(self, end: float | None = None, outcome: Any = None) -> None:
        self.end = end
        self.outcome = outcome
        self.waiter: simpy.Event | None = None

    def settle(self, end: float, outcome: Any) -> None:
        """Note its end."""
        self.end, self.outcome = end, outcome
        if self.waiter is not None:
            self.waiter.succeed()
            self.waiter = None
