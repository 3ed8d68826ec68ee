"""When ranks are not within calls of MPI: a library that has no thread of its own does nothing for them then."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class Absence:
    """When a rank is not within a call: from the first burst or sleep after a call to the next call.

    It is asked in the order of virtual time, when all that happens before has happened. A rank that is blocked then is
    within a call; one that has run ahead has noted its absences. When an absence begins the call still goes on: what
    comes at that very time, and lets its rank leave the call, finds it there.
    """

    __slots__ = ("_began", "_noted", "_waiting")

    def __init__(self) -> None:
        self._noted: deque[tuple[float, float]] = deque()
        self._began = 0.0
        #: What is to happen at the end of an absence under way; ``None`` if there is none.
        self._waiting: list[Callable[[float], None]] | None = None

    def begin(self, time: float) -> None:
        """Let the rank compute or sleep; an absence that is under way goes on."""
        if self._waiting is None:
            self._began, self._waiting = time, []

    def end(self, time: float) -> None:
        """Let the rank make a call, or end."""
        if self._waiting is None:
            return
        waiting, self._waiting = self._waiting, None
        if time > self._began:
            self._noted.append((self._began, time))
        for happens in waiting:
            happens(time)

    def after(self, time: float, happens: Callable[[float], None]) -> None:
        """Let something happen at a time, or at the end of an absence then."""
        while self._noted and self._noted[0][1] <= time:
            self._noted.popleft()
        if self._waiting is not None and self._began < time:
            self._waiting.append(happens)
        elif self._noted and self._noted[0][0] < time:
            happens(self._noted[0][1])
        else:
            happens(time)
