"""Tables for spreadsheets and data frames."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO


def csv_text(rows: Sequence[Mapping[str, object]], columns: Sequence[str] = ()) -> str:
    """Return rows as CSV (RFC 4180 with plain newlines); missing and unknown values are empty.

    Args:
        rows: The rows, each a mapping by column.
        columns: Columns that come first, even if there are no rows.
    """
    text = StringIO()
    every = dict.fromkeys((*columns, *(column for row in rows for column in row)))
    writer = csv.DictWriter(text, list(every), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
