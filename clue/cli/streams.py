"""Standard output and standard error: in any locale, on a full disk, and after their reader has gone."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from clue.cli.readable import READABLE, use_readable_errors
from clue.printable import printable

#: Largest number of faults shown for one file.
_FEW = 100
#: Its descriptor, the last of the three that every program expects to be open.
_STANDARD_ERROR = 2


def open_streams() -> None:
    """Make both writable in any locale: characters that its encoding lacks are escaped.

    A stream that was closed before Python started (``>&-``) is ``None`` in Python; output to it is discarded.
    """
    _take_standard_descriptors()
    use_readable_errors()
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=READABLE)


def tell(lines: Iterable[str], prefix: str = "clue: ") -> None:
    """Print lines to standard error; ignore failures, as when its reader has gone."""
    try:
        for line in lines:
            print(f"{prefix}{printable(line)}", file=sys.stderr)
    except OSError:
        _discard(sys.stderr)


def few(lines: Sequence[str]) -> Sequence[str]:
    """Return the first lines, and how many more there are."""
    more = len(lines) - _FEW
    return lines if more <= 0 else [*lines[:_FEW], f"and {more} more"]


def finish_output() -> None:
    """Flush standard output.

    Raises:
        OSError: If that fails, because the disk is full or the reader has gone.
    """
    sys.stdout.flush()


def give_up_output() -> None:
    """Discard output that could not be written to standard output: Python would try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard(sys.stdout)


def _take_standard_descriptors() -> None:
    """Open those of the descriptors 0 to 2 that are closed, for child processes, too.

    Otherwise the next file that is opened gets such a number, and what a library prints would be written to it; MPI
    launchers do not start without them.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _discard(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
