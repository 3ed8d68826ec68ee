"""``clue convert``: a trace from one form to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from clue.cli.terminal import say
from clue.errors import UsageError
from clue.trace import Trace


def run(arguments: argparse.Namespace) -> int:
    """Convert a trace; the target's name tells folder or compressed file."""
    source, target = Path(arguments.source), Path(arguments.target)
    if source.resolve() == target.resolve():
        raise UsageError(f"{target}: target must differ from the source")
    if target.is_dir() and not (target / "head.json").exists() and any(target.iterdir()):
        raise UsageError(f"{target}: target must be new or a trace, got a folder with other things in it")
    Trace.open(source).save(target)
    say([f"wrote {target}"])
    return 0
