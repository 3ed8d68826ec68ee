"""Tests do not depend on how busy the computer is that runs them."""

from __future__ import annotations

from collections.abc import Iterable


def of_the_program(notes: Iterable[str]) -> list[str]:
    """Return the notes of a recording, without those about other processes on the computer."""
    return [note for note in notes if "recorded on a busy computer" not in note]
