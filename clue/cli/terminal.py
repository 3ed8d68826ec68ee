"""Where output goes: results to standard output, progress and warnings to standard error, pictures to a folder."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from clue.cli.streams import tell
from clue.errors import UsageError
from clue.files import make_room
from clue.report.printable import printable
from clue.report.text.table import words

#: In JSON an escaped backslash, both halves of a character, or a half alone, which other readers refuse.
_HALVES = re.compile(r"\\\\|\\ud[89ab]..\\ud[c-f]..|\\(ud[89a-f]..)")
#: Tables keep this width where there is no terminal to measure.
_WIDTH_WITHOUT_TERMINAL = 120


class Report(Protocol):
    """Takes a line on what is being done, with what is done and how much there is."""

    def __call__(self, what: str, done: int = 0, total: int = 0) -> None:
        """Report."""


def show(*renderables: RenderableType) -> None:
    """Print tables and text to standard output."""
    console = Console(width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL)
    for renderable in renderables:
        console.print(words(renderable) if isinstance(renderable, str) else renderable)


def show_json(document: object) -> None:
    """Print one JSON document to standard output."""
    text = json.dumps(document, indent=1, allow_nan=False)
    sys.stdout.write(_HALVES.sub(_whole, text) + "\n")


def _whole(found: re.Match[str]) -> str:
    """Return an escape of JSON as it is, but the half of a character as the text that Python shows for it."""
    return found[0] if found[1] is None else f"\\\\{found[1]}"


def say(lines: Sequence[str], prefix: str = "") -> None:
    """Print lines to standard error."""
    tell(lines, prefix)


def prepare(output: Path) -> None:
    """Make the folders on the way to an output, before time is spent on what will stand there.

    Raises:
        UsageError: If that cannot be done, or a device or pipe has the place.
    """
    try:
        make_room(output)
    except OSError as error:
        raise UsageError(f"{output}: output must be a file that can be made, got: {error.strerror or error}") from None


def plots_folder(name: str) -> Path:
    """Return the folder that pictures go to, made if need be.

    Raises:
        UsageError: If there is a file of that name, or it cannot be made.
    """
    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: plots must go to a folder, got a file")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: plots must go to a folder that can be made, got {error.strerror or error}"
        ) from None
    return folder


def _silent(what: str, done: int = 0, total: int = 0) -> None:
    """Tell nobody."""


@contextmanager
def progress() -> Iterator[Report]:
    """Show what is going on, on standard error, if that is a terminal; otherwise stay silent."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _silent
        return
    with _display(console) as shown:
        task = shown.add_task("", total=None)
        totals = -1

        def report(what: str, done: int = 0, total: int = 0) -> None:
            nonlocal task, totals
            # Another total is another piece of work, whose time left has nothing to do with that of the last.
            if total != totals:
                shown.remove_task(task)
                task, totals = shown.add_task("", total=total or None), total
            shown.update(task, description=escape(printable(what)), completed=done)

        yield report


def _display(console: Console) -> Progress:
    return Progress(
        SpinnerColumn("line"),
        TextColumn("{task.description}"),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        transient=True,
    )
