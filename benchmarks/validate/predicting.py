"""Predictions with an interval: a program recorded some times on this computer, replayed on a calibrated machine."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.testbed import launch
from benchmarks.testbed.description import Host
from benchmarks.validate.cases import Case
from benchmarks.validate.measured import Measured
from benchmarks.validate.sections import section
from clue.kernel import simulate
from clue.machine import Machine
from clue.trace import Trace

#: What part of a core a processor of the recording host is.
FACTOR = 10.0
#: Of a normal distribution: 80 % lie within so many standard deviations.
_EIGHTY = 1.2816
#: What two runs on one testbed differ by at least, as calibration runs show; relative.
_LEAST_NOISE = 0.015


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds that a section is to take.

    Attributes:
        predicted: What the middle recording says.
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
    """Records programs, each number of ranks once, on one host of a testbed whose links are not shaped.

    That host has as many processors as there are ranks, paced as those of the machines to come: between bursts other
    ranks have had the core and its caches, when recording as later on.

    Attributes:
        measured: Keeps the traces.
        times: How often each is recorded.
        tell: Told what is being done.
        known: Sections of traces by case and ranks.
    """

    measured: Measured
    times: int
    tell: Callable[[str], None]
    known: dict[tuple[Case, int], list[Trace]] = field(default_factory=dict)

    def sections(self, case: Case, ranks: int) -> list[Trace]:
        """Return the program's section, as often as it is recorded."""
        if (case, ranks) not in self.known:
            self.known[case, ranks] = [self._section(case, ranks, i) for i in range(self.times)]
        return self.known[case, ranks]

    def _section(self, case: Case, ranks: int, i: int) -> Trace:
        name = f"{case.program}-{case.size}-{ranks}-{i}.clue"
        return section(Trace.open(self.measured.file(name, lambda target: self._record(case, ranks, target))))

    def _record(self, case: Case, ranks: int, target: Path) -> None:
        self.tell(f"recording {case.program} on {ranks} ranks")
        host = Host(index=0, factor=FACTOR, processors=ranks, background=0, bandwidth=None)
        layer = [sys.executable, "-m", "virtual_layer", "-o", str(target.resolve())]
        with launch.standing("recording", [host]) as testbed:
            launch.run(testbed, [host] * ranks, [*layer, str(case.script), str(case.size)], timeout=300)


def recorded_cpu(sections: list[Trace]) -> float:
    """Return the CPU time of all ranks' bursts, seconds, in the middle recording."""
    return statistics.median(map(_cpu, sections))


def _cpu(recorded: Trace) -> float:
    return float(recorded.ops.cpu.sum()) * 1e-9


def predict(sections: list[Trace], machine: Machine, factor: float = 1.0) -> Prediction:
    """Predict a section on a machine, with ranks in blocks and bursts longer by a factor than recorded.

    The recording in the middle by CPU time counts, as does the median of measured runs; how far others are from it
    tells the interval.
    """
    nodes = {
        name: replace(each, performance_factor=each.factor("") * factor) for name, each in machine.node_types().items()
    }
    machine = replace(machine, nodes=tuple(nodes[node.name] for node in machine.nodes))
    results = [simulate(each, machine) for each in sorted(sections, key=_cpu)]
    spans = [result.makespan for result in results]
    middle = spans[len(spans) // 2]
    deviation = max(statistics.stdev(spans) if len(spans) > 1 else 0.0, _LEAST_NOISE * middle)
    compute = max(rank.compute for rank in results[len(spans) // 2].ranks)
    return Prediction(middle, middle - _EIGHTY * deviation, middle + _EIGHTY * deviation, compute)
