"""Results as one page for a decision: a file that needs no network, for a browser, an e-mail or a printer.

The page of ``clue serve`` is the same, with figures that can be changed on it (:func:`live_page`).
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
    from clue.uncertainty import Sampled

_HERE = Path(__file__).parent
#: Files that the page of a server loads from it, with their media types.
FILES: Mapping[str, str] = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A figure on the page that can be changed.

    Attributes:
        name: Its name in requests.
        label: Its label for readers.
        text: Its stated text; empty: it is not stated.
        default: The value that holds if it is not stated.
        choices: Its possible values, if it is one of a few words.
        whole: Whether it must be a whole number.
    """

    name: str
    label: str
    text: str
    default: str = ""
    choices: tuple[str, ...] = ()
    whole: bool = False


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
        ranking: The ranking.
        scenario: The comparison.
        command: The command that makes the page.
        by: Name and version of the program that made it.
        explanation: The parameters on which the first place depends, if requested.
        watched: Result of each component on the first option, with a timeline; ``None`` if it has none.
    """
    from clue.report.page.content import content_of  # noqa: PLC0415 - matplotlib

    page = content_of(ranking, scenario, command, by, explanation, watched=watched)
    return _alone(page, *(["timeline.js"] if watched else []))


def result_page(
    result: Result, machine: Machine, title: str, command: str, by: str, *, sampled: Sampled | None = None
) -> str:
    """Return the simulation of one program, with its timeline, as HTML.

    Args:
        result: The simulation.
        machine: The machine.
        title: Title of the page.
        command: The command that makes the page.
        by: Name and version of the program that made it.
        sampled: Makespans of samples, if requested.
    """
    from clue.report.page.run import content_of  # noqa: PLC0415 - matplotlib

    return _alone(content_of(result, machine, title, command, by, sampled=sampled), "timeline.js")


def ranking_pieces(  # noqa: PLR0917 - what the page of a ranking takes
    ranking: Ranking,
    scenario: Scenario,
    command: str,
    by: str,
    changed: Sequence[str] = (),
    awaited: Sequence[str] = (),
) -> dict[str, str]:
    """Return the page of a ranking as pieces of HTML by their names, in order: the head, each section.

    Args:
        ranking: The ranking.
        scenario: The comparison.
        command: The command that makes the page with the figures of the file.
        by: Name and version of the program that made it.
        changed: Lines about figures that differ from those of the file.
        awaited: The parts that are still being computed, in words.
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
    """Return a page in one file, whose policy allows only its own style and scripts."""
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
