"""A ranking as one page to decide from: a file that needs no network, for a browser, a mail or a printer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.purchase import Ranking, Scenario


def ranking_page(ranking: Ranking, scenario: Scenario, command: str, by: str) -> str:
    """Return a ranking as HTML.

    Args:
        ranking: What came out.
        scenario: What was asked.
        command: The command that gives it.
        by: What made it, with its version.
    """
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - loaded when needed

    from clue.files import read_text  # noqa: PLC0415 - the same
    from clue.report.page.content import content_of  # noqa: PLC0415 - matplotlib

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(read_text(Path(__file__).with_name("ranking.html")))
    return template.render(page=content_of(ranking, scenario, command, by)) + "\n"
