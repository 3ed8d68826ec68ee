"""The experiment: calibrate, predict, and only then run for real, machine by machine."""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from itertools import product

from benchmarks.testbed import launch
from benchmarks.testbed.description import Host, hosts_of
from benchmarks.validate import cases
from benchmarks.validate.calibrating import Calibrator
from benchmarks.validate.cases import Case
from benchmarks.validate.figures import MOST_LATE, Compared
from benchmarks.validate.measured import Measured
from benchmarks.validate.predicting import Factor, Prediction, Recorder, predict, recorded_cpu
from clue.errors import RecordError
from clue.machine import Machine, Placement

#: How often bursts are calibrated.
_CALIBRATION_RUNS = 5


@dataclass(frozen=True, slots=True)
class Run:
    """A run for real.

    Attributes:
        seconds: What its section took.
        late: For which share of that a rank, the worst, had no core of this computer though it should.
        computation: CPU time of all ranks' bursts in it, seconds.
    """

    seconds: float
    late: float
    computation: float


@dataclass(frozen=True, slots=True)
class Experiment:
    """What predictions rest on, and how often they are tried.

    Attributes:
        programs: Programs with their sizes.
        runs: Real runs of each case.
        calibrator: Knows links.
        recorder: Has traces.
        measured: Keeps what runs took.
        tell: Told what is being done.
        factors: How much longer a program's bursts take on a testbed than recorded.
    """

    programs: Sequence[Case]
    runs: int
    calibrator: Calibrator
    recorder: Recorder
    measured: Measured
    tell: Callable[[str], None]
    factors: dict[Case, Factor] = field(default_factory=dict)

    def calibrate_bursts(self) -> None:
        """Calibrate processors: how much longer bursts take there than recorded, from runs of a smaller size.

        On an emulated cluster it is more than 1 where caches matter: between two bursts of a rank others had the core.
        """
        machine = cases.machine(cases.CALIBRATION_MACHINE)
        smaller = [Case(case.program, case.smaller, case.smaller) for case in self.programs]
        self.recorder.record(smaller, machine.processors)
        runs = self._runs(machine, smaller, _CALIBRATION_RUNS)
        for case, small in zip(self.programs, smaller, strict=True):
            recorded = recorded_cpu(self.recorder.sections(small, machine.processors))
            self.factors[case] = _factor([run.computation / recorded for run in runs[small]])
            self.tell(f"bursts of {case.program} take {self.factors[case].value:.3f} times as long as recorded")

    def on(self, machine: Machine) -> Iterator[Compared]:
        """Predict all programs on a machine, and run them there."""
        calibrated, ranks = self.calibrator.calibrated(machine), machine.processors
        self.recorder.record(self.programs, ranks)
        runs = self._runs(machine, self.programs, self.runs)
        for case in self.programs:
            sections = self.recorder.sections(case, ranks)
            prediction = predict(sections, calibrated, self.factors[case])
            ratio = statistics.median(run.computation for run in runs[case]) / recorded_cpu(sections)
            hindsight = predict(sections, calibrated, Factor(ratio)).predicted
            yield self._compared(case, machine, prediction, runs[case], ratio, hindsight)

    def _runs(self, machine: Machine, programs: Sequence[Case], count: int) -> dict[Case, list[Run]]:
        """Return as many runs of each program; disturbed ones are repeated, and of twice as many the best count.

        Programs take turns, so that minutes in which this computer is slower do not fall to one of them.
        """
        hosts = hosts_of(machine)
        placed = [hosts[node] for node in Placement.block(machine, machine.processors).nodes]
        runs: dict[Case, list[Run]] = {case: [] for case in programs}
        with ExitStack() as opened:
            testbed = cache(lambda: opened.enter_context(launch.standing(machine.name.replace("-", "_"), hosts)))

            def run(case: Case) -> dict[str, float]:
                self.tell(f"running {case.program} on {machine.name}")
                return asdict(run_once(testbed(), placed, case))

            for i, case in product(range(2 * count), programs):
                if sum(each.late <= MOST_LATE for each in runs[case]) < count:
                    kept = self.measured.get(f"{machine.name}-{case.program}-{case.size}-{i}", partial(run, case))
                    runs[case].append(Run(**kept))
        return {case: _least_disturbed(all_of_it, count) for case, all_of_it in runs.items()}

    def _compared(  # noqa: PLR0917 - what there is to compare
        self, case: Case, machine: Machine, prediction: Prediction, runs: list[Run], ratio: float, hindsight: float
    ) -> Compared:
        late, times = statistics.median(run.late for run in runs), tuple(run.seconds for run in runs)
        known = self.factors[case].value
        compared = Compared(
            case.program, machine.name, machine.processors, case.size, prediction, times, late, ratio, known, hindsight
        )
        self.tell(
            f"{case.program} on {machine.name}: predicted {prediction.predicted:.3f} s (computation "
            f"{prediction.compute:.3f}), measured {compared.measured:.3f} ± {compared.spread:.3f}: "
            f"{compared.error:+.1%}; late {late:.1%}, bursts {ratio:.2f}"
        )
        return compared


def _factor(ratios: Sequence[float]) -> Factor:
    """Return the median of some ratios, and how far the next one may be from it."""
    middle = statistics.median(ratios)
    return Factor(middle, statistics.stdev(ratios) / middle * math.sqrt(1 + 1 / len(ratios)))


def _least_disturbed(runs: Sequence[Run], count: int) -> list[Run]:
    on_time = [run for run in runs if run.late <= MOST_LATE]
    return [*on_time, *sorted((run for run in runs if run not in on_time), key=lambda run: run.late)][:count]


def run_once(testbed: str, placed: Sequence[Host], case: Case) -> Run:
    """Run a program for real.

    Raises:
        RecordError: If it fails, or its result is wrong.
    """
    outcome = launch.run(testbed, placed, [sys.executable, str(case.script), str(case.size)], timeout=300)
    said = json.loads(outcome.output.splitlines()[-1])
    if said["error"] > 1e-6:
        raise RecordError(f"{case.program}: result must be right, got an error of {said['error']:g}")
    late = max((rank.late for rank in outcome.ranks), default=0.0) / said["seconds"]
    return Run(said["seconds"], late, sum(rank.burst_cpu for rank in outcome.ranks))
