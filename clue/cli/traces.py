"""Getting a program's trace: opened where one is given, recorded on first use and cached where only a script is."""

from __future__ import annotations

from glob import escape
from pathlib import Path

from clue.cli.terminal import Report, detail
from clue.errors import UsageError
from clue.purchase import Program, TraceSource
from clue.purchase.library import PLACEHOLDER, count_of, record_on
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
        there = f"Recordings are there for these numbers of ranks: {known}. Ask for them, or" if known else "First"
        advice = f"{there} {record_on(ranks, str(path))}"
        raise UsageError(f"{path}: trace must exist, got no such file or folder. {advice}")
    trace = Trace.open(path)
    detail(f"opened {path}: {count_of(trace.ranks)}, {len(trace.ops):,} ops")
    return trace


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
    what = " ".join([script.name, *arguments])
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        report(line)

    what = f"{what} on {count_of(ranks)}"
    report(f"looking for a recording of {what}")
    trace = cached_trace(script, arguments, ranks, progress=tell)
    if told:
        detail(f"recorded {what}, and kept it in {trace.path}")
    else:
        detail(f"took {what} from {trace.path}: it was recorded here before, as it is now")
    return trace
