"""Tables in files have the figures of the tables in the terminal."""

from __future__ import annotations

from clue.report.ranking.tables import ranking_markdown
from clue.report.ranking.text import ranking_text
from clue.report.result.tables import result_markdown
from clue.report.result.text import result_text
from tests.report.cases import ranking, rendered, result


def test_figures_are_those_of_the_terminal() -> None:
    """Every cell of the Markdown table is also in the text."""
    for text, markdown in (
        (rendered(ranking_text(ranking()), 160), ranking_markdown(ranking())),
        (rendered(result_text(result()), 160), result_markdown(result(), "")),
    ):
        cells = [cell.strip() for line in markdown.splitlines()[4:] if line.startswith("|") for cell in line.split("|")]
        assert cells and all(cell.replace("&nbsp;", "") in text for cell in cells)
