"""Read CSV files as documents that remember where each cell was written."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path

from clue.config.document import Document, Origin
from clue.config.document import Path as Steps
from clue.config.faults import did_you_mean
from clue.errors import ConfigError
from clue.files import not_text, read_text

#: Similarity from which a name counts as a misspelling of another.
_ALIKE = 0.8


def read_table(path: Path, columns: Sequence[str], row_of: Callable[[dict[str, str]], dict[str, object]]) -> Document:
    """Return a CSV file as a mapping of ``rows``, which knows the line and column of each cell.

    The first line names the columns, separated by commas, or by semicolons as some spreadsheets write them. Lines that
    are empty or begin with ``#`` are skipped.

    Args:
        path: The file.
        columns: Names of the columns that are read, at least one of which must exist; others are ignored, unless they
            look like one that is missing.
        row_of: Converts cells by column to a row.

    Raises:
        ConfigError: If the file cannot be read, has none of the columns, has a column that looks misspelt, or has a
            line with more cells than columns.
    """
    written = enumerate(_text(path).splitlines(), 1)
    lines = [(number, line) for number, line in written if line.strip() and not line.lstrip().startswith("#")]
    separator = ";" if lines and ";" in lines[0][1] and "," not in lines[0][1] else ","
    cells = [_cells(line, separator, f"{path}:{number}:1") for number, line in lines]
    if not cells or not set(cells[0]) & set(columns):
        got = ", ".join(cells[0]) if cells else "an empty file"
        first = lines[0][0] if lines else 1
        raise ConfigError(f"{path}:{first}:1: first line must name columns among {', '.join(columns)}, got {got}")
    head, rows = cells[0], list[object]()
    if twice := [column for column, times in Counter(head).items() if column and times > 1]:
        raise ConfigError(f"{path}:{lines[0][0]}:1: columns must have distinct names, got {twice[0]} twice")
    missing = [column for column in columns if column not in head]
    for column in head:
        if column not in columns and get_close_matches(column.lower(), missing, n=1, cutoff=_ALIKE):
            rule = f"column must not look like one that is missing, got {column}{did_you_mean(column, missing)}"
            raise ConfigError(f"{path}:{lines[0][0]}:1: {rule}")
    origins: dict[Steps, Origin] = {(): Origin(str(path), 1, 1, ()), ("rows",): Origin(str(path), 1, 1, ())}
    for (number, line), found in zip(lines[1:], cells[1:], strict=True):
        if len(found) > len(head):
            raise ConfigError(f"{path}:{number}:1: line must have at most {len(head)} cells, got {len(found)}")
        here: Steps = ("rows", len(rows))
        origins[here] = Origin(str(path), number, 1, ())
        starts = _starts(line, separator, len(found))
        for column, start in zip(head, starts, strict=False):
            origins[("rows", len(rows), column)] = Origin(str(path), number, start, (column,))
        rows.append(row_of(dict(zip(head, found, strict=False))))
    return Document({"rows": rows}, origins)


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}:{not_text(error)}") from None
    except OSError as error:
        raise ConfigError(f"{path}: file must be readable, got: {error.strerror or error}") from None


def _cells(line: str, separator: str, place: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader(io.StringIO(line), delimiter=separator), [])]
    except csv.Error as error:
        raise ConfigError(f"{place}: line must be comma-separated values, got: {error}") from None


def _starts(line: str, separator: str, cells: int) -> list[int]:
    """Return the text column at which each cell begins, from 1; always 1 if quotes hide separators."""
    if '"' in line:
        return [1] * cells
    starts = [1]
    for cell in line.split(separator)[:-1]:
        starts.append(starts[-1] + len(cell) + 1)
    return starts
