"""Several recordings of one program: the least disturbed is the trace, and gets what bursts typically take in all.

Where they made the same calls that is the median of each burst, at the best of their host (:mod:`clue.trace.speed`);
where they did not, the bursts of the one that is in the middle, and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from clue.files import exchange
from clue.recording.launching import Progress, silent
from clue.recording.single import check_target, record, rewritten
from clue.trace import Trace, disturbance
from clue.uncertainty.recordings import normalised_bursts, same_calls, typical_recording
from clue.units import count_of

#: A program that takes less than so many seconds is recorded so often, unless something else is asked for.
SHORT, OFTEN = 60.0, 3


@dataclass(frozen=True, slots=True)
class Repeated:
    """Recordings of the same run.

    Attributes:
        trace: The least disturbed.
        repeats: The others, where they lie.
        computing: CPU seconds in the bursts of each at the best of its host, the trace's first.
    """

    trace: Trace
    repeats: tuple[Path, ...]
    computing: tuple[float, ...]

    @property
    def spread(self) -> float:
        """Half of what lies between the least and the most computation, relative to the median."""
        typical = self.trace.head.typical
        return 0.0 if typical is None else typical.spread


def record_repeatedly(
    program: Path,
    arguments: Sequence[str],
    ranks: int,
    target: Path,
    repeats: int | None = None,
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
        repeats: How often in all; ``None``: :data:`OFTEN` times where one takes less than :data:`SHORT` seconds.
        mpiexec: As for :func:`record`.
        limit: As for :func:`record`.
        progress: Told what happens.

    Raises:
        UsageError: As :func:`record`.
        RecordError: As :func:`record`; recordings that had ended stay.
    """
    targets = [numbered(target, number) for number in range(1, (repeats or OFTEN) + 1)]
    for each in targets:
        check_target(each)
    made: list[Path] = []
    for number, each in enumerate(targets, 1):
        turn = "" if repeats == 1 or not (repeats or made) else f" ({number} of {len(targets)})"
        progress(f"recording {Path(program).name} on {count_of(ranks)}{turn}")
        trace = record(program, arguments, ranks, each, mpiexec=mpiexec, limit=limit)
        made.append(each)
        if repeats is None and seconds(trace) >= SHORT:
            break
    chosen = _chosen(list(map(Trace.open, made)))
    if made[chosen] != target:
        exchange(target, made[chosen])
    traces = list(map(Trace.open, made))
    computing = tuple(float(each.sum()) * 1e-9 for each in normalised_bursts(traces))
    return Repeated(_told_of_others(traces), tuple(made[1:]), computing)


def _chosen(traces: Sequence[Trace]) -> int:
    """Return which of some recordings is to be the trace."""
    if same_calls(traces):
        return min(range(len(traces)), key=lambda i: disturbed(traces[i]))
    return traces.index(typical_recording(different(traces)))


def _told_of_others(traces: Sequence[Trace]) -> Trace:
    """Write into the first of some recordings what bursts typically take in all, or that they cannot be compared."""
    first = traces[0]
    if not same_calls(traces):
        note = f"{len(traces)} recordings did not make the same calls: bursts are those of the one in the middle"
        return rewritten(first, replace(first.head, notes=(*first.head.notes, note)))
    typical = typical_recording(different(traces))
    return first if typical.typical is None else rewritten(first, typical.head, typical.typical)


def different(traces: Iterable[Trace]) -> list[Trace]:
    """Return the traces of different bursts: a program that computes next to nothing may do so twice in the same ns."""
    found: list[Trace] = []
    for trace in traces:
        if not any(np.array_equal(trace.ops.cpu, other.ops.cpu) for other in found):
            found.append(trace)
    return found


def numbered(target: Path, number: int) -> Path:
    """Return where a recording goes: the first to ``x.clue``, the second to ``x.2.clue``."""
    return target if number == 1 else target.with_name(f"{target.stem}.{number}{target.suffix}")


def disturbed(trace: Trace) -> tuple[float, float]:
    """Return what is less for a recording that others disturbed less.

    That is how long they kept a rank from computing, in whole per cent; where that is equal, CPU time, for nothing
    that disturbs a burst makes it shorter.
    """
    return round(disturbance.largest(trace.head.rank_heads), 2), float(trace.bursts.sum()) * 1e-9


def seconds(trace: Trace) -> float:
    """Return how long a recording took."""
    return max(head.wall for head in trace.head.rank_heads)
