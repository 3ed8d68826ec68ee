"""Tables for spreadsheets and data frames."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

Row = dict[str, object]


def csv_text(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """Return rows as CSV (RFC 4180 with plain newlines); missing and unknown values are empty."""
    text = StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
