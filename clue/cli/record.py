"""``clue record``: record an unmodified mpi4py program."""

from __future__ import annotations

import argparse
from pathlib import Path

from clue.cli.effects import mpiexec_words
from clue.cli.programs import meant_for_clue
from clue.cli.terminal import output_trace, progress, say, show, show_json
from clue.recording import Launch, record_repeatedly
from clue.report.trace.document import recordings_document
from clue.report.trace.text import recordings_text


def run(arguments: argparse.Namespace) -> int:
    """Record a program the requested number of times, and show a summary."""
    launch = Launch(Path(arguments.program), tuple(arguments.arguments), arguments.ranks)
    launch.check()
    target = output_trace(arguments.output or f"{Path(launch.title).stem}.clue")
    mpiexec = None if arguments.mpiexec is None else mpiexec_words(arguments.mpiexec)
    say(meant_for_clue([arguments.program, *arguments.arguments]), prefix="clue: warning: ")
    with progress() as tell:
        recorded = record_repeatedly(
            launch.program,
            launch.arguments,
            launch.ranks,
            target,
            arguments.repeats,
            mpiexec=mpiexec,
            limit=arguments.limit,
            progress=tell,
        )
    if arguments.json:
        say(recorded.trace.head.notes, prefix="clue: warning: ")
        show_json(recordings_document(recorded))
    else:
        show(recordings_text(recorded))
    say([f"wrote {path}" for path in (target, *recorded.repeats)])
    return 0
