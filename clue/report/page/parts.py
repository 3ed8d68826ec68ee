"""Parts of a page: sortable tables, lines of text, charts, a timeline; all made printable."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.metadata import version
from typing import ClassVar, TypeAlias

from clue.printable import printable
from clue.report.page.charts import Chart as Drawing
from clue.report.page.charts import Shape

#: Largest number of rows of a table: more are not readable.
MOST_ROWS = 200
_PACKAGES = ("numpy", "simpy", "mpi4py")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: Its text.
        value: Its value for sorting; ``None``: sorted by its text.
    """

    text: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table.

    Attributes:
        name: Its unique name on the page.
        title: Its heading.
        columns: Headings of columns, and whether they contain numbers.
        rows: Its rows.
        more: Number of rows that are not shown.
        caption: A remark below it, or nothing.
        keys: Subject of each row, if it is followed from one ranking to the next.
        is_part: Whether there are subjects that it does not list, besides the rows that are not shown.
    """

    kind: ClassVar[str] = "sheet"
    name: str
    title: str
    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[Cell, ...], ...]
    more: int = 0
    caption: str = ""
    keys: tuple[str, ...] = ()
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of text, with an optional sentence before them."""

    kind: ClassVar[str] = "lines"
    name: str
    title: str
    lines: tuple[str, ...] = ()
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart whose text is made printable."""

    kind: ClassVar[str] = "chart"
    name: str
    title: str
    words: str
    width: float
    height: float
    shapes: tuple[Shape, ...]
    legend: tuple[tuple[str, str], ...]
    caption: str
    dashes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TimelineData:
    """A timeline that can be enlarged.

    Attributes:
        name: Its unique name on the page.
        title: Its heading.
        words: Its description for screen readers.
        kinds: Kinds of segments, with their colours.
        data: The segments, as JSON.
        caption: A remark below it, or nothing.
    """

    kind: ClassVar[str] = "timeline"
    name: str
    title: str
    words: str
    kinds: tuple[tuple[str, str], ...]
    data: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Again:
    """How to reproduce the page: the command, and the program that made it."""

    kind: ClassVar[str] = "again"
    command: str
    versions: str
    name: str = "again"
    title: str = "How to get this page again"
    caption: str = ""


Section: TypeAlias = "Sheet | Lines | Picture | TimelineData | Again"


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page.

    Attributes:
        title: Its title.
        about: Its subject.
        decision: Its conclusion, in a sentence.
        sections: Its sections.
    """

    title: str
    about: str
    decision: str
    sections: tuple[Section, ...]

    def section(self, name: str) -> Section | None:
        """Return a section by its name; ``None`` if the page has none of that name."""
        return next((each for each in self.sections if each.name == name), None)


def sheet(  # noqa: PLR0917 - what a table has
    name: str, title: str, columns: Sequence[tuple[str, bool]], rows: Sequence[tuple[Cell, ...]], caption: str = "",
    keys: Sequence[str] = (),
) -> Sheet:  # fmt: skip
    """Return a table, cut if it is too long to be read."""
    shown = tuple(tuple(Cell(printable(cell.text), _finite(cell.value)) for cell in row) for row in rows[:MOST_ROWS])
    named = tuple((printable(column), number) for column, number in columns)
    of = tuple(map(printable, keys[:MOST_ROWS]))
    return Sheet(name, title, named, shown, max(0, len(rows) - MOST_ROWS), printable(caption), of)


def _finite(value: float | None) -> float | None:
    """Return a figure by which rows can be sorted: scripts know no infinite ones in the form that Python writes."""
    return value if value is not None and math.isfinite(value) else None


def lines(name: str, title: str, told: Iterable[str], caption: str = "") -> Lines:
    """Return lines of text."""
    return Lines(name, title, tuple(map(printable, told)), printable(caption))


def picture(chart: Drawing) -> Picture:
    """Return a chart as a part of a page."""
    shapes = tuple(
        Shape(each.tag, each.attributes, printable(each.text), printable(each.told)) for each in chart.shapes
    )
    legend = tuple((printable(name), colour) for name, colour in chart.legend)
    size = (chart.width, chart.height)
    caption = printable(chart.caption)
    return Picture(chart.name, chart.title, printable(chart.words), *size, shapes, legend, caption, chart.dashes)


def again(command: str, by: str) -> Again:
    """Return how to reproduce a page."""
    return Again(printable(command), f"{by}, {_made_with()}; {date.today():%Y-%m-%d}")


@cache
def _made_with() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return f"Python {platform.python_version()}, {packages}"
