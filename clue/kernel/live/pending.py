"""Requests that only live runs have, and an event that the first of several causes triggers."""

from __future__ import annotations

from typing import Any

import simpy


class Bell(simpy.Event):
    """An event that the first of several causes triggers."""

    def succeed(self, value: Any = None) -> simpy.Event:
        """Trigger the event, unless it has already been triggered."""
        return self if self.triggered else super().succeed(value)


class Settled:
    """A request that has ended without a message: a cancelled receive.

    Attributes:
        end: When it ended, seconds.
        outcome: Its outcome, for the program.
        waiter: No rank waits for it.
    """

    def __init__(self, end: float, outcome: Any) -> None:
        self.end: float | None = end
        self.outcome = outcome
        self.waiter: simpy.Event | None = None
