"""The cells of a table for the terminal, for writing the table in other formats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


@dataclass(frozen=True, slots=True)
class Cells:
    """A table as text.

    Attributes:
        columns: Headings.
        right: Whether each column is aligned right, as numbers are.
        sections: Groups of rows that belong together; a row has one line of text for each column.
    """

    columns: tuple[str, ...]
    right: tuple[bool, ...]
    sections: tuple[tuple[tuple[str, ...], ...], ...]


def cells_of(table: Table) -> Cells:
    """Return the cells of a table; a row whose cells have several lines becomes a section with a row for each line."""
    columns = tuple(_plain(column.header) for column in table.columns)
    right = tuple(column.justify == "right" for column in table.columns)
    rows = zip(*(column.cells for column in table.columns), strict=True)
    return Cells(columns, right, tuple(tuple(_lines(row)) for row in rows))


def _lines(row: tuple[RenderableType, ...]) -> Iterator[tuple[str, ...]]:
    return zip_longest(*(_plain(cell).split("\n") for cell in row), fillvalue="")


def _plain(cell: RenderableType) -> str:
    """Return the text of a cell without its style."""
    return cell if isinstance(cell, str) else getattr(cell, "plain", "")
