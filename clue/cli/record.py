"""``clue record``: record an unmodified mpi4py program."""

from __future__ import annotations

import argparse
from pathlib import Path

from clue.cli.effects import mpiexec_words
from clue.cli.terminal import output_trace, progress, say, show, show_json
from clue.recording import record
from clue.report.document import trace_document
from clue.report.text.trace import trace_text


def run(arguments: argparse.Namespace) -> int:
    """Record a program and say what was recorded."""
    program = Path(arguments.program)
    target = output_trace(arguments.output or f"{program.stem}.clue")
    if arguments.mpiexec is not None:
        mpiexec_words(arguments.mpiexec)
    with progress() as tell:
        tell(f"recording {program.name} on {arguments.ranks} ranks")
        trace = record(program, arguments.arguments, arguments.ranks, target, mpiexec=arguments.mpiexec)
    if arguments.json:
        show_json(trace_document(trace))
    else:
        show(trace_text(trace))
    say([f"wrote {target}"])
    return 0
