"""``python -m benchmarks.validate [--quick] [-o benchmarks/validation.csv]``: predict, run for real, compare. As root.

Records programs on this computer, calibrates the links of emulated machines, predicts every program on every machine,
and then runs it there. Writes a table and, beside it, a page that says what it means.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.testbed import cluster, launch
from benchmarks.testbed.description import Host, hosts_of
from benchmarks.validate import cases, tables
from benchmarks.validate.calibrating import Calibrator, describe
from benchmarks.validate.cases import Case
from benchmarks.validate.figures import Compared
from benchmarks.validate.predicting import Prediction, Recorder, predict
from clue.errors import ClueError
from clue.machine import Machine, Placement


def main() -> int:
    """Do it; returns the exit status."""
    asked = _arguments()
    lack = cluster.missing()
    if lack is not None:
        print(lack, file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory() as scratch:
            _validate(asked, asked.traces or Path(scratch))
    except ClueError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


def _validate(asked: argparse.Namespace, folder: Path) -> None:
    programs = [case for case in (cases.QUICK_CASES if asked.quick else cases.CASES) if _wanted(case.program, asked.programs)]
    names = cases.QUICK_MACHINES if asked.quick else cases.MACHINE_NAMES
    calibrator = Calibrator(5.0 if asked.quick else 20.0, _tell)
    recorder = Recorder(folder, 2 if asked.quick else 5, _tell)
    compared: list[Compared] = []
    for name in names:
        if _wanted(name, asked.machines):
            compared += _on_machine(cases.machine(name), programs, calibrator, recorder, asked.runs)
            if asked.output is not None:
                _write(asked.output, compared, calibrator)
    if asked.output is None and compared:
        print(tables.page(compared, _command(), list(describe(calibrator)), []))


def _on_machine(
    machine: Machine, programs: list[Case], calibrator: Calibrator, recorder: Recorder, runs: int
) -> Iterator[Compared]:
    """Predict all programs on a machine, then run them there."""
    calibrated, ranks = calibrator.calibrated(machine), machine.processors
    predictions = {case: predict(recorder.sections(case, ranks), calibrated) for case in programs}
    hosts = hosts_of(machine)
    placed = [hosts[node] for node in Placement.block(machine, ranks).nodes]
    with launch.standing(machine.name.replace("-", "_"), hosts) as testbed:
        for case, prediction in predictions.items():
            each = _compare(case, machine, prediction, [_run(testbed, placed, case) for _ in range(runs)], recorder)
            _tell(
                f"{case.program} on {machine.name}: predicted {prediction.predicted:.3f} s (computation "
                f"{prediction.compute:.3f}), measured {each.measured:.3f} ± {each.spread:.3f}: {each.error:+.1%}; "
                f"late {each.late:.1%}, bursts {each.burst_ratio:.2f}"
            )
            yield each


def _run(testbed: str, placed: list[Host], case: Case) -> tuple[float, launch.Outcome]:
    outcome = launch.run(testbed, placed, [sys.executable, str(case.script), str(case.size)], timeout=300)
    return json.loads(outcome.output.splitlines()[-1])["seconds"], outcome


def _compare(
    case: Case, machine: Machine, prediction: Prediction, runs: list[tuple[float, launch.Outcome]], recorder: Recorder
) -> Compared:
    ranks = machine.processors
    sections = recorder.sections(case, ranks)
    recorded = statistics.median(each.ops.cpu.sum() * 1e-9 for each in sections)
    late = statistics.median(max((rank.late for rank in outcome.ranks), default=0.0) / seconds for seconds, outcome in runs)
    computed = statistics.median(sum(rank.burst_cpu for rank in outcome.ranks) for _, outcome in runs)
    times = tuple(seconds for seconds, _ in runs)
    return Compared(case.program, machine.name, ranks, case.size, prediction, times, late, computed / recorded)


def _write(file: Path, compared: list[Compared], calibrator: Calibrator) -> None:
    tables.write_csv(file, compared)
    notes = file.with_suffix(".notes.md")
    remarks = [notes.read_text()] if notes.exists() else []
    file.with_suffix(".md").write_text(tables.page(compared, _command(), list(describe(calibrator)), remarks))


def _command() -> str:
    return " ".join(["python -m benchmarks.validate", *sys.argv[1:]])


def _wanted(name: str, chosen: list[str] | None) -> bool:
    return chosen is None or name in chosen


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.validate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few small cases, to see that everything runs")
    parser.add_argument("--programs", type=lambda text: text.split(","), help="only these (default: all)")
    parser.add_argument("--machines", type=lambda text: text.split(","), help="only these (default: all)")
    parser.add_argument("--runs", type=int, default=5, help="real runs of each case (default: %(default)s)")
    parser.add_argument("--traces", type=Path, metavar="FOLDER", help="keep the traces")
    parser.add_argument("-o", "--output", type=Path, help="the CSV file; a page of the same name is written beside it")
    return parser.parse_args()


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
