"""Destinations of output: results to standard output, all else to standard error, plots and traces to folders.

The volume of standard error is decided here for all commands: with ``-q`` errors only; by default warnings, names of
written files, and progress, which is a bar on a terminal and a line a minute elsewhere; with ``-v`` also each step and
its reason.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from pathlib import Path
from typing import NoReturn

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from clue.cli.streams import give_up_output, tell
from clue.errors import UsageError
from clue.files import kind_of, make_room, overwritten
from clue.printable import printable
from clue.progress import Reporter, silent
from clue.report.shared.table import words
from clue.units import format_number

#: In JSON: an escaped backslash, a surrogate pair, or a lone surrogate, which other readers refuse.
_HALVES = re.compile(r"\\\\|\\ud[89ab]..\\ud[c-f]..|\\(ud[89a-f]..)")
#: Width of tables if there is no terminal, columns.
_WIDTH_WITHOUT_TERMINAL = 120
#: Interval between lines about progress if there is no terminal, seconds.
_EVERY = 60.0


class Volume(IntEnum):
    """How much is printed to standard error."""

    ERRORS = 0
    USUAL = 1
    STEPS = 2


_volume: ContextVar[Volume] = ContextVar("volume", default=Volume.USUAL)


@contextmanager
def speaking(volume: Volume) -> Iterator[None]:
    """Set the volume in a ``with`` block."""
    before = _volume.set(volume)
    try:
        yield
    finally:
        _volume.reset(before)


class _StandardOutput(Console):
    """Standard output; if its reader has gone, the error propagates, where rich's own class would end the process."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise the error again."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def show(*renderables: RenderableType) -> None:
    """Print tables and text to standard output."""
    console = _StandardOutput(width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL)
    with _as_long_as_read():
        for renderable in renderables:
            console.print(words(renderable) if isinstance(renderable, str) else renderable)


def show_json(document: object) -> None:
    """Print one JSON document to standard output."""
    text = json_text(document)
    with _as_long_as_read():
        sys.stdout.write(text)


@contextmanager
def _as_long_as_read() -> Iterator[None]:
    """Discard output once its reader has gone (``clue … | head``): the command may still have files to write."""
    try:
        yield
    except BrokenPipeError:
        give_up_output()


def json_text(document: object) -> str:
    """Return a JSON document as text that ends with a newline."""
    text = json.dumps(document, indent=1, allow_nan=False)
    return _HALVES.sub(_whole, text) + "\n"


def _whole(found: re.Match[str]) -> str:
    """Return an escape of JSON unchanged, but a lone surrogate as the text that Python shows for it."""
    return found[0] if found[1] is None else f"\\\\{found[1]}"


def say(lines: Sequence[str], prefix: str = "", *, at: Volume = Volume.USUAL) -> None:
    """Print lines to standard error, if the volume allows it."""
    if _volume.get() >= at:
        tell(lines, prefix)


def detail(line: str) -> None:
    """Print a line about a step and its reason, if requested."""
    say([line], prefix="clue: ", at=Volume.STEPS)


# --- files ---


def check_plots(name: str | None) -> None:
    """Check before any long work that plots, if requested, can be written to their folder.

    Raises:
        UsageError: As :func:`plots_folder`, which creates it.
    """
    if name is None:
        return
    folder = Path(name)
    there = next((each for each in (folder, *folder.parents) if os.path.lexists(each)), Path())
    if not there.is_dir():
        raise UsageError(f"{folder}: plots must go to a folder, got a file" + f" ({there})" * (there != folder))
    if not os.access(there, os.W_OK | os.X_OK):
        raise _no_folder(folder, os.strerror(errno.EACCES))
    for each in (folder, *(there / part for part in folder.relative_to(there).parts)):
        try:
            each.lstat()
        except FileNotFoundError:
            pass  # it is made later
        except OSError as error:  # its name is too long
            raise _no_folder(folder, error.strerror or str(error)) from None


def plots_folder(name: str) -> Path:
    """Return the folder of plots; create it if necessary.

    Raises:
        UsageError: If there is a file of that name, or it cannot be created.
    """
    check_plots(name)
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _no_folder(folder, error.strerror or str(error)) from None
    return folder


def _no_folder(folder: Path, reason: str) -> UsageError:
    return UsageError(f"{folder}: plots must go to a folder that can be made, got {reason}")


def output_file(name: str | Path, read: Iterable[str | Path] = ()) -> Path:
    """Return the path of a file to write; create its folders.

    Args:
        name: Its path.
        read: Files and folders that the command reads.

    Raises:
        UsageError: If it is a folder, is one of those that are read, or cannot be created.
    """
    path = Path(name)
    if kind_of(path) == "folder":
        raise UsageError(f"{path}: output must be a file, got a folder")
    return _output(path, read)


