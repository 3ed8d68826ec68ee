"""How busy the computer is that tests run on is not what they test."""

from __future__ import annotations

from collections.abc import Iterable


def of_the_program(notes: Iterable[str]) -> list[str]:
    """Return the notes of a recording that are not about other processes on the computer."""
    return [note for note in notes if "recorded on a busy computer" not in note]
