"""Loops that all ranks execute alike; a program may be cut between their iterations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clue.steady.cuts import Flow
from clue.steady.folded import folded_stretches
from clue.steady.iterations import Integers, Stretch, stretches
from clue.steady.steadiness import period_of
from clue.trace import Trace


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop.

    Attributes:
        name: File and line of its statement, or its first calls where call sites are unknown.
        runs: Its iterations each time that it is entered. Two iterations count as one if a message or request is
            pending between them on any rank; so do all iterations of a period, after which calls and partners recur.
        period: Number of iterations after which calls and partners recur.
    """

    name: str
    runs: tuple[Stretch, ...]
    period: int = 1

    @property
    def title(self) -> str:
        """Its name, and the number of iterations that count as one."""
        return self.name if self.period == 1 else f"{self.name} ({self.period} at a time)"

    @property
    def iterations(self) -> int:
        """Number of iterations over all entries of the loop."""
        return sum(run.iterations for run in self.runs)


def loops_of(trace: Trace) -> tuple[Loop, ...]:
    """Find loops by call sites, or else by folding events; outer loops come first."""
    flow = Flow.of(trace)
    known = tuple(_closed(stretches(trace), flow)) if len(trace.head.sites) > 1 else ()
    return tuple(_in_periods(trace, loop) for loop in known or _closed(folded_stretches(trace), flow))


def _in_periods(trace: Trace, loop: Loop) -> Loop:
    """Return a loop in which the iterations of a period count as one; its longest run gives the period."""
    period = period_of(trace, max(loop.runs, key=lambda run: run.iterations))
    if period == 1:
        return loop
    return Loop(loop.name, tuple(Stretch(run.name, _every(run.bounds, period)) for run in loop.runs), period)


def _every(bounds: Integers, period: int) -> Integers:
    """Return one bound per period, and the last one."""
    last = bounds.shape[1] - 1
    return bounds[:, np.append(np.arange(0, last, period), last)]


def _closed(loops: Iterator[list[Stretch]], flow: Flow) -> Iterator[Loop]:
    """Yield loops with the bounds at which nothing is pending, if more than one iteration remains."""
    for runs in loops:
        closed = [run for run in _cut(runs, flow) if run.iterations > 0]
        if any(run.iterations > 1 for run in closed):
            yield Loop(closed[0].name, tuple(closed))


def _cut(runs: Sequence[Stretch], flow: Flow) -> Iterator[Stretch]:
    if not runs:
        return
    together = np.concatenate([run.bounds for run in runs], axis=1)
    closed = flow.closed(Stretch("", together))
    ends = np.cumsum([run.bounds.shape[1] for run in runs])[:-1]
    for run, mine in zip(runs, np.split(closed, ends), strict=True):
        yield Stretch(run.name, run.bounds[:, mine])
