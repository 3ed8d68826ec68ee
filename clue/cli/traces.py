"""Getting programs' traces: opened where they are given, recorded on first use and kept where only a script is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clue.cli.terminal import Report
from clue.errors import UsageError
from clue.purchase import Program
from clue.purchase.library import Key
from clue.trace import Trace

if TYPE_CHECKING:
    from clue.recording import Request

_PLACEHOLDER = "{ranks}"


class Traces:
    """Traces of programs, each at a number of ranks.

    Args:
        report: Told what is recorded.
        repeats: How often to record; ``None``: as :func:`clue.recording.recordings_of` does.
    """

    def __init__(self, report: Report, repeats: int | None = None) -> None:
        self._report = report
        self._repeats = repeats
        self._recorded: dict[str, Trace] = {}

    def __call__(self, program: Program, ranks: int) -> Trace:
        """Return a program's trace, the typical one where it has to be recorded."""
        if program.trace is None:
            (program,) = self.record([(program, ranks)])
        assert program.trace is not None
        path = program.trace.replace(_PLACEHOLDER, str(ranks))
        return self._recorded.get(path) or Trace.open(path)

    def record(self, wanted: Sequence[Key]) -> list[Program]:
        """Return programs with their traces: those of scripts alone are recorded, all of them in turn.

        Raises:
            UsageError: If it is said how often to record, and there is nothing to record.
        """
        scripts = [key for key in wanted if key[0].trace is None]
        if not scripts:
            if self._repeats is not None:
                raise UsageError("--repeats must go with a script to record, got traces only")
            return [program for program, _ in wanted]
        from clue.recording import recordings_of  # noqa: PLC0415 - only those who record need it

        found = recordings_of([_request(*key) for key in scripts], self._repeats, self._report)
        named = {key: self._named(key[0], traces) for key, traces in zip(scripts, found, strict=True)}
        return [named.get(key, key[0]) for key in wanted]

    def _named(self, program: Program, traces: Sequence[Trace]) -> Program:
        paths = [str(trace.path) for trace in traces]
        self._recorded |= dict(zip(paths, traces, strict=True))
        return replace(program, trace=paths[0], repeats=tuple(paths[1:]))


def _request(program: Program, ranks: int) -> Request:
    from clue.recording import Launch, Request  # noqa: PLC0415 - see above

    if program.script is None:
        raise UsageError("program must have a script or a trace, got neither")
    arguments = tuple(argument.replace(_PLACEHOLDER, str(ranks)) for argument in program.arguments)
    inputs = tuple(Path(str(file).replace(_PLACEHOLDER, str(ranks))) for file in program.inputs)
    return Request(Launch(program.script, arguments, ranks), inputs, program.environment)
