"""The steps as traces, and their simulation on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.accuracy.micro.steps import RANKS, Step
from clue.kernel import simulate
from clue.machine import Machine
from clue.trace import Trace, TraceBuilder
from clue.trace.builder import RankBuilder

#: Least CPU time before a call, which marks the call's start in the timeline; too short to matter, seconds.
_MARK = 1e-9


class BuiltRank:
    """A rank of a trace; each call's region is the number of the call.

    Bursts before calls are those measured, which the real rank spends in Python; without any, none.
    """

    def __init__(self, built: RankBuilder, rank: int, slower: float, bursts: Sequence[float] = ()) -> None:
        self.built, self.rank, self.slower, self.bursts, self.calls = built, rank, slower, bursts, 0

    def compute(self, seconds: float) -> None:
        """Compute for a time."""
        self._begin(seconds / self.slower)

    def send(self, dest: int, nbytes: int) -> None:
        """Send."""
        self._begin()
        self.built.send(dest, nbytes)

    def recv(self, source: int, nbytes: int) -> None:  # noqa: ARG002 - a real rank needs it
        """Receive."""
        self._begin()
        self.built.recv(source)

    def sendrecv(self, other: int, nbytes: int) -> None:
        """Send and receive."""
        self._begin()
        self.built.sendrecv(other, nbytes, other)

    def isend(self, dest: int, nbytes: int) -> int:
        """Start to send."""
        self._begin()
        return self.built.isend(dest, nbytes)

    def irecv(self, source: int, nbytes: int) -> int:  # noqa: ARG002 - a real rank needs it
        """Start to receive."""
        self._begin()
        return self.built.irecv(source)

    def wait(self, *requests: int) -> None:
        """Wait for all of these."""
        self._begin()
        self.built.wait(*requests)

    def finish(self) -> None:
        """Mark the end of the rank's last call."""
        self._begin()

    def _begin(self, seconds: float = 0.0) -> None:
        before = self.bursts[self.calls] if self.calls < len(self.bursts) else 0.0
        self.built.compute(max(_MARK, before + seconds), region=str(self.calls))
        self.calls += 1


def trace_of_step(
    step: Step, nbytes: int, slower: float, bursts: Sequence[Sequence[float]] = ((),) * RANKS
) -> tuple[Trace, list[int]]:
    """Return a step as a trace for processors slower by a factor, and the number of calls of each rank.

    Args:
        step: The step.
        nbytes: Size of its messages.
        slower: The factor.
        bursts: Measured bursts of each rank before its calls, seconds of the recording's processor.
    """
    built = TraceBuilder(RANKS, step.name)
    ranks = [BuiltRank(built[rank], rank, slower, bursts[rank]) for rank in range(RANKS)]
    for rank in ranks:
        step.run(rank, nbytes)
        rank.finish()
    return built.build(), [rank.calls for rank in ranks]


def simulated(
    step: Step, nbytes: int, machine: Machine, bursts: Sequence[Sequence[Sequence[float]]] = (((),) * RANKS,)
) -> dict[str, Any]:
    """Return the times of a step on a machine, in the form that ``program.py`` prints: medians over its repetitions.

    Args:
        step: The step.
        nbytes: Size of its messages.
        machine: The machine.
        bursts: Measured bursts before calls, by repetition and rank.
    """
    turns = [_simulated_turn(step, nbytes, machine, each) for each in bursts]
    return {"step": step.name, "size": nbytes, **{name: median(turn[name] for turn in turns) for name in turns[0]}}


def _simulated_turn(step: Step, nbytes: int, machine: Machine, bursts: Sequence[Sequence[float]]) -> dict[str, float]:
    trace, calls = trace_of_step(step, nbytes, machine.nodes[0].factor(""), bursts)
    timeline = simulate(trace, machine, timeline=True).timeline
    assert timeline is not None
    ends = [
        _ends(timeline.segments[timeline.segments["rank"] == rank], timeline.regions, calls[rank])
        for rank in range(RANKS)
    ]
    whole = max(end[-1] for end in ends if end) if any(ends) else 0.0
    return {
        "whole": whole / step.messages(nbytes),
        **{
            name: ends[rank][last] - (ends[rank][first - 1] if first else 0.0)
            for name, (rank, first, last) in step.calls.items()
        },
    }


def _ends(segments: np.ndarray[Any, np.dtype[np.void]], regions: tuple[str, ...], calls: int) -> list[float]:
    """Return the end of each call of a rank, which is the start of the next call's mark."""
    begins: dict[str, float] = {}
    for segment in segments:
        begins.setdefault(regions[segment["region"]], float(segment["begin"]))
    return [begins[str(call)] for call in range(1, calls)]
