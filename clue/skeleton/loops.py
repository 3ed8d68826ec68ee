"""Loops that all ranks go round alike, between whose iterations a program may be cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clue.steady.cuts import Flow
from clue.steady.folded import folded_stretches
from clue.steady.iterations import Stretch, stretches
from clue.trace import Trace


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop.

    Attributes:
        name: File and line of its statement, or its first calls where call sites are not known.
        runs: Its iterations each time that it is entered. Where something is under way between two of them on any rank,
            they count as one.
    """

    name: str
    runs: tuple[Stretch, ...]

    @property
    def iterations(self) -> int:
        """How many there are, of all times that it is entered."""
        return sum(run.iterations for run in self.runs)


def loops_of(trace: Trace) -> tuple[Loop, ...]:
    """Find loops by call sites, or where these show none, in what events fold into; outer loops come first."""
    flow = Flow.of(trace)
    if len(trace.head.sites) > 1 and (found := tuple(_closed(stretches(trace), flow))):
        return found
    return tuple(_closed(folded_stretches(trace), flow))


def _closed(loops: Iterator[list[Stretch]], flow: Flow) -> Iterator[Loop]:
    """Yield loops with those bounds between which nothing is under way; those that are gone round more than once."""
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
