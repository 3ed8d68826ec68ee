"""Requests that only live runs have, and an event that the first of several causes triggers."""

from __future__ import annotations

from typing import Any

import simpy

from clue.kernel.reference.virtual_machine import wake


class Bell(simpy.Event):
    """An event that the first of several causes triggers."""

    def succeed(self, value: Any = None) -> simpy.Event:
        """Trigger the event, unless it has already been triggered."""
        return self if self.triggered else super().succeed(value)


class Settled:
    """A request that ends without a message: a cancelled receive, or the reply to a one-sided operation.

    Attributes:
        end: When it is complete, seconds, or ``None`` while that is not known.
        outcome: Its outcome, for the program.
        waiter: Event of a rank that waits for the end.
    """

    def __init__(self, end: float | None = None, outcome: Any = None) -> None:
        self.end = end
        self.outcome = outcome
        self.waiter: simpy.Event | None = None

    def settle(self, end: float, outcome: Any) -> None:
        """Note when and with what outcome the request ends."""
        self.end, self.outcome = end, outcome
        wake(self)
