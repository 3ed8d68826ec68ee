"""The common style of clue's tables and blocks of text. It is independent of any subject."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from clue.report.shared.printable import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

#: Placeholder of a missing figure.
NONE = "–"


def table(*columns: str, title: str = "", numbers: Sequence[str] = ()) -> Table:
    """Return an empty table; the columns named in ``numbers`` are aligned right and never wrapped."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - loaded when needed
    from rich.table import Table  # noqa: PLC0415

    new = Table(
        box=SIMPLE_HEAD,
        title=heading(title) if title else None,
        title_justify="left",
        header_style="bold",
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for column in columns:
        number = column in numbers
        new.add_column(
            words(column),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="ellipsis" if number else "fold",
        )
    return new


def add_row(to: Table, *cells: object, style: str = "", end_section: bool = False) -> None:
    """Add a row whose cells are taken literally: ``[red]`` is a name, not a style. A tuple has the lines of a cell."""
    to.add_row(*map(_cell, cells), style=style or None, end_section=end_section)


def _cell(cell: object) -> Text:
    from rich.text import Text  # noqa: PLC0415

    return Text("\n").join(words(str(line)) for line in (cell if isinstance(cell, tuple) else (cell,)))


def words(text: str, style: str = "") -> Text:
    """Return text taken literally, on one line, with escapes for what is not printable."""
    from rich.text import Text  # noqa: PLC0415

    return Text(printable(text), style=style)


def heading(text: str) -> Text:
    """Return a heading."""
    return words(text, "bold")


def bullets(lines: Iterable[str], style: str = "") -> Table:
    """Return lines as a list whose continuation lines are indented."""
    from rich.table import Table  # noqa: PLC0415

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for line in lines:
        grid.add_row(words("-", style), words(line))
    return grid


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """Return names and their values, one pair per line, without those that have no value."""
    from rich.table import Table  # noqa: PLC0415

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        if value:
            grid.add_row(words(name, "dim"), words(value))
    return grid


def stack(*parts: RenderableType | None) -> RenderableType:
    """Put parts below each other with an empty line between them; leave out those that are ``None``."""
    from rich.console import Group  # noqa: PLC0415

    shown = [part for part in parts if part is not None]
    return Group(*(piece for part in shown for piece in ("", part)[part is shown[0] :]))
