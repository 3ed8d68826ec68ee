"""Where the calls of a live rank come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from clue.trace.calls import Call


class Source(Protocol):
    """A program that runs while the kernel waits, and waits while the kernel runs."""

    def resume(self, answer: object) -> Call:
        """Return its next call.

        The program runs only if it waits for an answer; calls that it has already made are returned without running it.

        Args:
            answer: To the call before, as :mod:`clue.trace.calls` says; ``None`` at first.
        """

    def serve(self, payload: Any) -> Any:
        """Let the waiting program execute another rank's one-sided operation; return its outcome."""

    def threads(self) -> int:
        """Return how many threads the waiting program has; only one of them at a time can be in a call."""


#: Starts the ranks of a spawned world, given the world, its ranks and the root's payload; returns their sources.
Spawner = Callable[[int, Sequence[int], Any], Sequence[Source]]
#: Returns the duration of a burst, ns, given its rank, the index of its op, and the next call with the measured time.
BurstRule = Callable[[int, int, Call], int]
