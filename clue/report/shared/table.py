"""The common style of clue's tables and blocks of text. It is independent of any subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, cast

from clue.printable import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table
    from rich.text import Text, TextType

#: Placeholder of a missing figure.
NONE = "–"
#: Room for text that can be wrapped, before a table is shown in parts, and the least room for the names of its rows.
_WRAPPED, _LEAST = 20, 12


def table(*columns: str, title: str = "", numbers: Sequence[str] = ()) -> Table:
    """Return an empty table; the columns named in ``numbers`` are aligned right and never wrapped."""
    new = _empty(heading(title) if title else None)
    for column in columns:
        number = column in numbers
        new.add_column(
            words(column),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="ellipsis" if number else "fold",
        )
    return new


def _empty(title: TextType | None) -> Table:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - loaded when needed
    from rich.table import Table  # noqa: PLC0415

    return Table(
        box=SIMPLE_HEAD,
        title=title,
        title_justify="left",
        header_style="bold",
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table that is shown in parts, each with the names of its rows, where there is no room for all its columns.

    Attributes:
        whole: The table.
        names: Number of first columns that name the rows.
        together: Number of last columns that stay in one part. If they leave too little room for the names, each of
            them is shown beside the first.
    """

    whole: Table
    names: int = 1
    together: int = 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the table, or its parts with an empty line between them."""
        widths = self._widths(console, options.max_width)
        parts = self._parts(widths, options.max_width)
        if len(parts) == 1:
            yield self.whole
            return
        least = self._least(widths)
        for k, part in enumerate(parts):
            if k:
                yield ""
            wide = sum(widths[i] for i in part) > options.max_width + len("  ") - least
            yield self._part([*range(self.names), *part], None if k else self.whole.title, wraps=wide)

    def _least(self, widths: Sequence[int]) -> int:
        """Return the least width of the names of rows, of which the last may be wrapped."""
        *others, name = widths[: self.names]
        return sum(others) + min(name, _LEAST + len("  "))

    def _widths(self, console: Console, most: int) -> list[int]:
        """Return the width of each column, with the space behind it."""
        return [
            min(
                max(console.measure(cell).maximum for cell in (each.header, *each.cells)),
                most if each.no_wrap else _WRAPPED,
            )
            + len("  ")
            for each in self.whole.columns
        ]

    def _parts(self, widths: Sequence[int], most: int) -> list[list[int]]:
        """Return the columns of each part, without those of the names."""
        last = len(widths) - self.together
        room = most + len("  ") - sum(widths[: self.names])
        together = [[*range(last, len(widths))]]
        if self.together > 1 and sum(widths[last:]) > most + len("  ") - self._least(widths):
            together = [[last, i] for i in range(last + 1, len(widths))]
        parts: list[list[int]] = []
        for unit in (*([i] for i in range(self.names, last)), *together):
            joined = list(dict.fromkeys((*(parts[-1] if parts else ()), *unit)))
            if not parts or sum(widths[i] for i in joined) > room:
                parts.append(unit)
            else:
                parts[-1] = joined
        return parts

    def _part(self, places: Sequence[int], title: TextType | None, *, wraps: bool) -> Table:
        """Return a part of the table, in which all columns are wrapped if there is too little room for the names.

        The lines of a cell stay beside those of the others: if they are wrapped, each makes a row of its own.
        """
        part = _empty(title)
        columns = [self.whole.columns[i] for i in places]
        for each in columns:
            overflow = "fold" if wraps else each.overflow
            part.add_column(each.header, justify=each.justify, no_wrap=each.no_wrap and not wraps, overflow=overflow)
        for row, cells in zip(self.whole.rows, zip(*(each.cells for each in columns), strict=True), strict=True):
            lines = _lines(cells) if wraps else [cells]
            for k, line in enumerate(lines, 1):
                part.add_row(*line, style=row.style, end_section=row.end_section and k == len(lines))
        return part


def _lines(cells: Sequence[RenderableType]) -> list[tuple[RenderableType, ...]]:
    """Return the lines of the cells of a row, each as cells."""
    lines = (cast("Text", cell).split("\n", allow_blank=True) for cell in cells)
    return list(zip_longest(*lines, fillvalue=""))


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
