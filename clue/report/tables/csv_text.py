"""Tables for spreadsheets and data frames: a row a rank, or a row for each workload on each option."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from clue.report.document import interval, place

if TYPE_CHECKING:
    from clue.purchase import Entry, Ranking, WorkloadOutcome
    from clue.result import Result
    from clue.uncertainty import Spread

Row = dict[str, object]
_RANK_UNITS = {"rank": "", "node": "", "finish": "s", "compute": "s", "communicate": "s", "wait": "s"}


def csv_text(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """Return rows as CSV (RFC 4180 with plain newlines); what a row lacks, and what is not known, is empty."""
    text = StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def rank_rows(result: Result) -> tuple[list[str], Iterator[Row]]:
    """Return columns and rows of a simulation: the figures of :class:`clue.result.RankResult`."""
    columns = {name: f"{name} ({unit})" if unit else name for name, unit in _RANK_UNITS.items()}
    rows = ({column: getattr(rank, name) for name, column in columns.items()} for rank in result.ranks)
    return list(columns.values()), rows


def option_rows(ranking: Ranking) -> tuple[list[str], list[Row]]:
    """Return columns and rows of a ranking: a row for each workload of an option, one for an option without any."""
    rows = [row for entry in sorted(ranking.entries, key=place) for row in _entry_rows(entry, ranking.unit)]
    return list(dict.fromkeys(column for row in rows for column in row)), rows


def _entry_rows(entry: Entry, unit: str) -> Iterator[Row]:
    about: Row = {"position": entry.position, "option": entry.option, "machine": entry.machine}
    if entry.price is not None:
        about[f"price ({entry.price.currency})"] = entry.price.amount
    about |= {"affordable": entry.affordable, f"score ({unit})": entry.score}
    about |= _spread("score", unit, entry.spread)
    if entry.best is not None:
        about["best (share of samples)"] = entry.best
    if entry.bound is not None:
        about[f"score at best ({unit})"] = entry.bound
    about["reason"] = entry.reason
    yield from (about | _workload(each) for each in entry.workloads) if entry.workloads else [about]


def _workload(outcome: WorkloadOutcome) -> Row:
    row: Row = {
        "workload": outcome.workload,
        "instances": outcome.side_by_side,
        "ranks": outcome.ranks,
        "turns": outcome.turns,
        "idle processors": outcome.idle,
        "makespan (s)": outcome.makespan,
        **_spread("makespan", "s", outcome.spread),
        "throughput (1/s)": outcome.throughput,
    }
    return row if outcome.points is None else row | {"points": outcome.points}


def _spread(name: str, unit: str, spread: Spread | None) -> Row:
    """Return the ends of an interval, and its median."""
    return {} if spread is None else {f"{name} {which} ({unit})": time for which, time in interval(spread).items()}
