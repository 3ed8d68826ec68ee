"""Tables for wikis, in the Markdown of GitHub and GitLab, with all text escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clue.printable import printable
from clue.report.shared.cells import cells_of

if TYPE_CHECKING:
    from rich.table import Table

#: Characters that Markdown interprets within a line.
_OBEYED = re.compile(r"([\\`*_\[\]<>|#~&$])")
#: Indents lines of a cell that begin with blanks, because they belong to the line above.
_INDENT = "&nbsp;"


def markdown_text(title: str, table: Table | None, beside: Mapping[str, Sequence[str]]) -> str:
    """Return a table as Markdown.

    Args:
        title: The title.
        table: The table, or ``None`` if there is nothing to show.
        beside: Lines that belong to the table, by their heading.
    """
    parts = [f"**{escaped(printable(title))}**\n", "" if table is None else _grid(table)]
    parts += [_list(heading, lines) for heading, lines in beside.items()]
    return "\n".join(part for part in parts if part)


def _grid(table: Table) -> str:
    cells = cells_of(table)
    rules = ["--:" if right else ":--" for right in cells.right]
    rows = [tuple(map(_cell, row)) for section in cells.sections for row in section]
    return "".join(f"| {' | '.join(row)} |\n" for row in [tuple(map(escaped, cells.columns)), rules, *rows])


def _cell(text: str) -> str:
    inner = text.lstrip()
    return _INDENT * (len(text) - len(inner)) + escaped(inner)


def _list(heading: str, lines: Sequence[str]) -> str:
    return f"{heading}:\n\n" + "".join(f"- {escaped(printable(line))}\n" for line in lines) if lines else ""


def escaped(text: str) -> str:
    """Return text with Markdown's special characters escaped."""
    return _OBEYED.sub(r"\\\1", text)
