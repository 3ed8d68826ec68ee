"""Predict, run for real, and compare; needs root.

``python -m benchmarks.accuracy.validate [--quick] [-o benchmarks/accuracy/validation.csv]``

Records programs on this computer, calibrates the links and processors of emulated machines, predicts every program on
every machine, and then runs it there. Writes a table and, beside it, a page that interprets the table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.accuracy.validate import cases, tables
from benchmarks.accuracy.validate.calibrating import Calibrator, describe
from benchmarks.accuracy.validate.experiment import Setup
from benchmarks.accuracy.validate.figures import PredictedCase
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.accuracy.validate.predicting import HostRecordings
from benchmarks.command import with_status
from benchmarks.page import notes_beside, typed_command
from benchmarks.progress import tell
from benchmarks.testbed import cluster
from clue.errors import UsageError


@with_status
def main() -> None:
    """Run the command."""
    asked = _arguments()
    if lack := cluster.missing():
        raise UsageError(lack)
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.measured or Path(scratch)
        # Links are measured for a shorter time by --quick, so a full run must not use them.
        _validate(asked, MeasurementFolder(folder / "quick" if asked.quick else folder))


def _validate(asked: argparse.Namespace, measured: MeasurementFolder) -> None:
    measured.folder.mkdir(parents=True, exist_ok=True)
    experiment = _experiment(asked, measured)
    known = {(each.program, each.machine): each for each in tables.read_csv(asked.output)} if asked.output else {}
    for name in cases.QUICK_MACHINES if asked.quick else cases.MACHINE_NAMES:
        if _wanted(name, asked.machines):
            known |= {(each.program, each.machine): each for each in experiment.on(cases.machine(name))}
            if asked.output is not None:  # Each machine takes minutes: keep partial results.
                _write(asked.output, list(known.values()), experiment.calibrator)
    if asked.output is None and known:
        print(tables.page(list(known.values()), _command(), list(describe(experiment.calibrator)), []))


def _experiment(asked: argparse.Namespace, measured: MeasurementFolder) -> Setup:
    programs = [
        case for case in (cases.QUICK_CASES if asked.quick else cases.CASES) if _wanted(case.program, asked.programs)
    ]
    calibrator = Calibrator(5.0 if asked.quick else 15.0, measured, tell)
    recorder = HostRecordings(measured, 2 if asked.quick else 5, tell)
    return Setup(programs, asked.runs, calibrator, recorder, measured, tell)


def _write(file: Path, compared: list[PredictedCase], calibrator: Calibrator) -> None:
    tables.write_csv(file, compared)
    remarks = notes_beside(file)
    file.with_suffix(".md").write_text(tables.page(compared, _command(), list(describe(calibrator)), remarks))


def _command() -> str:
    return typed_command("benchmarks.accuracy.validate")


def _wanted(name: str, chosen: list[str] | None) -> bool:
    return chosen is None or name in chosen


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.validate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few small cases, to see that everything runs")
    parser.add_argument("--programs", type=lambda text: text.split(","), help="only these (default: all)")
    parser.add_argument("--machines", type=lambda text: text.split(","), help="only these (default: all)")
    parser.add_argument("--runs", type=int, default=5, help="real runs of each case (default: %(default)s)")
    parser.add_argument(
        "--measured",
        type=Path,
        metavar="FOLDER",
        help="keep recordings and measurements there, those of --quick in its folder 'quick'; what it has is not "
        "measured again",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="the CSV file, whose other cases stay; a page of its name is written beside it",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
