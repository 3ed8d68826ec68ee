"""The time at which each thread's last MPI call ended."""

from __future__ import annotations

from threading import local


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
        known.append(self.at)
