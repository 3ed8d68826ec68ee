"""The experiment: calibrate, predict, and only then run for real, machine by machine."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.testbed import launch
from benchmarks.testbed.description import Host, hosts_of
from benchmarks.validate import cases
from benchmarks.validate.calibrating import Calibrator
from benchmarks.validate.cases import Case
from benchmarks.validate.figures import Compared
from benchmarks.validate.predicting import Prediction, Recorder, predict, recorded_cpu
from clue.errors import RecordError
from clue.machine import Machine, Placement

#: How often bursts are calibrated.
_CALIBRATION_RUNS = 5


@dataclass(frozen=True, slots=True)
class Experiment:
    """What predictions rest on, and how often they are tried.

    Attributes:
        programs: Programs with their sizes.
        runs: Real runs of each case.
        calibrator: Knows links.
        recorder: Has traces.
        tell: Told what is being done.
        factors: How much longer a program's bursts take on a testbed than recorded.
    """

    programs: Sequence[Case]
    runs: int
    calibrator: Calibrator
    recorder: Recorder
    tell: Callable[[str], None]
    factors: dict[Case, float] = field(default_factory=dict)

    def calibrate_bursts(self) -> None:
        """Calibrate processors: how much longer bursts take there than recorded, from runs of a smaller size.

        On an emulated cluster it is more than 1 where caches matter: between two bursts of a rank others had the core.
        """
        hosts = list(hosts_of(cases.machine(cases.CALIBRATION_MACHINE)))
        with launch.standing("processors", hosts) as testbed:
            for case in self.programs:
                smaller = Case(case.program, case.smaller, case.smaller)
                recorded = recorded_cpu(self.recorder.sections(smaller, len(hosts)))
                # The least: what else this computer does only adds to it.
                taken = min(_computation(run_once(testbed, hosts, smaller)[1]) for _ in range(_CALIBRATION_RUNS))
                self.factors[case] = taken / recorded
                self.tell(f"bursts of {case.program} take {taken / recorded:.3f} times as long as recorded")

    def on(self, machine: Machine) -> Iterator[Compared]:
        """Predict all programs on a machine, then run them there."""
        calibrated, ranks = self.calibrator.calibrated(machine), machine.processors
        predictions = {
            case: predict(self.recorder.sections(case, ranks), calibrated, self.factors[case]) for case in self.programs
        }
        hosts = hosts_of(machine)
        placed = [hosts[node] for node in Placement.block(machine, ranks).nodes]
        with launch.standing(machine.name.replace("-", "_"), hosts) as testbed:
            for case, prediction in predictions.items():
                runs = [run_once(testbed, placed, case) for _ in range(self.runs)]
                yield self._compared(case, machine, prediction, runs)

    def _compared(
        self, case: Case, machine: Machine, prediction: Prediction, runs: list[tuple[float, launch.Outcome]]
    ) -> Compared:
        ranks = machine.processors
        recorded = recorded_cpu(self.recorder.sections(case, ranks))
        late = statistics.median(_late(outcome) / seconds for seconds, outcome in runs)
        ratio = statistics.median(_computation(outcome) for _, outcome in runs) / recorded
        times = tuple(seconds for seconds, _ in runs)
        compared = Compared(
            case.program, machine.name, ranks, case.size, prediction, times, late, ratio, self.factors[case]
        )
        self.tell(
            f"{case.program} on {machine.name}: predicted {prediction.predicted:.3f} s (computation "
            f"{prediction.compute:.3f}), measured {compared.measured:.3f} ± {compared.spread:.3f}: "
            f"{compared.error:+.1%}; late {late:.1%}, bursts {ratio:.2f}"
        )
        return compared


def run_once(testbed: str, placed: Sequence[Host], case: Case) -> tuple[float, launch.Outcome]:
    """Run a program for real; returns the seconds of its section and what its processors did.

    Raises:
        RecordError: If it fails, or its result is wrong.
    """
    outcome = launch.run(testbed, placed, [sys.executable, str(case.script), str(case.size)], timeout=300)
    said = json.loads(outcome.output.splitlines()[-1])
    if said["error"] > 1e-6:
        raise RecordError(f"{case.program}: result must be right, got an error of {said['error']:g}")
    return said["seconds"], outcome


def _computation(outcome: launch.Outcome) -> float:
    return sum(rank.burst_cpu for rank in outcome.ranks)


def _late(outcome: launch.Outcome) -> float:
    return max((rank.late for rank in outcome.ranks), default=0.0)
