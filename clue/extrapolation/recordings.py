"""Carrying out a plan: the smallest recordings are tried, and tell what the others need; then all are made, in turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from clue.errors import RecordError, UsageError
from clue.execution.room import free_memory
from clue.extrapolation.arguments import filled
from clue.extrapolation.pattern import Pattern
from clue.extrapolation.plan import Plan, Planned, Sample, Wanted, estimate, planned, wanted
from clue.progress import Progress, silent
from clue.recording import Launch, Request, recordings_of
from clue.trace import Trace
from clue.uncertainty import typical_recording

#: A recording that is made to estimate what others need must not take longer than so many seconds.
PATIENCE = 60.0
#: Share of the free memory that recordings may take.
_SHARE = 0.8
#: So often each recording is made.
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans recordings of a program, and makes them.

    Attributes:
        program: Path of the script.
        arguments: Its arguments; ``{size}`` and ``{ranks}`` stand for size and number of ranks.
        progress: Told what happens.
        cores: Cores of this computer.
        memory: Memory that a recording may take, bytes.
    """

    program: Path
    arguments: tuple[str, ...]
    progress: Progress = silent
    cores: int = os.cpu_count() or 1
    memory: float = 0.0

    @classmethod
    def here(cls, program: Path, arguments: Sequence[str], progress: Progress) -> Planner:
        """Return one for this computer as it is now.

        Raises:
            UsageError: If no argument says the size.
        """
        if not any("{size}" in word for word in arguments):
            raise UsageError(
                f"{program}: arguments must have {{size}} in the place of the problem's size, got "
                f"{' '.join(arguments) or 'none'}"
            )
        return cls(program, tuple(arguments), progress, len(os.sched_getaffinity(0)), _SHARE * free_memory())

    def plan(self, size: int, ranks: int, repeats: int = REPEATS, further: Iterable[Wanted] = ()) -> Plan:
        """Return the plan for a target; the smallest recordings are made for it, and are kept.

        Args:
            size: The target's size.
            ranks: Its number of ranks.
            repeats: How often to make each.
            further: What is wanted besides, as what decides between rules.

        Raises:
            UsageError: As :func:`clue.recording.recordings_of`.
            RecordError: If the smallest cannot be recorded.
        """
        recordings = tuple(sorted({*wanted(size, ranks), *further}))
        samples = self._samples(recordings)
        return planned(
            Wanted(size, ranks), samples, cores=self.cores, memory=self.memory, repeats=repeats, recordable=recordings
        )

    def make(self, plan: Plan, pattern: Pattern) -> list[str]:
        """Make the recordings of a plan, all of them in turn, where a pattern says; returns why some could not be made.

        What is kept of earlier recordings is used again.

        Raises:
            RecordError: If none can be made.
        """
        done: list[Planned] = []
        faults: list[str] = []
        for i, each in enumerate(plan.recordings):
            self.progress(f"trying size {each.size} on {each.ranks} ranks", i, len(plan.recordings))
            try:
                recordings_of([self._request(each)], 1)
                done.append(each)
            except RecordError as error:
                faults.append(f"size {each.size} on {each.ranks} ranks could not be recorded: {_why(error)}")
        if not done:
            raise RecordError(faults)
        made = recordings_of([self._request(each) for each in done], plan.repeats, self.progress)
        for each, traces in zip(done, made, strict=True):
            save_recordings(traces[: plan.repeats], partial(pattern.path, each.size, each.ranks))
        return faults

    def _samples(self, recordings: Sequence[Wanted]) -> list[Sample]:
        """Record each size on its smallest number of ranks, as long as that takes little."""
        samples: list[Sample] = []
        for size in sorted({each.size for each in recordings}):
            what = min(each for each in recordings if each.size == size)
            if samples and not self._is_little(estimate(samples, what, self.cores)):
                break
            self.progress(f"recording size {what.size} on {what.ranks} ranks, to estimate what the others need", 0, 0)
            (traces,) = recordings_of([self._request(what)], 1)
            samples.append(_sample(what, traces[0]))
        return samples

    def _is_little(self, expected: Planned) -> bool:
        return expected.seconds <= PATIENCE and expected.memory <= self.memory

    def _request(self, what: Wanted | Planned) -> Request:
        return Request(Launch(self.program, filled(self.arguments, what.size, what.ranks), what.ranks))


def _why(error: RecordError) -> str:
    """Return what the program must do and did not, without what its ranks left."""
    return ": ".join(error.faults[-1].split(": ")[:2])


def save_recordings(traces: Sequence[Trace], place: Callable[[int], Path]) -> None:
    """Save recordings of a run as ``clue record --repeats`` does: the first has what bursts typically take."""
    first = typical_recording(traces)
    others = [each for each in traces if each.path != first.path]
    for repeat, trace in enumerate((first, *others), 1):
        trace.save(place(repeat))


def _sample(what: Wanted, trace: Trace) -> Sample:
    heads = trace.head.rank_heads
    work = float(trace.bursts.sum()) * 1e-9
    alone = max(sum(head.cpu for head in heads) - work, 0.0) / len(heads)
    return Sample(what.size, what.ranks, work, alone, sum(head.peak_memory for head in heads) / len(heads))
