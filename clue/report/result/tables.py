"""The figures of a simulation as files for other programs: CSV for spreadsheets, LaTeX for papers, Markdown for wikis.

CSV has figures with all their digits, in the units stated in its column names. LaTeX and Markdown have the same table
as the terminal (:mod:`clue.report.result.text`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.result.text import ranks_table
from clue.report.shared.csv_text import csv_text
from clue.report.shared.latex import latex_text
from clue.report.shared.markdown import markdown_text

if TYPE_CHECKING:
    from clue.result import Result


def result_csv(result: Result) -> str:
    """Return the figures of each rank of a simulation as CSV."""
    return csv_text(result.rows())


def result_latex(result: Result, title: str) -> str:
    """Return the figures of each rank of a simulation as a table of LaTeX, with warnings as comments."""
    return latex_text(title, ranks_table(result), {"Warnings": result.warnings})


def result_markdown(result: Result, title: str) -> str:
    """Return the figures of each rank of a simulation as Markdown, with warnings."""
    return markdown_text(title, ranks_table(result), {"Warnings": result.warnings})
