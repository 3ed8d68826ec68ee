"""The steps of an actor, and the causes that ended its waits: enough to walk back along the critical path.

A history is kept only on request (:class:`clue.kernel.model.observation.Observation`); the walk is in
:mod:`clue.kernel.reference.critical_path`.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from clue.result import Activity

#: Begin and end (seconds), activity, details, and the number of the call site. The details are a :class:`Computed` for
#: a computation; an :class:`Awaited` for a wait, or a mark that it is a sleep; for a send or receive the message whose
#: data leave, the :class:`clue.result.Part` of the critical path that it belongs to, or ``None``.
Step = tuple[float, float, Activity, object, int]
#: Steps of an actor in order, without gaps; no step is empty.
History = list[Step]
#: An actor: rank among all instances, and 0 for the rank itself or i for its i-th nonblocking collective.
Who = tuple[int, int]


class Until(Enum):
    """The event that ended a wait, among those of the object that the actor waited for."""

    #: A receive: its message has arrived. A send: its message has gone. A nonblocking collective: it is done.
    DONE = "done"
    #: The data of a rendezvous start to leave.
    LEAVES = "leaves"
    #: A probe can see the message.
    ENVELOPE = "envelope"
    #: The rank of a nonblocking collective is within a call again.
    CALL = "call"


class Computed(NamedTuple):
    """A computation.

    Attributes:
        region: Index of its region.
        alone: How long it would have taken on a processor of its own, seconds.
        cold: How much of that it took because its rank had waited, seconds.
    """

    region: int
    alone: float
    cold: float = 0.0


class Awaited(NamedTuple):
    """The cause that ended a wait.

    Attributes:
        what: A message or receive, a nonblocking collective, or a :class:`Spawned`; an actor itself until it can go on.
        until: Which event of it.
    """

    what: object
    until: Until


class Spawned(NamedTuple):
    """A Spawn that others waited for.

    Attributes:
        rank: Who spawned, among all instances.
        time: When it was done, seconds.
    """

    rank: int
    time: float
