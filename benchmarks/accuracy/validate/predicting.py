"""Predictions with an interval: a program recorded several times on this computer, replayed on a calibrated machine."""

from __future__ import annotations

import json
import math
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.accuracy.validate.cases import SizedProgram
from benchmarks.accuracy.validate.deciding import live_section
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.accuracy.validate.sections import section
from benchmarks.testbed import launch
from benchmarks.testbed.description import Host
from benchmarks.testbed.launch import RunOutput
from clue.errors import RecordError
from clue.kernel import compile_program, simulate
from clue.machine import Machine, Placement
from clue.trace import Trace
from clue.uncertainty import Sampling, Spread, noise_of_recordings, sample_makespans, typical_recording

#: Slowdown of a processor of the recording host relative to a core.
FACTOR = 10.0
_SAMPLES = 100


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted time of a section, seconds.

    Attributes:
        predicted: The median over samples of the noise.
        low: Lower end of the 80 % interval.
        high: Its upper end.
        compute: Largest computation of any rank in the section.
    """

    predicted: float
    low: float
    high: float
    compute: float


@dataclass(frozen=True, slots=True)
class Factor:
    """The factor by which bursts take longer on a testbed than recorded.

    Attributes:
        value: The factor.
        deviation: Its relative standard deviation.
    """

    value: float
    deviation: float = 0.0


@dataclass(frozen=True, slots=True)
class HostRecordings:
    """Records programs on one host of a testbed whose links are not shaped, and keeps the recordings.

    Programs are recorded anew for each machine, although the recording does not depend on it: the speed of a shared
    computer changes within half an hour.

    The host has one processor for each rank, paced like those of the predicted machines: between bursts other ranks use
    the core and its caches, both in the recording and in the later runs.

    Attributes:
        measured: Keeps the traces.
        times: Number of recordings of each.
        tell: Called with the current work.
        known: Sections of traces by case and machine.
    """

    measured: MeasurementFolder
    times: int
    tell: Callable[[str], None]
    known: dict[tuple[SizedProgram, str], list[Trace]] = field(default_factory=dict)

    def record(self, case: SizedProgram, machine: Machine, turn: int) -> None:
        """Record a program for a machine in one of the turns, if it has not been recorded often enough."""
        file = self._file(case, machine, turn)
        if turn < self.times and not file.exists():
            self.tell(f"recording {case.program} on {machine.processors} ranks")
            draft = file.with_suffix(".draft")
            shutil.rmtree(draft, ignore_errors=True)
            self._record(case, machine.processors, draft)
            draft.rename(file)

    def sections(self, case: SizedProgram, machine: Machine) -> list[Trace]:
        """Return the program's section from each of its recordings for a machine."""
        if (case, machine.name) not in self.known:
            files = [self._file(case, machine, turn) for turn in range(self.times)]
            self.known[case, machine.name] = [section(Trace.open(file)) for file in files]
        return self.known[case, machine.name]

    def _file(self, case: SizedProgram, machine: Machine, turn: int) -> Path:
        return self.measured.folder / f"{machine.name}-{case.program}-{case.size}-recording-{turn}.clue"

    def _record(self, case: SizedProgram, ranks: int, target: Path) -> None:
        host = Host(index=0, factor=FACTOR, processors=ranks, background=0, bandwidth=None)
        layer = [sys.executable, "-m", "virtual_layer", "-o", str(target.resolve())]
        with launch.standing("recording", [host]) as testbed:
            launch.run(testbed, [host] * ranks, [*layer, *case.command], timeout=300)


def said_by(outcome: RunOutput) -> dict[str, Any]:
    """Return the line of JSON that a program printed.

    Raises:
        RecordError: If the program printed none.
    """
    for line in outcome.output.splitlines():
        if line.startswith('{"program"'):
            return dict(json.loads(line))
    raise RecordError(f"testbed: program must print a line of JSON, got {outcome.output[-2000:]}")


def recorded_cpu(sections: list[Trace]) -> float:
    """Return the CPU time of all ranks' bursts in the median recording, seconds."""
    return statistics.median(map(_cpu, sections))


def _cpu(recorded: Trace) -> float:
    return float(recorded.ops.cpu.sum()) * 1e-9


@dataclass(frozen=True, slots=True)
class ColdStart:
    """The extra time of each burst of a program, whether long or short, on a testbed relative to its recording.

    Attributes:
        seconds: Extra CPU time of a burst.
        deviation: Standard deviation of that time in the next run.
    """

    seconds: float
    deviation: float

    @classmethod
    def of(cls, runs: Sequence[float], sections: list[Trace]) -> ColdStart:
        """Return the cold start derived from the CPU time of all bursts in runs and in recordings of the same program.

        It is at least 0: a cold start saves no time, so a negative difference is noise of both.
        """
        bursts = _bursts(sections)
        longer = [(run - recorded_cpu(sections)) / bursts for run in runs]
        return cls(max(statistics.median(longer), 0.0), statistics.stdev(longer) * math.sqrt(1 + 1 / len(longer)))

    def factor(self, sections: list[Trace]) -> Factor:
        """Return the factor by which cold starts lengthen all bursts of a recorded program together."""
        cold = _bursts(sections) / recorded_cpu(sections)
        return Factor(1 + self.seconds * cold, self.deviation * cold / (1 + self.seconds * cold))


def _bursts(sections: list[Trace]) -> int:
    return int((sections[0].ops.cpu > 0).sum())


def predict(
    case: SizedProgram, sections: list[Trace], machine: Machine, factor: Factor, missed: float = 0.0
) -> Prediction:
    """Predict a section on a machine, with ranks in blocks.

    Args:
        case: The program. If its control flow depends on arrival order, it runs live on the machine, with the bursts of
            each recording.
        sections: Its recorded sections; bursts are their medians, and their scatter is noise.
        machine: The machine to predict; the noise of its links is part of the interval.
        factor: Time of bursts there relative to the recorded time.
        missed: Relative errors of predictions of the calibration runs, by which the interval is widened.
    """
    nodes = {
        name: replace(each.slower(factor.value), noise=replace(each.noise, factor=factor.deviation))
        for name, each in machine.node_types().items()
    }
    machine = replace(machine, nodes=tuple(nodes[node.name] for node in machine.nodes))
    if case.decides:
        sections = [live_section(case.command, each, machine) for each in sections]
    sampling = Sampling(_SAMPLES)
    makespans = _makespans(sections, machine, sampling)
    spread = Spread.of(makespans * [sample.multiplier(missed, "missed") for sample in sampling.each()])
    compute = max(rank.compute for rank in simulate(typical_recording(sections), machine).ranks)
    return Prediction(Spread.of(makespans).median, spread.low, spread.high, compute)


def _makespans(sections: list[Trace], machine: Machine, sampling: Sampling) -> npt.NDArray[np.float64]:
    """Return makespans of samples; recordings with different calls or partners are sampled in turn."""
    placement = Placement.block(machine, sections[0].ranks)
    noise = noise_of_recordings(sections)
    if noise is None or noise.recorded:
        program = compile_program(typical_recording(sections))
        return sample_makespans(program, machine, placement, sampling, noise=noise, engine="fast")
    of_each = [
        sample_makespans(compile_program(each), machine, placement, sampling, engine="fast") for each in sections
    ]
    turns = np.arange(sampling.samples)
    makespans: npt.NDArray[np.float64] = np.array(of_each)[turns % len(sections), turns]
    return makespans
