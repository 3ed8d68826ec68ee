"""Predictions with an interval: a program recorded some times on this computer, replayed on a calibrated machine."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.validate.cases import Case
from benchmarks.validate.sections import section
from clue.kernel import simulate
from clue.machine import Machine
from clue.recording import record
from clue.trace import Trace

#: Of a normal distribution: 80 % lie within so many standard deviations.
_EIGHTY = 1.2816
#: What two runs on one testbed differ by at least, as calibration runs show; relative.
_LEAST_NOISE = 0.015


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds that a section is to take.

    Attributes:
        predicted: The median over the recordings.
        low: Lower end of the interval in which four of five runs are expected.
        high: Its upper end.
        compute: Computation in it, the largest of any rank.
    """

    predicted: float
    low: float
    high: float
    compute: float


@dataclass(frozen=True, slots=True)
class Recorder:
    """Records programs, each number of ranks once.

    Attributes:
        folder: Keeps the traces.
        times: How often each is recorded.
        tell: Told what is being done.
        known: Sections of traces by case and ranks.
    """

    folder: Path
    times: int
    tell: Callable[[str], None]
    known: dict[tuple[Case, int], list[Trace]] = field(default_factory=dict)

    def sections(self, case: Case, ranks: int) -> list[Trace]:
        """Return the program's section, as often as it is recorded."""
        if (case, ranks) not in self.known:
            self.tell(f"recording {case.program} on {ranks} ranks")
            self.known[case, ranks] = [self._section(case, ranks, i) for i in range(self.times)]
        return self.known[case, ranks]

    def _section(self, case: Case, ranks: int, i: int) -> Trace:
        target = self.folder / f"{case.program}-{case.size}-{ranks}-{i}.clue"
        return section(record(case.script, [str(case.size)], ranks, target, timeout=300))


def predict(sections: list[Trace], machine: Machine) -> Prediction:
    """Predict a section on a machine, with ranks in blocks."""
    results = [simulate(each, machine) for each in sections]
    spans = sorted(result.makespan for result in results)
    middle = statistics.median(spans)
    deviation = max(statistics.stdev(spans) if len(spans) > 1 else 0.0, _LEAST_NOISE * middle)
    compute = statistics.median(max(rank.compute for rank in result.ranks) for result in results)
    return Prediction(middle, middle - _EIGHTY * deviation, middle + _EIGHTY * deviation, compute)
