"""Learn the errors of predictions from tables of measured and predicted cases.

``python -m benchmarks.accuracy.learn TABLE.csv... [--column predicted] -o FILE``

A table has the columns ``program``, ``measured``, the column of the predictions, ``COLUMN_computation`` or else
``computation`` (the predicted computation of the rank that computes longest), all in seconds, and ``message`` (mean
message size, bytes). Cases with a column ``late`` above 0.05 are left out: their ranks lacked cores of the computer, so
they took longer than on the cluster that was emulated. ``benchmarks/accuracy/validation.csv`` is such a table, and
``python -m benchmarks.accuracy.unseen`` writes one. The shipped file is ``clue/config/model-error.yaml``. Also prints,
for each program, the share of its cases that lie within intervals learned from the other programs only.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.unseen.figures import LATE
from benchmarks.command import with_status
from clue.uncertainty.model_error import Character
from clue.validation.learning import Known, as_yaml, learn


@with_status
def main() -> None:
    """Learn the errors."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.learn", description=__doc__)
    parser.add_argument("tables", type=Path, nargs="+", metavar="TABLE.csv")
    parser.add_argument("--column", default="predicted", help="the one that has the predictions (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    source = f"{', '.join(table.name for table in asked.tables)}, column {asked.column}"
    today = datetime.date.today().isoformat()
    cases = [case for table in asked.tables for case in read(table, asked.column)]
    learned = learn(cases, source=source, date=today)
    inside = covered(cases)
    asked.output.write_text(as_yaml(learned))
    print(f"{learned.cases} cases; {inside:.0%} of them within the intervals that other programs give")


def read(table: Path, column: str) -> list[Known]:
    """Return the cases of a table whose ranks had cores of the computer."""
    with table.open(newline="") as rows:
        return [_case(row, column) for row in csv.DictReader(rows) if float(row.get("late", 0)) <= LATE]


def _case(row: dict[str, str], column: str) -> Known:
    predicted = float(row[column])
    own = f"{column}_computation"
    share = min(max(1 - float(row[own if own in row else "computation"]) / predicted, 0.0), 1.0)
    error = math.log(float(row["measured"]) / predicted)
    return Known(row["program"], error, Character(share, float(row["message"])))


def covered(cases: Sequence[Known]) -> float:
    """Return the share of cases that lie within intervals learned from the other programs."""
    inside = 0
    for program in {case.program for case in cases}:
        left_out = [case for case in cases if case.program == program]
        learned = learn([case for case in cases if case.program != program], source="", date="")
        inside += sum(abs(case.error) <= learned.of(case.character).reach for case in left_out)
    return inside / len(cases)


if __name__ == "__main__":
    sys.exit(main())
