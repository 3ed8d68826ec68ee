"""Where the calls of a live rank come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from clue.trace.calls import Call

#: A one-sided operation that is done: the rank that asked for it, its request there, and the reply.
Reply = tuple[int, int, Any]


class Source(Protocol):
    """A program that runs while the kernel waits, and waits while the kernel runs."""

    def resume(self, answer: object) -> Call:
        """Return its next call.

        The program runs only if it asked for an answer; what it told meanwhile comes call by call without it.

        Args:
            answer: To the call before, as :mod:`clue.trace.calls` says; ``None`` at first.
        """

    def serve(self, origin: int, request: int, payload: Any) -> Sequence[Reply]:
        """Let the waiting program do a one-sided operation of another rank; returns what is done by now."""


#: Starts the ranks of a world that was spawned: the world, its ranks, and what the root said; returns their sources.
Spawner = Callable[[int, Sequence[int], Any], Sequence[Source]]
#: What a burst takes: rank, index of its op in its rank, the call after it, with CPU time as measured; returns ns.
BurstRule = Callable[[int, int, Call], int]
