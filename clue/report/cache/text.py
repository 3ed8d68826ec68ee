"""The cache as text: its entries by program, with size and age."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clue.report.shared.table import NONE, add_row, heading, stack, table
from clue.units import format_size

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clue.cache import Item
    from clue.recording import Listed

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0


def cache_text(
    place: Path,
    recordings: Sequence[Listed],
    extrapolated: Sequence[Item],
    compiled: Sequence[Item],
    hosts: Sequence[Item],
) -> RenderableType:
    """Show the place, the size and the contents of the cache."""
    nbytes = sum(item.nbytes for item in (*(each.item for each in recordings), *extrapolated, *compiled, *hosts))
    return stack(
        heading(f"{place}: {format_size(nbytes)}"),
        _recordings(recordings) if recordings else None,
        _files("Extrapolated traces", extrapolated) if extrapolated else None,
        _files("Compiled code", compiled) if compiled else None,
        _files("How fast hosts are at their best", hosts) if hosts else None,
    )


def _recordings(recordings: Sequence[Listed]) -> Table:
    numbers = ("ranks", "recordings", "age", "size")
    shown = table("program", "arguments", *numbers, "folder", title="Recordings", numbers=numbers)
    for each in recordings:
        facts = each.facts
        add_row(
            shown,
            facts.program if facts else NONE,
            " ".join(facts.arguments) if facts else NONE,
            facts.ranks if facts else NONE,
            each.recordings,
            age(each.item.made),
            format_size(each.item.nbytes),
            each.item.path.name,
        )
    return shown


def _files(title: str, files: Sequence[Item]) -> Table:
    shown = table("file", "age", "size", title=title, numbers=("age", "size"))
    for item in files:
        add_row(shown, item.path.name, age(item.made), format_size(item.nbytes))
    return shown


def age(made: float, now: float | None = None) -> str:
    """Return how long ago something was made, in whole units."""
    seconds = max((time.time() if now is None else now) - made, 0.0)
    for unit, name in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        if seconds >= unit:
            count = int(seconds // unit)
            return f"{count} {name}{'s' * (count != 1)}"
    return "under a minute"
