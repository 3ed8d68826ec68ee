"""Progress reports of long work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

#: Callback for progress: what is being done, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]


class Reporter(Protocol):
    """Callback for progress that need not be told how much is done."""

    def __call__(self, what: str, done: int = 0, total: int = 0) -> None:
        """Report."""


def silent(what: str, done: int = 0, total: int = 0) -> None:
    """Report nothing."""
