"""Sources of traces: the files that a configuration names, or the cache of recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from clue.cli.terminal import detail
from clue.errors import UsageError, written_at
from clue.predict.application import PLACEHOLDER, Application, Key
from clue.predict.replaying import EXTRAPOLATE, record_on
from clue.progress import Reporter
from clue.trace import Trace
from clue.units import count_of

if TYPE_CHECKING:
    from clue.recording import Request


class Traces:
    """Traces of applications, each at a number of ranks.

    Args:
        report: Called with what is being recorded.
        repeats: Number of recordings; ``None``: as :func:`clue.recording.recordings_of` decides.
    """

    def __init__(self, report: Reporter, repeats: int | None = None) -> None:
        self._report = report
        self._repeats = repeats
        self._recorded: dict[str, Trace] = {}

    def __call__(self, application: Application, ranks: int) -> Trace:
        """Return an application's trace; if it has to be recorded, the typical recording."""
        if application.trace is None:
            (application,) = self.record([(application, ranks)])
        assert application.trace is not None
        with written_at(application.place):
            return self._recorded.get(application.trace) or _opened(application.trace, ranks)

    def record(self, wanted: Sequence[Key]) -> list[Application]:
        """Return applications with their traces; scripts without a trace are recorded, all in turn.

        Raises:
            UsageError: If a number of recordings is given, and there are only traces.
        """
        missing = [key for key in wanted if key[0].trace is None]
        scripts = [key for key in missing if not key[0].extrapolated]
        if wanted and not scripts and self._repeats is not None:
            raise UsageError("--repeats must go with a script to record, got traces only")
        named = {key: self._extrapolated(*key) for key in missing if key[0].extrapolated}
        if not scripts:
            return [named.get(key, key[0]) for key in wanted]
        from clue.recording import recordings_of  # noqa: PLC0415 - only recording needs it

        requests = [_request(*key) for key in scripts]
        found = recordings_of(requests, self._repeats, self._report)
        for request, traces in zip(requests, found, strict=True):
            which = "the only recording" if len(traces) == 1 else f"the typical one of {len(traces)} recordings"
            detail(f"took {request.title} from {traces[0].path}: {which}")
        named |= {key: self._named(key[0], traces) for key, traces in zip(scripts, found, strict=True)}
        return [named.get(key, key[0]) for key in wanted]

    def _extrapolated(self, application: Application, ranks: int) -> Application:
        """Return an application with the trace extrapolated from its recordings."""
        from clue.extrapolation.kept import kept_extrapolation  # noqa: PLC0415 - only extrapolation needs it

        wanted = application.extrapolated
        assert wanted is not None
        traces = kept_extrapolation(wanted.pattern, wanted.size, ranks, self._report, wanted.distributions)
        detail(f"took size {wanted.size} on {count_of(ranks)} from {traces[0].path}: made of {wanted.pattern}")
        return self._named(application, traces)

    def _named(self, application: Application, traces: Sequence[Trace]) -> Application:
        paths = [str(trace.path) for trace in traces]
        self._recorded |= dict(zip(paths, traces, strict=True))
        return replace(application, trace=paths[0], repeats=tuple(paths[1:]))


def _opened(pattern: str, ranks: int) -> Trace:
    path = Path(pattern.replace(PLACEHOLDER, str(ranks)))
    if PLACEHOLDER in pattern and not path.exists():
        known = ", ".join(map(str, recorded_ranks(pattern)))
        there = f"Recordings exist for these numbers of ranks: {known}. Use them, or" if known else "First"
        advice = f"{there} {record_on(ranks, str(path))}; or {EXTRAPOLATE}"
        raise UsageError(f"{path}: trace must exist, got no such file or folder. {advice}")
    trace = Trace.open(path)
    detail(f"opened {path}: {count_of(trace.ranks)}, {len(trace.ops):,} ops")
    return trace


def recorded_ranks(pattern: str) -> list[int]:
    """Return the numbers that replace ``{ranks}`` in the names of existing files, sorted."""
    path = Path(pattern)
    before, _, after = path.name.partition(PLACEHOLDER)
    found = path.parent.glob(f"{escape(before)}*{escape(after)}")
    numbers = (each.name.removeprefix(before).removesuffix(after) for each in found)
    return sorted(int(number) for number in numbers if number.isdecimal())


def _request(application: Application, ranks: int) -> Request:
    from clue.recording import Launch, Request  # noqa: PLC0415 - see above

    if application.script is None:
        raise UsageError("program must have a script or a trace, got neither")
    arguments = tuple(argument.replace(PLACEHOLDER, str(ranks)) for argument in application.arguments)
    inputs = tuple(Path(str(file).replace(PLACEHOLDER, str(ranks))) for file in application.inputs)
    return Request(Launch(application.script, arguments, ranks), inputs, application.environment)
