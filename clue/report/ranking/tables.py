"""Rankings as files for other programs: CSV for spreadsheets, LaTeX for papers, Markdown for wikis.

CSV holds figures with all their digits, in the units that its column names say. LaTeX and Markdown hold the very table
that a terminal shows (:mod:`clue.report.ranking.text`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clue.report.queue.document import figures_of_queue
from clue.report.ranking.document import place
from clue.report.ranking.text import how_sampled, later, not_ranked, ranking_table, ranking_title
from clue.report.shared.csv_text import Row, csv_text
from clue.report.shared.document import interval
from clue.report.shared.latex import latex_text
from clue.report.shared.markdown import markdown_text

if TYPE_CHECKING:
    from clue.purchase import Entry, Ranking, WorkloadOutcome
    from clue.uncertainty import Spread


def ranking_csv(ranking: Ranking) -> str:
    """Return the options of a ranking and how each workload ran as CSV."""
    return csv_text(*option_rows(ranking))


def ranking_latex(ranking: Ranking) -> str:
    """Return a ranking as a table of LaTeX, with what belongs to it as comments."""
    return latex_text(ranking_title(ranking), ranking_table(ranking), _beside(ranking))


def ranking_markdown(ranking: Ranking) -> str:
    """Return a ranking as Markdown, with what belongs to it."""
    return markdown_text(ranking_title(ranking), ranking_table(ranking), _beside(ranking))


def _beside(ranking: Ranking) -> dict[str, Sequence[str]]:
    """Return what a reader must know beside the table of a ranking, as the terminal shows it."""
    sampled = how_sampled(ranking)
    return {
        "Notes": [*([sampled] if sampled else []), *later(ranking)],
        "Not ranked": not_ranked(ranking),
        "Warnings": ranking.warnings,
    }


def option_rows(ranking: Ranking) -> tuple[list[str], list[Row]]:
    """Return columns and rows of a ranking: a row for each workload of an option, one for an option without any."""
    rows = [row for entry in sorted(ranking.entries, key=place) for row in _entry_rows(entry, ranking)]
    return list(dict.fromkeys(column for row in rows for column in row)), rows


def _entry_rows(entry: Entry, ranking: Ranking) -> Iterator[Row]:
    unit = ranking.unit
    about: Row = {"position": entry.position, "option": entry.option, "machine": entry.machine}
    if entry.price is not None:
        about[f"price ({entry.price.currency})"] = entry.price.amount
    about |= {"affordable": entry.affordable, f"score ({unit})": entry.score}
    about |= _spread("score", unit, entry.spread)
    if entry.best is not None:
        about["best (share of samples)"] = entry.best
    if entry.bound is not None:
        about[f"score at best ({unit})"] = entry.bound
    for criterion, figure in entry.parts.items():
        about[f"weighted {criterion.value.replace('_', ' ')} ({ranking.weighted[criterion][1]})"] = figure
    about |= _queue(entry)
    about["reason"] = entry.reason
    yield from (about | _workload(each) for each in entry.workloads) if entry.workloads else [about]


def _queue(entry: Entry) -> Row:
    """Return the figures of a queue."""
    queue = entry.queue
    if queue is None:
        return {}
    units = {"waiting": "s", "waiting_median": "s", "waiting_95": "s", "throughput": "1/s"}
    figures = {} if queue.figures is None else figures_of_queue(queue.figures)
    named = {name: f"queue {name.replace('_', ' ')}{f' ({units[name]})' if name in units else ''}" for name in figures}
    return {
        "queue load": queue.load,
        **{named[name]: figure for name, figure in figures.items()},
        **({} if queue.errors is None else {"queue standard error of waiting (s)": queue.errors.waiting}),
        "queue throughput at most (1/s)": queue.most,
    }


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
