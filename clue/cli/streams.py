"""Standard output and standard error: in any locale, on a full disk, and when nobody reads them any more."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from clue.report.shared.printable import READABLE, printable, use_readable_errors

#: Faults of one file that are shown.
_FEW = 100


def open_streams() -> None:
    """Let both be written to in any locale: what its encoding lacks is written in letters that it has.

    One that was closed before Python began (``>&-``) is nowhere to it; what is written to it is discarded.
    """
    use_readable_errors()
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=READABLE)


def tell(lines: Iterable[str], prefix: str = "clue: ") -> None:
    """Print lines to standard error, if anybody reads it."""
    try:
        for line in lines:
            print(f"{prefix}{printable(line)}", file=sys.stderr)
    except OSError:
        _discard(sys.stderr)


def few(lines: Sequence[str]) -> Sequence[str]:
    """Return so many lines as somebody may read, and how many more there are."""
    more = len(lines) - _FEW
    return lines if more <= 0 else [*lines[:_FEW], f"and {more} more"]


def finish_output() -> None:
    """Bring standard output to where it goes.

    Raises:
        OSError: If that fails: the disk is full, or the reader has gone.
    """
    sys.stdout.flush()


def give_up_output() -> None:
    """Discard what could not be written to standard output, if anything: Python would try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard(sys.stdout)


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _discard(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
