"""Progress reports of long work."""

from __future__ import annotations

from collections.abc import Callable

#: Callback for progress: what is being done, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""
