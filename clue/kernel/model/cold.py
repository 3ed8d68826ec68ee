"""Cold starts: how much longer a rank's bursts take because it has waited.

A wait is time between bursts that is not spent on messages: the rank is blocked in MPI, waits for its turn, or sleeps.
A rank's debt is the extra time due to all its waits since it last owed nothing, less the extra time that its bursts
have taken since then. A burst takes longer by the debt, up to a given share of its warm time; the next bursts pay the
rest. So a burst of a microsecond between two calls neither pays the whole debt nor makes the next burst warm.
"""

from __future__ import annotations

from collections.abc import Iterable

from clue.machine import ColdStart, Machine


class Cold:
    """How cold a rank is.

    Args:
        clock: When its program begins, seconds.
    """

    __slots__ = ("_clock", "_communicate", "_paid", "_waited")

    def __init__(self, clock: float = 0.0) -> None:
        self._clock = clock
        self._communicate = 0.0
        self._waited = 0.0
        self._paid = 0.0

    def begin(self, start: ColdStart, clock: float, communicate: float, seconds: float) -> float:
        """Return the extra time of a burst, seconds.

        Args:
            start: The cost of waits on this node at this time.
            clock: When the burst begins, seconds.
            communicate: Processor time that the rank has spent on messages until then, seconds.
            seconds: What the burst takes warm, on a processor of its own, seconds.
        """
        self._waited += max(0.0, (clock - self._clock) - (communicate - self._communicate))
        owed = max(0.0, start.after(self._waited) - self._paid)
        most = start.at_most * seconds
        if owed <= most:
            self._waited = self._paid = 0.0
            return owed
        self._paid += most
        return most

    def end(self, clock: float, communicate: float) -> None:
        """Note when a burst has ended, and what the rank had spent on messages."""
        self._clock, self._communicate = clock, communicate


def cold_types(machine: Machine) -> frozenset[str]:
    """Return the names of the node types on which waits cost something, at any time."""
    types = (each for state in machine.epochs for each in state.node_types().values())
    return frozenset(each.name for each in types if each.cold_start.is_stated)


def starts_cold(machine: Machine, nodes: Iterable[int]) -> bool:
    """Tell whether waits cost something on any of these nodes, at any time."""
    cold = cold_types(machine)
    return bool(cold) and any(machine.nodes[node].name in cold for node in frozenset(nodes))
