"""How Python sessions and notebooks show clue's values, and data frames of pandas.

Values of several layers have these forms, so this module knows none of them: they pass words and columns.
Words come from traces and files of others: they are shown as text, never as HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from clue.errors import UsageError
from clue.printable import printable

if TYPE_CHECKING:
    import pandas

#: Maximum number of characters of a ``repr``.
_LONGEST = 200
#: Maximum number of rows of a table in a notebook.
MOST_ROWS = 20
_NUMBER = ' style="text-align: right"'
_WORDS = ' style="text-align: left"'


def short_repr(value: object, *words: str) -> str:
    """Return a short ``repr`` of one line: ``<Result: 7.993 ms, 2 ranks>``.

    Args:
        value: The value; the name of its class comes first.
        words: Words that distinguish it from others; empty ones are left out.
    """
    text = printable(", ".join(filter(None, words)))
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"<{type(value).__name__}: {shown}>" if shown else f"<{type(value).__name__}>"


def html(
    title: str,
    facts: Iterable[tuple[str, str]] = (),
    columns: Sequence[str] = (),
    rows: Sequence[Sequence[object]] = (),
    notes: Iterable[str] = (),
) -> str:
    """Return a value as a piece of HTML for notebooks: a title, facts, a table and notes; no scripts, no links.

    Args:
        title: Its title.
        facts: Names and values, one pair per line; those without a value are left out.
        columns: Headings of the table.
        rows: Its cells. If there are more than :data:`MOST_ROWS`, only the first are shown, with the number of all.
            Numbers, and text that begins with a digit, are aligned to the right.
        notes: What a reader must know beside the figures.
    """
    parts = [f"<strong>{_text(title)}</strong>"]
    if known := [(name, value) for name, value in facts if value]:
        lines = (f"<tr><th{_WORDS}>{_text(name)}</th><td{_WORDS}>{_text(value)}</td></tr>" for name, value in known)
        parts.append(f"<table>{''.join(lines)}</table>")
    if columns:
        parts.append(_table(columns, rows))
    if len(rows) > MOST_ROWS:
        parts.append(f"<p>The first {MOST_ROWS} of {len(rows):,} rows.</p>")
    if items := "".join(f"<li>{_text(note)}</li>" for note in notes):
        parts.append(f"<ul>{items}</ul>")
    return f"<div>{''.join(parts)}</div>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    shown = [[("" if cell is None else str(cell)) for cell in row] for row in rows[:MOST_ROWS]]
    numbers = [all(row[i][:1].isdigit() for row in shown if row[i]) for i in range(len(columns))]
    styles = [_NUMBER if number else _WORDS for number in numbers]
    head = "".join(f"<th{style}>{_text(name)}</th>" for name, style in zip(columns, styles, strict=True))
    body = "".join(f"<tr>{_cells(row, styles)}</tr>" for row in shown)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(row: Sequence[str], styles: Sequence[str]) -> str:
    return "".join(f"<td{style}>{_text(cell)}</td>" for cell, style in zip(row, styles, strict=True))


def _text(text: str) -> str:
    return escape(printable(text))


def data_frame(columns: Mapping[str, object]) -> pandas.DataFrame:
    """Return columns, each of which has an entry per row, as a data frame of pandas.

    Raises:
        UsageError: If pandas is not installed.
    """
    try:
        import pandas  # noqa: PLC0415 - an extra, and half a second
    except ImportError:
        raise UsageError('to_pandas needs pandas, which is not installed: pip install "clue[pandas]"') from None
    return pandas.DataFrame(dict(columns))


def frame_of(rows: Sequence[Mapping[str, object]]) -> pandas.DataFrame:
    """Return rows, whose columns may differ, as a data frame of pandas; what a row lacks is missing.

    Raises:
        UsageError: If pandas is not installed.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    frame = data_frame({name: [row.get(name) for row in rows] for name in names})
    # If some are missing, integers stay integers, and truth values stay truth values.
    kinds = {name: _kind({type(row[name]) for row in rows if row.get(name) is not None}) for name in names}
    return frame.astype({name: kind for name, kind in kinds.items() if kind and frame[name].isna().any()})


def _kind(types: set[type]) -> str:
    return "boolean" if types == {bool} else "Int64" if types == {int} else ""
