"""Rankings as files for other programs: CSV for spreadsheets, LaTeX for papers, Markdown for wikis.

CSV has figures with all their digits, in the units stated in its column names. LaTeX and Markdown have the same table
as the terminal (:mod:`clue.report.ranking.text`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clue.report.ranking.text import how_sampled, later, not_ranked, ranking_table, ranking_title
from clue.report.shared.csv_text import csv_text
from clue.report.shared.latex import latex_text
from clue.report.shared.markdown import markdown_text

if TYPE_CHECKING:
    from clue.purchase import Ranking


def ranking_csv(ranking: Ranking) -> str:
    """Return the options of a ranking and how each workload ran as CSV."""
    return csv_text(ranking.rows())


def ranking_latex(ranking: Ranking) -> str:
    """Return a ranking as a table of LaTeX, with its remarks as comments."""
    return latex_text(ranking_title(ranking), ranking_table(ranking), _beside(ranking))


def ranking_markdown(ranking: Ranking) -> str:
    """Return a ranking as Markdown, with its remarks."""
    return markdown_text(ranking_title(ranking), ranking_table(ranking), _beside(ranking))


def _beside(ranking: Ranking) -> dict[str, Sequence[str]]:
    """Return the remarks that belong to the table of a ranking, as the terminal shows them."""
    sampled = how_sampled(ranking)
    return {
        "Notes": [*([sampled] if sampled else []), *later(ranking)],
        "Not ranked": not_ranked(ranking),
        "Warnings": ranking.warnings,
    }
