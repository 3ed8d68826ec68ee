"""Traces in clue's own format, with the same interface as any other format."""

from __future__ import annotations

from pathlib import Path

from clue.formats.remarks import Converted
from clue.trace import Trace


def read_own(path: Path) -> Converted:
    """Open a trace in clue's format.

    Raises:
        TraceError: If it is missing, of another version, incomplete, truncated or damaged.
    """
    return Converted(Trace.open(path), ())
