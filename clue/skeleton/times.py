"""Times of a recording: how long the application took, and how long its loops took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clue.caveats import About, Caveat, note
from clue.skeleton.events import Integers
from clue.skeleton.parameters import Doubles
from clue.steady.iterations import Stretch
from clue.trace import Op, Trace


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """Times at which calls ended; if a trace has none, only computation and sleeps are taken to take time.

    Attributes:
        ends: Time at which the call of each row had ended, seconds, shape (ops,).
        begins: Time at which each rank began, seconds.
        first: First row of each rank.
        application: Elapsed time of the application, seconds: that of its slowest rank, from the initialisation of MPI
            to its end.
        caveats: A caveat if that time is unknown.
    """

    ends: Doubles
    begins: Doubles
    first: Integers
    application: float
    caveats: tuple[Caveat, ...]

    @classmethod
    def of(cls, trace: Trace, recording: Trace | None = None) -> Times:
        """Find the times of a recording, or of its events; then the recording says how long the application took."""
        ops, first = trace.ops, np.array(trace.head.offsets[:-1])
        some = np.diff(trace.head.offsets) > 0
        begins = np.zeros(trace.ranks)
        if (ops.begin + ops.took).any():
            ends = (ops.begin + ops.took) * np.float64(1e-9)
            begins[some] = (ops.begin[first[some]] - ops.cpu[first[some]]) * 1e-9
        else:
            spent = np.cumsum(np.append(0, trace.bursts + np.where(ops.are(Op.SLEEP), ops.nbytes, 0)))
            ends = (spent[1:] - np.repeat(spent[first], np.diff(trace.head.offsets))) * np.float64(1e-9)
        took = np.zeros(trace.ranks)
        took[some] = ends[np.array(trace.head.offsets[1:])[some] - 1] - begins[some]
        known = (recording or trace).elapsed
        unknown = "its elapsed time is unknown: the time of calls and computation of its slowest rank is used instead"
        caveats = () if known > 0 else (note(About.PROGRAM, trace.name, unknown),)
        return cls(ends, begins, first, known or float(took.max(initial=0.0)), caveats)

    def at(self, bounds: Integers) -> Doubles:
        """Return when each rank reached some of its rows, shape (ranks, rows)."""
        begun = bounds == self.first[:, None]
        return np.where(begun, self.begins[:, None], self.ends[bounds - 1])

    def of_runs(self, runs: Sequence[Stretch]) -> float:
        """Return the total time of these runs of a loop on the rank where it is longest, seconds."""
        begin, end = (np.stack([run.bounds[:, at] for run in runs], axis=1) for at in (0, -1))
        return float((self.at(end) - self.at(begin)).sum(axis=1).max())

    def apart(self, run: Stretch) -> float:
        """Return the skew of ranks in a loop, seconds: how much later the last reaches an iteration than the first.

        Ranks that drift apart increase their skew. Only the skew that exists from the beginning counts, so this is the
        smallest skew among several iterations.
        """
        some = np.unique(np.linspace(0, run.iterations, 5).round().astype(np.int64)[1:])
        when = self.at(run.bounds[:, some])
        return float((when.max(axis=0) - when.min(axis=0)).min())
