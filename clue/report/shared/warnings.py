"""Warnings as a block of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clue.report.shared.table import bullets, words

if TYPE_CHECKING:
    from rich.console import RenderableType


def warnings_text(warnings: Sequence[str], title: str = "Warnings") -> RenderableType | None:
    """List warnings, each once, under a title; ``None`` if there are none."""
    if not warnings:
        return None
    from rich.console import Group  # noqa: PLC0415 - loaded when needed

    return Group(words(title, "bold yellow"), bullets(dict.fromkeys(warnings), "yellow"))
