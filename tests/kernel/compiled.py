"""The compiled engine, as a process finds it."""

from __future__ import annotations

from clue.kernel.fast import library


def forget() -> None:
    """Let this process look for the engine as a new one does."""
    for each in (library._found, library._shipped, library._background):
        each.cache_clear()
