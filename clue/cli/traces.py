"""Getting a program's trace: opened where one is given, recorded on first use and cached where only a script is."""

from __future__ import annotations

from glob import escape
from pathlib import Path

from clue.cli.terminal import Report
from clue.errors import UsageError
from clue.purchase import Program, TraceSource
from clue.purchase.library import PLACEHOLDER, record_on
from clue.trace import Trace


def trace_source(report: Report) -> TraceSource:
    """Return what gives a program's trace at a number of ranks."""

    def source(program: Program, ranks: int) -> Trace:
        if program.trace is not None:
            return _opened(program.trace, ranks)
        if program.script is None:
            raise UsageError("program must have a script or a trace, got neither")
        return _recorded(program.script, program, ranks, report)

    return source


def _opened(pattern: str, ranks: int) -> Trace:
    path = Path(pattern.replace(PLACEHOLDER, str(ranks)))
    if PLACEHOLDER in pattern and not path.exists():
        known = ", ".join(map(str, recorded_ranks(pattern)))
        there = f"there are recordings of {known} ranks; ask for these, or" if known else "there is none yet:"
        raise UsageError(f"{path}: trace must exist, got no such file or folder: {there} {record_on(ranks)}")
    return Trace.open(path)


def recorded_ranks(pattern: str) -> list[int]:
    """Return the numbers that stand in the place of ``{ranks}`` in the names of files, sorted."""
    path = Path(pattern)
    before, _, after = path.name.partition(PLACEHOLDER)
    found = path.parent.glob(f"{escape(before)}*{escape(after)}")
    numbers = (each.name.removeprefix(before).removesuffix(after) for each in found)
    return sorted(int(number) for number in numbers if number.isdecimal())


def _recorded(script: Path, program: Program, ranks: int, report: Report) -> Trace:
    from clue.recording import cached_trace  # noqa: PLC0415 - only those who record need it

    arguments = [argument.replace(PLACEHOLDER, str(ranks)) for argument in program.arguments]
    report(f"recording {script.name} {' '.join(arguments)} on {ranks} ranks")
    return cached_trace(script, arguments, ranks, progress=report)
