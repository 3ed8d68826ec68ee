"""Predictions by live runs compared with real runs; needs root.

``python -m benchmarks.accuracy.self_scheduling.real [--n 1600]``

The strategies run with real MPI on an emulated cluster of unequal hosts (:mod:`benchmarks.testbed`), and live on the
machine that was calibrated there. Computation is measured in both. Replays of traces of identical nodes are shown for
comparison. Prints Markdown. The checkout must not be in /tmp, because each host has a /tmp of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import clue
from benchmarks.accuracy.self_scheduling.lines import PROGRAM
from benchmarks.accuracy.validate.calibrating import Calibrator, describe
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.page import markdown_table
from benchmarks.testbed import cluster, launch
from benchmarks.testbed.description import hosts_of
from clue.execution import LiveRun, run
from clue.machine import Machine, Placement

MACHINE = Path(__file__).with_name("two-fast-three-slow.yaml")
#: Performance vectors passed to the program: the actual one, and one that assumes equal workers.
UNEQUAL, EQUAL = "6,1,1,1", "1,1,1,1"
ROWS = 20
_COLUMNS = ("strategy", "real, s", "live, s", "error", "replayed, s", "rows by worker, real", "live")


@dataclass(frozen=True, slots=True)
class Answer:
    """The program's output of a run: seconds, and rows by worker."""

    seconds: float
    rows: tuple[int, ...]

    @classmethod
    def read(cls, output: str) -> Answer:
        """Parse an output."""
        (seconds,), (rows,) = (re.findall(form, output) for form in (r"seconds=(\S+)", r"rows=(\[.*?\])"))
        return cls(float(seconds), tuple(json.loads(rows)))


def middle(runs: Sequence[Answer]) -> Answer:
    """Return the run with the median time; of an even number, the faster of the middle two."""
    return sorted(runs, key=lambda each: each.seconds)[(len(runs) - 1) // 2]


@dataclass(frozen=True, slots=True)
class Trial:
    """One strategy.

    Attributes:
        name: Its name in the table.
        strategy: The program's name of the strategy.
        performance: The workers' performance vector that the program is given.
    """

    name: str
    strategy: str
    performance: str = UNEQUAL

    def command(self, n: int) -> list[str]:
        """Return the program's command line."""
        given = ["--n", str(n), "--rows", str(ROWS), "--performance", self.performance]
        return [str(PROGRAM), self.strategy, *given]


TRIALS = (
    Trial("SS", "ss"),
    Trial("GSS", "gss"),
    Trial("TSS", "tss"),
    Trial("VRP", "vrp"),
    Trial("VRP, thought equal", "vrp", EQUAL),
    Trial("VRP re-measured", "vrp-live"),
    Trial("VRP-SS", "vrp-ss"),
)


def live(command: Sequence[str], machine: Machine, record: bool = False) -> tuple[Answer, LiveRun]:
    """Run a command live with measured computation."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as output:
        try:
            outcome = run(command, len(machine.nodes), machine, _placed(machine), record=record, stdout=writing)
        finally:
            os.close(writing)
        return Answer.read(output.read()), outcome


def replayed(command: Sequence[str], machine: Machine) -> float:
    """Return the prediction of a replay, for a trace recorded on the same number of nodes that are all like the first.

    Both times include what the first node does before the program first reads its clock; that is subtracted.
    """
    alike = replace(machine, nodes=machine.nodes[:1] * len(machine.nodes))
    said, outcome = live(command, alike, record=True)
    assert outcome.trace is not None
    before = outcome.result.makespan - said.seconds
    return clue.simulate(outcome.trace, machine, _placed(machine)).makespan - before


def _placed(machine: Machine) -> Placement:
    return Placement(tuple(range(len(machine.nodes))))


def real(n: int, machine: Machine, times: int) -> dict[Trial, list[Answer]]:
    """Run all trials on a testbed, in turns."""
    hosts, found = hosts_of(machine), {trial: list[Answer]() for trial in TRIALS}
    with launch.standing("self_scheduling", hosts) as testbed:
        for trial in TRIALS * times:
            outcome = launch.run(testbed, hosts, [sys.executable, *trial.command(n)])
            found[trial].append(Answer.read(outcome.output))
            print(f"{trial.name}: {found[trial][-1].seconds:.2f} s", file=sys.stderr)
    return found


def page(n: int, times: int) -> Iterator[str]:
    """Run all trials, and yield the lines of a page."""
    machine = clue.load_machine(MACHINE)
    with tempfile.TemporaryDirectory() as scratch:
        calibrator = Calibrator(6.0, MeasurementFolder(Path(scratch)), lambda what: print(what, file=sys.stderr))
        calibrated = calibrator.calibrated(machine)
    rows, errors = [], []
    for trial, runs in real(n, machine, times).items():
        measured = middle(runs)
        predicted = middle([live(trial.command(n), calibrated)[0] for _ in range(times)])
        errors.append(predicted.seconds / measured.seconds - 1)
        again = replayed(trial.command(n), calibrated)
        spread = f"{measured.seconds:.1f} ({min(s.seconds for s in runs):.1f} to {max(s.seconds for s in runs):.1f})"
        cells = (trial.name, spread, f"{predicted.seconds:.1f}", f"{errors[-1]:+.1%}", f"{again:.1f}")
        rows.append((*cells, *(", ".join(map(str, each.rows)) for each in (measured, predicted))))
    yield from markdown_table(_COLUMNS, rows)
    yield f"\nMean absolute error {sum(map(abs, errors)) / len(errors):.1%}; {times} runs each, in turns, n = {n}.\n"
    yield from (f"- {line}" for line in describe(calibrator))


def main() -> int:
    """Run the study; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1600, help="order of the matrices (default: %(default)s)")
    parser.add_argument("--times", type=int, default=3, help="runs of each (default: %(default)s)")
    args = parser.parse_args()
    lack = cluster.missing()
    if lack is not None:
        print(lack, file=sys.stderr)
        return 2
    for line in page(args.n, args.times):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
