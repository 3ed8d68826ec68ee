"""Rankings and results as files for other programs: CSV for spreadsheets, LaTeX for papers, Markdown for wikis.

CSV holds figures with all their digits, in the units that its column names say. LaTeX and Markdown hold the very table
that a terminal shows (:mod:`clue.report.text`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.purchase import Ranking
    from clue.result import Result


def result_csv(result: Result) -> str:
    """Return the figures of each rank of a simulation as CSV."""
    from clue.report.tables.csv_text import csv_text, rank_rows  # noqa: PLC0415 - loaded when needed

    return csv_text(*rank_rows(result))


def ranking_csv(ranking: Ranking) -> str:
    """Return the options of a ranking and how each workload ran as CSV."""
    from clue.report.tables.csv_text import csv_text, option_rows  # noqa: PLC0415 - loaded when needed

    return csv_text(*option_rows(ranking))


def result_latex(result: Result, title: str) -> str:
    """Return the figures of each rank of a simulation as a table of LaTeX, with warnings as comments."""
    from clue.report.tables.latex import latex_text  # noqa: PLC0415 - loaded when needed
    from clue.report.text.result import ranks_table  # noqa: PLC0415 - loaded when needed

    return latex_text(title, ranks_table(result), {"Warnings": result.warnings})


def ranking_latex(ranking: Ranking) -> str:
    """Return a ranking as a table of LaTeX, with what belongs to it as comments."""
    from clue.report.tables.latex import latex_text  # noqa: PLC0415 - loaded when needed
    from clue.report.text.ranking import ranking_table, ranking_title  # noqa: PLC0415 - loaded when needed

    return latex_text(ranking_title(ranking), ranking_table(ranking), _beside(ranking))


def result_markdown(result: Result, title: str) -> str:
    """Return the figures of each rank of a simulation as Markdown, with warnings."""
    from clue.report.tables.markdown import markdown_text  # noqa: PLC0415 - loaded when needed
    from clue.report.text.result import ranks_table  # noqa: PLC0415 - loaded when needed

    return markdown_text(title, ranks_table(result), {"Warnings": result.warnings})


def ranking_markdown(ranking: Ranking) -> str:
    """Return a ranking as Markdown, with what belongs to it."""
    from clue.report.tables.markdown import markdown_text  # noqa: PLC0415 - loaded when needed
    from clue.report.text.ranking import ranking_table, ranking_title  # noqa: PLC0415 - loaded when needed

    return markdown_text(ranking_title(ranking), ranking_table(ranking), _beside(ranking))


def _beside(ranking: Ranking) -> dict[str, Sequence[str]]:
    """Return what a reader must know beside the table of a ranking, as the terminal shows it."""
    from clue.report.text.ranking import how_sampled, later, not_ranked  # noqa: PLC0415 - loaded when needed

    sampled = how_sampled(ranking)
    return {
        "Notes": [*([sampled] if sampled else []), *later(ranking)],
        "Not ranked": not_ranked(ranking),
        "Warnings": ranking.warnings,
    }
