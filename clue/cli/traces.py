"""Getting a program's trace: opened where one is given, recorded on first use and cached where only a script is."""

from __future__ import annotations

from pathlib import Path

from clue.cli.terminal import Report
from clue.errors import UsageError
from clue.purchase import Program, TraceSource
from clue.trace import Trace

_PLACEHOLDER = "{ranks}"


def trace_source(report: Report) -> TraceSource:
    """Return what gives a program's trace at a number of ranks."""

    def source(program: Program, ranks: int) -> Trace:
        if program.trace is not None:
            return Trace.open(program.trace.replace(_PLACEHOLDER, str(ranks)))
        if program.script is None:
            raise UsageError("program must have a script or a trace, got neither")
        return _recorded(program.script, program, ranks, report)

    return source


def _recorded(script: Path, program: Program, ranks: int, report: Report) -> Trace:
    from clue.recording import cached_trace  # noqa: PLC0415 - only those who record need it

    arguments = [argument.replace(_PLACEHOLDER, str(ranks)) for argument in program.arguments]
    report(f"recording {script.name} {' '.join(arguments)} on {ranks} ranks")
    return cached_trace(script, arguments, ranks, progress=report)
