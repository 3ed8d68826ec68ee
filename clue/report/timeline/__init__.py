"""Timelines of all ranks in the formats of other tools: files of Perfetto and of Paraver.

Both are made from :class:`.events.Events`: bursts of computation, MPI calls, and the messages of sends. Times are whole
nanoseconds of virtual time. Messages within collective calls are left out: there the call states the bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from clue.errors import UsageError
from clue.units import format_number

if TYPE_CHECKING:
    from clue.kernel import Program
    from clue.machine import Machine
    from clue.report.timeline.events import Events
    from clue.result import Result
    from clue.trace import Trace

#: Number of ops of the largest timeline: a quarter of a gigabyte, about what Perfetto and Paraver can show at once.
MOST_OPS = 500_000
#: Seconds that whole nanoseconds can count.
_LONGEST = 2.0**63 / 1e9


@dataclass(frozen=True, slots=True)
class Form:
    """A file format for timelines.

    Attributes:
        title: Its name.
        suffix: Suffix of its file.
        beside: Suffixes of the further files that belong to it.
        writer: The module here whose ``write`` writes it.
    """

    title: str
    suffix: str
    writer: str
    beside: tuple[str, ...] = ()

    def files(self, path: Path) -> list[Path]:
        """Return the files of a timeline with this path."""
        return [path, *(path.with_suffix(ending) for ending in self.beside)]


FORMS = (
    Form("Trace Event Format: Perfetto, chrome://tracing", ".json", "chrome"),
    Form("Paraver", ".prv", "paraver", (".pcf", ".row")),
)


def form_of(path: Path) -> Form:
    """Return the format that the suffix of a file name stands for.

    Raises:
        UsageError: If there is no format with this suffix.
    """
    for form in FORMS:
        if path.suffix == form.suffix:
            return form
    known = " or ".join(f"{form.suffix} ({form.title})" for form in FORMS)
    raise UsageError(f"{path}: timeline must end in {known}, got {path.suffix or 'no ending'}")


def check_length(ops: int, name: str) -> None:
    """Check that a timeline with this number of ops can be written, before it is simulated.

    Raises:
        UsageError: If there are too many.
    """
    if ops > MOST_OPS:
        raise UsageError(
            f"{name}: timeline must have at most {format_number(MOST_OPS)} ops, got {format_number(ops)}: simulate a "
            "smaller size, fewer iterations or fewer ranks; --plots shows runs of any length"
        )


def write_timeline(path: Path, trace: Trace, program: Program, machine: Machine, result: Result) -> list[Path]:
    """Write the timeline of all ranks.

    Args:
        path: The file; its suffix determines the format.
        trace: The trace of the program as recorded.
        program: The compiled trace.
        machine: The machine on which it ran.
        result: The result, with timeline and calls.

    Returns:
        The files.

    Raises:
        UsageError: If the suffix stands for no format, or times are too long to be counted in nanoseconds.
        OutputError: If a file cannot be written.
    """
    from clue.report.timeline.events import events_of  # noqa: PLC0415 - numpy

    form = form_of(path)
    if result.makespan >= _LONGEST:
        raise UsageError(
            f"{path}: timeline must be shorter than 292 years, which nanoseconds can count, got {result.makespan:g} s"
        )
    files = form.files(path)
    write: Callable[[list[Path], Events, Machine], None] = import_module(f"clue.report.timeline.{form.writer}").write
    write(files, events_of(trace, program, result), machine)
    return files