def output_trace(name: str | Path, read: Iterable[str | Path] = ()) -> Path:
    """Return the path of a trace to write, a folder or a file; create its folders.

    Args:
        name: Its path.
        read: Files and folders that the command reads.

    Raises:
        UsageError: If it is one of those that are read, something other than a trace is there, or it cannot be created.
    """
    from clue.trace.place import check_place  # noqa: PLC0415 - only for traces

    path = _output(Path(name), read)
    check_place(path)
    return path


def _output(path: Path, read: Iterable[str | Path]) -> Path:
    """Return a path to write to; create its folders.

    Args:
        path: The path.
        read: Files and folders that the command reads.

    Raises:
        UsageError: If it is ``-`` or one of those that are read, its folders cannot be created, a device or pipe has
            that name, no file can have it, or nothing may be written to its folder.
    """
    if str(path) == "-":
        raise UsageError('-: output must be a file, got "-", which other programs take for standard output')
    if (lost := overwritten(path, read)) is not None:
        raise UsageError(f"{path}: output must not be a file that the command reads, got {lost}")
    try:
        make_room(path)
    except OSError as error:
        raise UsageError(f"{path}: output must be a file that can be made, got: {error.strerror or error}") from None
    folder = Path(os.path.realpath(path)).parent
    # A trace replaces its folder, so its parent must be writable even if the folder exists.
    if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{path}: output must be a file that can be made, got: {os.strerror(errno.EACCES)}")
    return path


def check_different(asked: Iterable[tuple[str, Path]], plots: str | None = None) -> None:
    """Check that no two options name the same file to write, and that no file takes the place of another's folder.

    Args:
        asked: Each option with the path of a file that it names.
        plots: The folder of plots, if they are requested.

    Raises:
        UsageError: If two do.
    """
    files = [(option, path, Path(os.path.realpath(path))) for option, path in asked]
    folders = [(option, folder) for option, _, real in files for folder in real.parents]
    if plots is not None:
        real = Path(os.path.realpath(plots))
        folders += [("--plots", folder) for folder in (real, *real.parents)]
    for option, path, real in files:
        for other, _, same in files:
            if other != option and same == real:
                raise UsageError(f"{path}: files must differ, got one for {option} and {other}")
        for other, folder in folders:
            if folder == real:
                raise UsageError(f"{path}: {option} must name a file, got a folder of {other}")


# --- progress ---


@contextmanager
def progress(*, bar: bool = True) -> Iterator[Reporter]:
    """Show progress on standard error.

    Args:
        bar: Whether to draw a bar on a terminal; not if a program prints there as well.
    """
    console = Console(stderr=True)
    if _volume.get() is Volume.ERRORS:
        yield silent
    elif bar and sys.stderr.isatty() and not console.is_dumb_terminal:
        with _bar(console) as report:
            yield report
    else:
        with _lines() as report:
            yield report


@contextmanager
def _bar(console: Console) -> Iterator[Reporter]:
    with _display(console) as shown:
        task = shown.add_task("", total=None)
        totals = -1
        step = _Step()

        def report(what: str, done: int = 0, total: int = 0) -> None:
            nonlocal task, totals
            step.begin(what)
            # Another total means other work, whose remaining time is unrelated to that of the last.
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
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


@contextmanager
def _lines() -> Iterator[Reporter]:
    """Print a line a minute about the current work, from a thread of its own: a single step may take hours."""
    begin, now, step = time.monotonic(), ("", 0, 0), _Step()
    ended = threading.Event()

    def report(what: str, done: int = 0, total: int = 0) -> None:
        nonlocal now
        step.begin(what)
        now = (what, done, total)

    def speak() -> None:
        while not ended.wait(_EVERY):
            tell([_line(*now, time.monotonic() - begin)])

    thread = threading.Thread(target=speak, name="progress", daemon=True)
    thread.start()
    try:
        yield report
    finally:
        ended.set()
        # Do not wait long: the reader of the line may be blocked.
        thread.join(1.0)


def _line(what: str, done: int, total: int, seconds: float) -> str:
    of = f": {format_number(done)} of {format_number(total)}" if total else ""
    return f"{printable(what).rstrip(':') or 'at work'}{of}, after {seconds / 60:.0f} min"


class _Step:
    """Prints each step once, when it begins, if steps are printed."""

    def __init__(self) -> None:
        self._said = ""

    def begin(self, what: str) -> None:
        """Note a step: a different number at its start does not make it another step."""
        text = printable(what).rstrip(":")
        name = text.lstrip("0123456789,")
        if name != self._said:
            self._said = name
            detail(text if name == text else f"…{name}")
