"""SimPy's environment with the one thing the model needs beyond it: events at exact times, in the model's own order.

Events of one time are processed in the order (kind, rank, actor, serial), the tie rule of the model. It is a property
of the program, not of the order in which a simulation happens to work, so that every engine can keep it:

1. parameters of the machine change;
2. computation bursts on shared processors end, by rank;
3. ranks act, by rank: first the rank itself, then its messages in the order in which it began to send them (their data
   start, reach a port, enter or leave a link), then its nonblocking collectives one by one, each likewise;
4. the rates of flows are settled.
"""

from __future__ import annotations

from heapq import heappush

import simpy

from clue.errors import ReplayError

#: Offset of the model's order above SimPy's own priorities, 0 and 1: its own events (a wait that ends because its
#: outcome became known) come first at any time.
_FIRST = 2
_BURST, _ACTION, _SETTLE = (kind << 96 for kind in (1, 2, 3))

PARAMETERS_CHANGE = 0
ACTIONS_END = _SETTLE - 1
RATES_SETTLE = _SETTLE


def burst_end(rank: int) -> int:
    """Return the place of the end of a rank's burst among events of one time."""
    return _BURST | rank << 64


def action(rank: int, actor: int, serial: int = 0) -> int:
    """Return the place of an action among events of one time.

    Args:
        rank: Rank among all instances.
        actor: 0 for the rank itself, i for its i-th nonblocking collective.
        serial: 0 for the actor itself, i for the i-th message that it began to send.
    """
    return _ACTION | rank << 64 | actor << 32 | serial


def actor_of(order: int) -> tuple[int, int]:
    """Return the rank and the actor of an action or of a message, by its place: the inverse of :func:`action`."""
    return (order & (_ACTION - 1)) >> 64, order >> 32 & 0xFFFFFFFF


class VirtualTime(simpy.Environment):
    """Virtual time in seconds.

    SimPy schedules by delay, and ``now + (t - now)`` is not always ``t``: a rank that runs ahead of the clock must come
    back at exactly its own time, or two engines could not agree to the last bit.
    """

    def at(self, time: float, order: int) -> simpy.Event:
        """Return an event at a time, in its place among the events of that time.

        Raises:
            ReplayError: If the time has passed: virtual time never runs backwards.
        """
        if time < self._now:
            raise ReplayError(f"virtual time must not run backwards: {time} was asked for at {self._now}")
        event = simpy.Event(self)
        event._ok, event._value = True, None
        heappush(self._queue, (time, _FIRST + order, next(self._eid), event))  # type: ignore[misc]
        return event
