"""Tables for spreadsheets and data frames."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as CSV (RFC 4180 with plain newlines); missing and unknown values are empty."""
    text = StringIO()
    columns = dict.fromkeys(column for row in rows for column in row)
    writer = csv.DictWriter(text, list(columns), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
