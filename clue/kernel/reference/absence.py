"""When ranks are in no call that waits or tests: a library without a progress thread does nothing for them then."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class Absence:
    """When a rank is in no call that waits or tests.

    An absence lasts from the first burst, sleep or call of another kind after such a call to the next such call.

    Queries come in the order of virtual time, after all earlier events. A rank that is blocked then is within a call; a
    rank that has run ahead has noted its absences. At the instant at which an absence begins, the rank still counts as
    within the call: the event that lets it leave the call finds it there.
    """

    __slots__ = ("_began", "_noted", "_waiting")

    def __init__(self) -> None:
        self._noted: deque[tuple[float, float]] = deque()
        self._began = 0.0
        #: What is to happen at the end of the present absence; ``None`` if the rank is within a call.
        self._waiting: list[Callable[[float], object]] | None = None

    def begin(self, time: float) -> None:
        """Note that the rank computes, sleeps or only starts something; an absence under way continues."""
        if self._waiting is None:
            self._began, self._waiting = time, []

    def end(self, time: float) -> None:
        """Note that the rank makes a call that waits or tests, or ends."""
        if self._waiting is None:
            return
        waiting, self._waiting = self._waiting, None
        if time > self._began:
            self._noted.append((self._began, time))
        for happens in waiting:
            happens(time)

    def after(self, time: float, happens: Callable[[float], object]) -> None:
        """Do something at a time, or at the end of the absence that covers it."""
        while self._noted and self._noted[0][1] <= time:
            self._noted.popleft()
        if self._waiting is not None and self._began < time:
            self._waiting.append(happens)
        elif self._noted and self._noted[0][0] < time:
            happens(self._noted[0][1])
        else:
            happens(time)
