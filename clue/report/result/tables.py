"""The figures of a simulation as files for other programs: CSV for spreadsheets, LaTeX for papers, Markdown for wikis.

CSV has figures with all their digits, in the units stated in its column names. LaTeX and Markdown have the same table
as the terminal (:mod:`clue.report.result.text`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.result.text import figures_of, ranks_table
from clue.report.shared.csv_text import csv_text
from clue.report.shared.latex import latex_text
from clue.report.shared.markdown import markdown_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clue.result import Result
    from clue.steady import Steady
    from clue.uncertainty import Sampled


def result_csv(result: Result) -> str:
    """Return the figures of each rank of a simulation as CSV."""
    return csv_text(result.rows())


def result_latex(result: Result, title: str, sampled: Sampled | None = None, steady: Steady | None = None) -> str:
    """Return the figures of each rank as a table of LaTeX; those of the whole run, and warnings, are comments."""
    return latex_text(title, ranks_table(result), _beside(result, sampled, steady))


def result_markdown(result: Result, title: str, sampled: Sampled | None = None, steady: Steady | None = None) -> str:
    """Return the figures of each rank as Markdown, with those of the whole run, and warnings."""
    return markdown_text(title, ranks_table(result), _beside(result, sampled, steady))


def _beside(result: Result, sampled: Sampled | None, steady: Steady | None) -> dict[str, Sequence[str]]:
    whole = [f"{name}: {text}" for name, text in figures_of(result, sampled, steady) if text]
    return {"Whole run": whole, "Warnings": result.warnings}
