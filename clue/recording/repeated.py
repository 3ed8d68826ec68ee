"""Several recordings of one program: the least disturbed one becomes the trace, with the typical bursts of all.

If the recordings made the same calls, a typical burst is the median at the host's best speed
(:mod:`clue.trace.speed`); if not, the recording with median computation becomes the trace, and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from clue.errors import RecordError
from clue.files import exchange
from clue.recording.inputs import repeatable_input
from clue.recording.launching import Launch, Progress, silent, words_of
from clue.recording.single import record, rewritten
from clue.trace import Trace, disturbance
from clue.trace.place import check_target, numbered, recordings_from, remove_further
from clue.uncertainty.recordings import normalised_bursts, same_calls, typical_recording
from clue.units import count_of

#: Time of a program, seconds, below which it is recorded several times by default; number of these recordings.
SHORT, OFTEN = 60.0, 3


@dataclass(frozen=True, slots=True)
class Repeated:
    """Recordings of the same run.

    Attributes:
        trace: The least disturbed recording.
        repeats: Paths of the others.
        computing: CPU seconds in the bursts of each recording at its host's best speed, those of the trace first.
    """

    trace: Trace
    repeats: tuple[Path, ...]
    computing: tuple[float, ...]

    @property
    def spread(self) -> float:
        """Half the range of the recordings' computation times, relative to their median."""
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
    """Record a program several times: ``TRACE.clue`` is the least disturbed; the others are ``TRACE.2.clue``, ….

    All of them read the same standard input.

    Args:
        program: Path of the script; ``-m`` or ``-c``: the first argument is a module, or code.
        arguments: Its arguments.
        ranks: Number of MPI processes.
        target: Folder of the trace; earlier traces there are replaced, all of their repeats included.
        repeats: Number of recordings; ``None`` for :data:`OFTEN` if one takes less than :data:`SHORT` seconds, else 1.
        mpiexec: As for :func:`record`.
        limit: As for :func:`record`.
        progress: Callback for progress.

    Raises:
        UsageError: As :func:`record`.
        RecordError: As :func:`record`; complete recordings stay.
    """
    launch = Launch(Path(program), words_of("arguments", arguments), ranks)
    place = partial(numbered, target)
    targets = [place(number) for number in range(1, (repeats or OFTEN) + 1)]
    for each in (*targets, *recordings_from(len(targets) + 1, place)):
        check_target(each)
    made: list[Path] = []
    own: list[Trace] = []
    with repeatable_input(len(targets)) as next_input:
        for number, each in enumerate(targets, 1):
            turn = "" if repeats == 1 or not (repeats or made) else f" ({number} of {len(targets)})"
            progress(f"recording {launch.name} on {count_of(ranks)}{turn}")
            with next_input() as stdin:
                own.append(record(program, launch.arguments, ranks, each, mpiexec=mpiexec, limit=limit, stdin=stdin))
            made.append(each)
            if repeats is None and seconds(own[-1]) >= SHORT:
                break
    remove_further(len(made), place)
    traces = list(map(Trace.open, made))
    _check_own(traces, own)
    chosen = _chosen(traces)
    if made[chosen] != target:
        exchange(target, made[chosen])
        traces = list(map(Trace.open, made))
    computing = tuple(float(each.sum()) * 1e-9 for each in normalised_bursts(traces))
    return Repeated(_told_of_others(traces), tuple(made[1:]), computing)


def _check_own(traces: Iterable[Trace], own: Iterable[Trace]) -> None:
    """Check that nobody else has recorded to the same places meanwhile.

    Raises:
        RecordError: If somebody has.
    """
    for trace, made in zip(traces, own, strict=True):
        if trace.head != made.head:
            raise RecordError(
                f"{trace.path}: trace must be written by one recording at a time, got another one there that ended "
                "later: its repeats may be of different runs: name each its own trace (-o), and record again"
            )


def _chosen(traces: Sequence[Trace]) -> int:
    """Return the index of the recording that becomes the trace."""
    if same_calls(traces):
        return min(range(len(traces)), key=lambda i: disturbed(traces[i]))
    return traces.index(typical_recording(different(traces)))


def _told_of_others(traces: Sequence[Trace]) -> Trace:
    """Write typical bursts of all recordings into the first one, or a note that they cannot be compared."""
    first = traces[0]
    if not same_calls(traces):
        note = f"{len(traces)} recordings did not make the same calls: bursts are those of the one in the middle"
        return rewritten(first, replace(first.head, notes=(*first.head.notes, note)))
    typical = typical_recording(different(traces))
    return first if typical.typical is None else rewritten(first, typical.head, typical.typical)


def different(traces: Iterable[Trace]) -> list[Trace]:
    """Return the traces without duplicates: recordings of a program with little computation may have equal bursts."""
    found: list[Trace] = []
    for trace in traces:
        if not any(np.array_equal(trace.ops.cpu, other.ops.cpu) for other in found):
            found.append(trace)
    return found


def disturbed(trace: Trace) -> tuple[float, float]:
    """Return a sort key by disturbance, smaller for a less disturbed recording.

    The key is the share of time, in whole per cent, for which other processes kept a rank from computing, followed by
    CPU time, because a disturbance never makes a burst shorter.
    """
    return round(disturbance.largest(trace.head.rank_heads), 2), float(trace.bursts.sum()) * 1e-9


def seconds(trace: Trace) -> float:
    """Return the duration of a recording, seconds."""
    return max(head.wall for head in trace.head.rank_heads)
