"""Tables that can be read on a narrow screen."""

from __future__ import annotations

import re

_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_HEADING = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
_ROW = re.compile(r"<tr[^>]*>.*?</tr>", re.DOTALL)
_CELL = re.compile(r"<td")


def labelled(page: str) -> str:
    """Give each cell of a page's tables the heading of its column, which site.css shows where cells are stacked."""
    return _TABLE.sub(lambda found: _with_labels(found[0]), page)


def _with_labels(table: str) -> str:
    names = [re.sub(r"<[^>]+>", "", name).strip().replace('"', "&quot;") for name in _HEADING.findall(table)]

    def row(found: re.Match[str]) -> str:
        left = iter(names)
        return _CELL.sub(lambda _: f'<td data-label="{next(left, "")}"', found[0])

    return _ROW.sub(row, table)
