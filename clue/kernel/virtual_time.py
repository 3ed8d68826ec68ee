"""SimPy's environment with the one thing the model needs beyond it: events at exact times, ties by rank."""

from __future__ import annotations

from heapq import heappush

import simpy

from clue.errors import ReplayError

#: SimPy's own events (a wait that ends because its outcome became known) run before any action of the same time.
_FIRST_RANK_PRIORITY = 2


class VirtualTime(simpy.Environment):
    """Virtual time in seconds.

    SimPy schedules by delay, and ``now + (t - now)`` is not always ``t``: a rank that runs ahead of the clock must come
    back at exactly its own time, or two engines could not agree to the last bit. Events of one time are processed by
    (rank, serial number), which is the tie rule of the model.
    """

    def at(self, time: float, rank: int) -> simpy.Event:
        """Return an event that happens at a time, for a rank.

        Raises:
            ReplayError: If the time has passed: virtual time never runs backwards.
        """
        if time < self._now:
            raise ReplayError(f"virtual time must not run backwards: rank {rank} asked for {time} at {self._now}")
        event = simpy.Event(self)
        event._ok, event._value = True, None
        heappush(self._queue, (time, _FIRST_RANK_PRIORITY + rank, next(self._eid), event))  # type: ignore[misc]
        return event
