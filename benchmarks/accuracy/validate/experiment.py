"""The experiment, for each machine: calibrate, predict, and only then run for real."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from benchmarks.accuracy.validate import cases
from benchmarks.accuracy.validate.calibrating import Calibrator
from benchmarks.accuracy.validate.cases import SizedProgram
from benchmarks.accuracy.validate.figures import PredictedCase
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.accuracy.validate.predicting import (
    ColdStart,
    Factor,
    HostRecordings,
    predict,
    recorded_cpu,
    said_by,
)
from benchmarks.testbed import launch
from benchmarks.testbed.description import Host, hosts_of
from benchmarks.testbed.experiment import in_turns, on_demand
from clue.errors import RecordError
from clue.machine import Machine, Placement
from clue.uncertainty.model_error import mean_message

#: Number of runs by which bursts are calibrated.
_CALIBRATION_RUNS = 5


@dataclass(frozen=True, slots=True)
class RealRun:
    """A run for real.

    Attributes:
        seconds: Time of its section.
        late: Share of that time for which the worst rank had to wait for a core of this computer.
        computation: CPU time of all ranks' bursts in the section, seconds.
    """

    seconds: float
    late: float
    computation: float


@dataclass(frozen=True, slots=True)
class SmallRuns:
    """Results of runs of smaller sizes.

    Attributes:
        cold_starts: Extra time of each burst of a program, relative to its recording.
        missed: Root mean square of the relative errors of predictions of these runs.
    """

    cold_starts: dict[SizedProgram, ColdStart]
    missed: float


@dataclass(frozen=True, slots=True)
class Setup:
    """The basis of predictions, and the number of runs to compare them with.

    Attributes:
        programs: Programs with their sizes.
        runs: Real runs of each case.
        calibrator: Provides links.
        recorder: Provides traces.
        measured: Keeps times of runs.
        tell: Called with the current work.
        calibrations: Calibrations by name of the machine.
    """

    programs: Sequence[SizedProgram]
    runs: int
    calibrator: Calibrator
    recorder: HostRecordings
    measured: MeasurementFolder
    tell: Callable[[str], None]
    calibrations: dict[str, SmallRuns] = field(default_factory=dict)

    def _calibration(self, machine: Machine) -> SmallRuns:
        """Return the calibration of the machine with equally fast links and the most similar slowest processors."""
        candidates = map(cases.machine, cases.CALIBRATION_MACHINES)
        as_fast = [each for each in candidates if _bandwidth(each) == _bandwidth(machine)]
        where = min(as_fast, key=lambda each: abs(math.log(_slowest(each) / _slowest(machine))))
        if where.name not in self.calibrations:
            self.calibrations[where.name] = self._calibrate(where)
        return self.calibrations[where.name]

    def _calibrate(self, machine: Machine) -> SmallRuns:
        """Calibrate processors: how much longer bursts take there than recorded, from runs of a smaller size.

        While a rank waits for a message, others use its core: afterwards its caches are cold, whatever it computes.
        """
        smaller = [replace(case, size=case.smaller) for case in self.programs]
        runs = self._runs(machine, smaller, _CALIBRATION_RUNS)
        calibrated = self.calibrator.calibrated(machine)
        cold_starts, missed = {}, []
        for case, small in zip(self.programs, smaller, strict=True):
            sections = self.recorder.sections(small, machine)
            cold_starts[case] = ColdStart.of([run.computation for run in runs[small]], sections)
            predicted = predict(small, sections, calibrated, cold_starts[case].factor(sections)).predicted
            missed.append(math.log(predicted / statistics.median(run.seconds for run in runs[small])))
            longer = f"{cold_starts[case].seconds * 1e6:.1f} us longer than recorded"
            self.tell(f"bursts of {case.program} take {longer} on {machine.name}; predicted {missed[-1]:+.1%} off")
        return SmallRuns(cold_starts, math.sqrt(statistics.fmean(each * each for each in missed)))

    def on(self, machine: Machine) -> Iterator[PredictedCase]:
        """Predict all programs on a machine, and run them there."""
        calibrated = self.calibrator.calibrated(machine)
        runs = self._runs(machine, self.programs, self.runs)
        for case in self.programs:
            sections = self.recorder.sections(case, machine)
            known = self._calibration(machine)
            factor = known.cold_starts[case].factor(sections)
            prediction = predict(case, sections, calibrated, factor, known.missed)
            ratio = statistics.median(run.computation for run in runs[case]) / recorded_cpu(sections)
            hindsight = predict(case, sections, calibrated, Factor(ratio)).predicted
            compared = PredictedCase(
                case.program, machine.name, machine.processors, case.size, prediction,
                runs=tuple(run.seconds for run in runs[case]), late=statistics.median(run.late for run in runs[case]),
                burst_ratio=ratio, factor=factor.value, hindsight=hindsight, message=mean_message(sections[0].ops),
            )  # fmt: skip
            self.tell(_summary(compared))
            yield compared

    def _runs(
        self, machine: Machine, programs: Sequence[SizedProgram], count: int
    ) -> dict[SizedProgram, list[RealRun]]:
        """Return a number of runs of each program.

        Recordings take turns with runs, so that both are from the same minutes.
        """
        hosts = hosts_of(machine)
        placed = [hosts[node] for node in Placement.block(machine, machine.processors).nodes]
        with on_demand(machine.name, hosts) as testbed:

            def run(case: SizedProgram) -> dict[str, float]:
                self.tell(f"running {case.program} on {machine.name}")
                return asdict(run_once(testbed(), placed, case))

            def turn(case: SizedProgram, i: int) -> RealRun | None:
                self.recorder.record(case, machine, i)
                name = f"{machine.name}-{case.program}-{case.size}-{i}"
                return RealRun(**self.measured.get(name, partial(run, case))) if i < count else None

            found = in_turns(programs, max(count, self.recorder.times), turn)
        return {case: [run for run in runs if run is not None] for case, runs in found.items()}


def _bandwidth(machine: Machine) -> float | None:
    """Return the bandwidth of a machine's fastest links; ``None`` if they are not shaped."""
    bandwidths = [host.bandwidth for host in hosts_of(machine)]
    return None if None in bandwidths else max(each for each in bandwidths if each is not None)


def _slowest(machine: Machine) -> float:
    """Return the slowdown of the slowest processors relative to a core of this computer."""
    return max(host.factor * (1 + host.background) for host in hosts_of(machine))


def _summary(case: PredictedCase) -> str:
    return (
        f"{case.program} on {case.machine}: predicted {case.prediction.predicted:.3f} s (computation "
        f"{case.prediction.compute:.3f}), measured {case.measured:.3f} ± {case.spread:.3f}: "
        f"{case.error:+.1%}; late {case.late:.1%}, bursts {case.burst_ratio:.2f}"
    )


def run_once(testbed: str, placed: Sequence[Host], case: SizedProgram) -> RealRun:
    """Run a program for real.

    Raises:
        RecordError: If the program fails, or its result is wrong.
    """
    outcome = launch.run(testbed, placed, [sys.executable, *case.command], timeout=300)
    said = said_by(outcome)
    if not said["error"] <= 1e-6:  # nor may it be NaN
        raise RecordError(f"{case.program}: result must be right, got an error of {said['error']:g}")
    late = max((rank.late for rank in outcome.ranks), default=0.0) / said["seconds"]
    return RealRun(said["seconds"], late, sum(rank.burst_cpu for rank in outcome.ranks))
