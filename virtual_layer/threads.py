"""The time at which each thread's last MPI call ended, and computation that no burst contains."""

from __future__ import annotations

from resource import RUSAGE_CHILDREN, getrusage
from threading import local
from time import process_time, thread_time_ns


class LastCall(local):
    """When the present thread's last MPI call ended; the interpreter makes one for each thread that asks.

    The ID of a thread cannot serve as a key, because a new thread may get the ID of one that has ended.

    Attributes:
        at: A list with the thread's CPU time then, ns; 0 before its first call.

    Args:
        known: A list to which the list ``at`` of each thread is added.
    """

    def __init__(self, known: list[list[int]]) -> None:
        self.at = [0]
        self._known = known
        known.append(self.at)

    def elsewhere(self) -> list[str]:
        """Return notes on computation outside the threads that called MPI: no burst contains it."""
        self.at[0] = thread_time_ns()
        whole, seen, started = process_time(), sum(at for (at,) in self._known) * 1e-9, getrusage(RUSAGE_CHILDREN)
        return [
            f"{what} used {apart:.3g} s of CPU time, which no burst contains"
            for what, apart in (
                ("other threads than those that call MPI", whole - seen),
                ("processes that the program started", started.ru_utime + started.ru_stime),
            )
            if apart > 0.2 and apart > 0.1 * whole
        ]
