"""Results as files for other programs: tables, and timelines."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clue import __version__
from clue.cli.terminal import Volume, check_different, output_file, say
from clue.explain import RankingExplanation
from clue.files import write_texts
from clue.machine import Machine
from clue.purchase import Ranking, Scenario
from clue.purchase.questions.answers import Answers
from clue.report.answers.document import answers_csv
from clue.report.page import ranking_page, result_page
from clue.report.ranking.tables import ranking_csv, ranking_latex, ranking_markdown
from clue.report.result.tables import result_csv, result_latex, result_markdown
from clue.report.timeline import form_of
from clue.result import Result

if TYPE_CHECKING:
    from clue.steady import Steady
    from clue.uncertainty import Sampled

#: Options that name the file of a table, or of a page.
_TABLES = ("csv", "latex", "markdown", "html", "answers")
#: Name of the generator on pages.
_BY = f"clue {__version__}"


def check_files(arguments: argparse.Namespace, read: Iterable[Path]) -> None:
    """Check before any long work that the requested files can be written; create their folders.

    Args:
        arguments: The parsed arguments.
        read: Files and folders that the command reads.

    Raises:
        UsageError: If one of them cannot be created or is read, a name matches no format of a timeline, or one would
            replace another output.
    """
    asked = [(f"--{option}", path) for option, path in _tables(arguments).items()]
    if arguments.trace_out is not None:
        path = Path(arguments.trace_out)
        asked += [("--trace-out", each) for each in form_of(path).files(path)]
    check_different(asked, arguments.plots)
    known = set(read) if asked else set()
    for _, path in asked:
        output_file(path, known)


def write_result(
    result: Result,
    machine: Machine,
    title: str,
    arguments: argparse.Namespace,
    *,
    sampled: Sampled | None = None,
    steady: Steady | None = None,
) -> None:
    """Write the requested tables and page of a simulation, and say so."""
    texts = {
        "csv": lambda: result_csv(result),
        "latex": lambda: result_latex(result, title, sampled, steady),
        "markdown": lambda: result_markdown(result, title, sampled, steady),
        "html": lambda: result_page(result, machine, title, arguments.typed, _BY, sampled=sampled),
    }
    _write(texts, arguments)


def write_ranking(
    ranking: Ranking,
    scenario: Scenario,
    arguments: argparse.Namespace,
    explanation: RankingExplanation | None = None,
    watched: Sequence[tuple[str, Result | None]] = (),
) -> None:
    """Write the requested tables and page of a ranking, and say so; write none if it was interrupted."""
    if ranking.interrupted:
        missing = [str(path) for path in _tables(arguments).values()]
        say([f"interrupted: {path} is not written" for path in missing], "clue: ", at=Volume.ERRORS)
        return
    texts = {
        "csv": lambda: ranking_csv(ranking),
        "latex": lambda: ranking_latex(ranking),
        "markdown": lambda: ranking_markdown(ranking),
        "answers": lambda: answers_csv(ranking),
        "html": lambda: ranking_page(ranking, scenario, arguments.typed, _BY, explanation, watched=watched),
    }
    _write(texts, arguments)
    if arguments.answers is not None and ranking.answers == Answers():
        asked = "ask by a deadline, runs a month or next, with prices, or by bought and rented options"
        say([f"{arguments.answers}: no answers, only a header: {asked}"], prefix="clue: warning: ")


def _tables(arguments: argparse.Namespace) -> dict[str, Path]:
    """Return the requested files of tables and of the page."""
    names = {option: getattr(arguments, option) for option in _TABLES}
    return {option: Path(name) for option, name in names.items() if name is not None}


def _write(texts: dict[str, Callable[[], str]], arguments: argparse.Namespace) -> None:
    files = {path: texts[option]() for option, path in _tables(arguments).items()}
    write_texts(files)
    say([f"wrote {path}" for path in files])
