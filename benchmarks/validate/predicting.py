"""Predictions with an interval: a program recorded some times on this computer, replayed on a calibrated machine."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from benchmarks.testbed import launch
from benchmarks.testbed.description import Host
from benchmarks.validate.cases import Case
from benchmarks.validate.measured import Measured
from benchmarks.validate.sections import section
from clue.kernel import compile_program, simulate
from clue.machine import Machine, Placement
from clue.machine.scaling import slower
from clue.trace import Trace
from clue.uncertainty import Sampling, Spread, noise_of_recordings, sample_makespans, typical_recording

#: What part of a core a processor of the recording host is.
FACTOR = 10.0
_SAMPLES = 100


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds that a section is to take.

    Attributes:
        predicted: The median of what samples of the noise say.
        low: Lower end of the interval in which four of five runs are expected.
        high: Its upper end.
        compute: Computation in it, the largest of any rank.
    """

    predicted: float
    low: float
    high: float
    compute: float


@dataclass(frozen=True, slots=True)
class Factor:
    """How much longer bursts take on a testbed than recorded.

    Attributes:
        value: The factor.
        deviation: How sure that is: relative standard deviation.
    """

    value: float
    deviation: float = 0.0


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

    def record(self, programs: Sequence[Case], ranks: int) -> None:
        """Record what has not been; programs take turns, as they do when they are measured."""
        for i, case in product(range(self.times), programs):
            self._file(case, ranks, i)

    def sections(self, case: Case, ranks: int) -> list[Trace]:
        """Return the program's section, as often as it is recorded."""
        if (case, ranks) not in self.known:
            self.known[case, ranks] = [section(Trace.open(self._file(case, ranks, i))) for i in range(self.times)]
        return self.known[case, ranks]

    def _file(self, case: Case, ranks: int, i: int) -> Path:
        name = f"{case.program}-{case.size}-{ranks}-{i}.clue"
        return self.measured.file(name, lambda target: self._record(case, ranks, target))

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


def predict(sections: list[Trace], machine: Machine, factor: Factor) -> Prediction:
    """Predict a section on a machine, with ranks in blocks.

    Args:
        sections: The recordings of it; bursts are their medians, and their scatter is noise.
        machine: Where it is to run; the noise of its links is part of the interval.
        factor: How much longer bursts take there than recorded.
    """
    nodes = {
        name: replace(slower(each, factor.value), noise=replace(each.noise, factor=factor.deviation))
        for name, each in machine.node_types().items()
    }
    machine = replace(machine, nodes=tuple(nodes[node.name] for node in machine.nodes))
    program = compile_program(typical_recording(sections))
    placement = Placement.block(machine, program.ranks)
    makespans = sample_makespans(
        program, machine, placement, Sampling(_SAMPLES), noise=noise_of_recordings(sections), engine="fast"
    )
    spread = Spread.of(makespans)
    compute = max(rank.compute for rank in simulate(program, machine).ranks)
    return Prediction(spread.median, spread.low, spread.high, compute)
