"""Where output goes: results to standard output, progress and warnings to standard error, pictures to a folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from clue.errors import UsageError

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
        console.print(renderable)


def show_json(document: object) -> None:
    """Print one JSON document to standard output."""
    json.dump(document, sys.stdout, indent=1, allow_nan=False)
    sys.stdout.write("\n")


def say(lines: Sequence[str], prefix: str = "") -> None:
    """Print lines to standard error."""
    for line in lines:
        print(f"{prefix}{line}", file=sys.stderr)


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
            shown.update(task, description=escape(what), completed=done)

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
