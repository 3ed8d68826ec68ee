"""``clue record``: record an unmodified mpi4py program."""

from __future__ import annotations

import argparse
from pathlib import Path

from clue.cli.terminal import progress, say, show, show_json
from clue.recording import record_repeatedly
from clue.report.document import recordings_document
from clue.report.text.trace import recordings_text


def run(arguments: argparse.Namespace) -> int:
    """Record a program, as often as is asked for, and say what was recorded."""
    program = Path(arguments.program)
    target = Path(arguments.output) if arguments.output else Path(f"{program.stem}.clue")
    with progress() as tell:
        recorded = record_repeatedly(
            program,
            arguments.arguments,
            arguments.ranks,
            target,
            arguments.repeats,
            mpiexec=arguments.mpiexec,
            limit=arguments.limit,
            progress=tell,
        )
    if arguments.json:
        show_json(recordings_document(recorded))
    else:
        show(recordings_text(recorded))
    say([f"wrote {path}" for path in (target, *recorded.repeats)])
    return 0
