"""Several recordings of one program: the least disturbed is the trace, the others tell how much its bursts differ."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clue.files import exchange
from clue.recording.launching import Progress, silent
from clue.recording.single import check_target, record
from clue.trace import Trace, disturbance
from clue.units import count_of


@dataclass(frozen=True, slots=True)
class Repeated:
    """Recordings of the same run.

    Attributes:
        trace: The least disturbed.
        repeats: The others, where they lie.
        computing: CPU seconds in the bursts of each, the trace's first.
    """

    trace: Trace
    repeats: tuple[Path, ...]
    computing: tuple[float, ...]

    @property
    def spread(self) -> float:
        """Half of what lies between the least and the most computation, relative to the median."""
        middle = statistics.median(self.computing)
        return (max(self.computing) - min(self.computing)) / 2 / middle if middle > 0 else 0.0


def record_repeatedly(
    program: Path,
    arguments: Sequence[str],
    ranks: int,
    target: Path,
    repeats: int,
    *,
    mpiexec: Sequence[str] | None = None,
    limit: float | None = None,
    progress: Progress = silent,
) -> Repeated:
    """Record a program several times: ``TRACE.clue`` is the least disturbed, ``TRACE.2.clue`` and so on the others.

    Args:
        program: Path of the script.
        arguments: Its arguments.
        ranks: Number of MPI processes.
        target: Folder of the trace; earlier traces there are replaced.
        repeats: How often in all.
        mpiexec: As for :func:`record`.
        limit: As for :func:`record`.
        progress: Told what happens.

    Raises:
        UsageError: As :func:`record`.
        RecordError: As :func:`record`; recordings that had ended stay.
    """
    targets = [numbered(target, number) for number in range(1, repeats + 1)]
    for each in targets:
        check_target(each)
    for number, each in enumerate(targets, 1):
        turn = "" if repeats == 1 else f" ({number} of {repeats})"
        progress(f"recording {Path(program).name} on {count_of(ranks)}{turn}")
        record(program, arguments, ranks, each, mpiexec=mpiexec, limit=limit)
    least = min(targets, key=lambda each: disturbed(Trace.open(each)))
    if least != target:
        exchange(target, least)
    traces = [Trace.open(each) for each in targets]
    return Repeated(traces[0], tuple(targets[1:]), tuple(map(_computing, traces)))


def numbered(target: Path, number: int) -> Path:
    """Return where a recording goes: the first to ``x.clue``, the second to ``x.2.clue``."""
    return target if number == 1 else target.with_name(f"{target.stem}.{number}{target.suffix}")


def disturbed(trace: Trace) -> tuple[float, float]:
    """Return what is less for a recording that others disturbed less.

    That is how long they kept a rank from computing, in whole per cent; where that is equal, CPU time, for nothing
    that disturbs a burst makes it shorter.
    """
    return round(disturbance.largest(trace.head.rank_heads), 2), _computing(trace)


def _computing(trace: Trace) -> float:
    return float(trace.ops.cpu.sum()) * 1e-9
