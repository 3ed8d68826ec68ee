"""What clue found as one page to decide from: a file that needs no network, for a browser, a mail or a printer.

The page of ``clue serve`` is the same one, with figures that can be changed on it (:func:`live_page`).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from clue.files import read_text

if TYPE_CHECKING:
    from jinja2 import Environment

    from clue.explain import RankingExplanation
    from clue.machine import Machine
    from clue.purchase import Ranking, Scenario
    from clue.report.page.parts import Page
    from clue.result import Result

_HERE = Path(__file__).parent
#: What the page of a server loads from it, and of which kind it is.
FILES: Mapping[str, str] = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A figure on the page that can be changed.

    Attributes:
        name: What it is called where it is changed.
        label: What a reader calls it.
        text: As it is stated; empty: it is not.
        default: What counts where it is not.
        choices: What it may be, where that is one of a few words.
    """

    name: str
    label: str
    text: str
    default: str = ""
    choices: tuple[str, ...] = ()


#: Figures in groups, with the heading of each.
Fields = Sequence[tuple[str, Sequence[Field]]]


def ranking_page(
    ranking: Ranking,
    scenario: Scenario,
    command: str,
    by: str,
    explanation: RankingExplanation | None = None,
    *,
    watched: Sequence[tuple[str, Result | None]] = (),
) -> str:
    """Return a ranking as HTML.

    Args:
        ranking: What came out.
        scenario: What was asked.
        command: The command that gives it.
        by: What made it, with its version.
        explanation: What the first place depends on, if that was asked for.
        watched: What each component runs on the option that comes first, with a timeline; ``None`` where it has none.
    """
    from clue.report.page.content import content_of  # noqa: PLC0415 - matplotlib

    page = content_of(ranking, scenario, command, by, explanation, watched=watched)
    return _alone(page, *(["timeline.js"] if watched else []))


def result_page(result: Result, machine: Machine, title: str, command: str, by: str) -> str:
    """Return the simulation of one program, which has a timeline, as HTML; of what :func:`ranking_page` takes."""
    from clue.report.page.run import content_of  # noqa: PLC0415 - matplotlib

    return _alone(content_of(result, machine, title, command, by), "timeline.js")


def ranking_pieces(  # noqa: PLR0917 - what the page of a ranking takes
    ranking: Ranking,
    scenario: Scenario,
    command: str,
    by: str,
    changed: Sequence[str] = (),
    awaited: Sequence[str] = (),
) -> dict[str, str]:
    """Return what stands on the page of a ranking as pieces of HTML by their names, in order: the head, each section.

    Args:
        ranking: What came out.
        scenario: What was asked.
        command: The command that gives the page with the figures of the file.
        by: What made it, with its version.
        changed: Lines on figures that differ from those of the file.
        awaited: What is still being computed, in words.
    """
    from clue.report.page.content import content_of  # noqa: PLC0415 - matplotlib

    page = content_of(ranking, scenario, command, by, changed=changed, awaited=awaited)
    section = _environment().get_template("section.html")
    head = _environment().get_template("head.html").render(page=page)
    return {"head": head} | {each.name: section.render(section=each) for each in page.sections}


def live_page(ranking: Ranking, scenario: Scenario, command: str, by: str, fields: Fields) -> str:
    """Return the page of a server: a ranking, and figures that can be changed; its scripts are files of their own."""
    from clue.report.page.content import content_of  # noqa: PLC0415 - matplotlib

    frame = {"policy": "", "figures": fields}
    page = content_of(ranking, scenario, command, by)
    return _environment().get_template("page.html").render(page=page, frame=frame) + "\n"


def file_of_page(name: str) -> str:
    """Return one of :data:`FILES`."""
    return _text(name)


def _alone(page: Page, *scripts: str) -> str:
    """Return a page in one file, which allows nothing but its own style and scripts."""
    from markupsafe import Markup  # noqa: PLC0415 - loaded when needed

    style, script = _text("page.css"), "\n".join(map(_text, ("page.js", *scripts)))
    allowed = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    frame = {"policy": allowed, "figures": None, "style": Markup(style), "script": Markup(script)}
    return _environment().get_template("page.html").render(page=page, frame=frame) + "\n"


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _text(name: str) -> str:
    return read_text(_HERE / name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415 - loaded when needed

    return Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
