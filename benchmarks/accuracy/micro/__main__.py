"""Single messages, measured and simulated.

``python -m benchmarks.accuracy.micro MACHINE.yaml... [--measured FOLDER] [--repeats N] [--links calibrated|told]``

Measures the steps on the testbed of each machine, as root; calibrates its links there as ``clue calibrate network``
does; simulates the steps on the machine with these links and the measured bursts between calls; prints a table of
medians over the repeats. Measurements are kept in the folder, as ``micro-NAME-N.json`` and ``link-NAME-N.json``, and
reused.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.accuracy.micro.simulated import simulated
from benchmarks.accuracy.micro.steps import STEPS
from benchmarks.accuracy.validate.calibrating import as_measurement
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.command import with_status
from benchmarks.testbed import cluster, launch
from benchmarks.testbed.description import Host
from benchmarks.testbed.truth import hosts_at
from clue.calibration.link import FittedLink, progress_of
from clue.calibration.measurement import Measurement
from clue.calibration.network import Calibration, calibrate_link, calibrate_within, measure_link
from clue.config import load_machine
from clue.errors import UsageError
from clue.machine import Machine

#: Largest error, and largest difference of repeats, of a step that counts as met.
GOAL = 0.1
_STEPS = {step.name: step for step in STEPS}
PROGRAM = Path(__file__).with_name("program.py")


@with_status
def main(words: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy.micro",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("machines", nargs="+", type=Path, help="of two nodes with two processors each")
    parser.add_argument("--measured", type=Path, help="where measurements are kept")
    parser.add_argument("--repeats", type=int, default=5, help="measurements, each with a calibration of its own")
    parser.add_argument("--links", choices=("calibrated", "told"), default="calibrated")
    parser.add_argument("--seconds", type=float, default=15.0, help="to calibrate a link in")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.measured or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for machine in asked.machines:
            _compare(machine, asked, MeasurementFolder(folder))


def _compare(file: Path, asked: argparse.Namespace, known: MeasurementFolder) -> None:
    machine, hosts = load_machine(file), hosts_at(file)
    measured_rows, simulated_rows = [], []
    with ExitStack() as opened:

        @cache
        def testbed() -> str:
            lack = cluster.missing()
            if lack is not None:
                raise UsageError(lack)
            return opened.enter_context(launch.standing(f"micro{len(machine.name)}", hosts))

        def link(other: int) -> dict[str, Any]:
            mpiexec, addresses = [str(launch.mpiexec_of(testbed()))], [hosts[0].address, hosts[other].address]
            return asdict(measure_link(mpiexec, addresses, seconds=asked.seconds))

        for turn in range(asked.repeats):
            rows = known.get(f"micro-{machine.name}-{turn}", lambda: measured(testbed(), hosts))
            linked = machine if asked.links == "told" else _calibrated(machine, known, turn, link)
            measured_rows.append(rows)
            simulated_rows.append([simulated(_STEPS[row["step"]], row["size"], linked, row["bursts"]) for row in rows])
    print("\n".join(lines(machine.name, measured_rows, simulated_rows)))


def measured(testbed: str, hosts: Sequence[Host]) -> list[dict[str, Any]]:
    """Return the results of ``program.py`` on a testbed of two hosts with two processors each."""
    placed = [host for host in hosts for _ in range(host.processors)]
    rows: list[dict[str, Any]] = json.loads(launch.run(testbed, placed, [sys.executable, str(PROGRAM)]).output)
    return rows


def _calibrated(
    machine: Machine, known: MeasurementFolder, turn: int, measure: Callable[[int], dict[str, Any]]
) -> Machine:
    """Return a machine with links as calibrated in a turn; ``measure`` measures that from its first host to another."""

    def link(other: int, label: str, calibrate: Callable[[Measurement], Calibration]) -> FittedLink:
        found = known.get(f"link-{machine.name}{label}-{turn}", lambda: measure(other))
        return calibrate(as_measurement(found)).fitted

    between, within = link(1, "", calibrate_link), link(0, "-within", calibrate_within)
    network = replace(
        machine.network,
        between_nodes=between.link,
        within_node=within.link,
        pairs={},
        within={},
        progress=progress_of((between, within)),
    )
    return replace(machine, network=network)


def lines(
    name: str, measured_rows: Sequence[Sequence[dict[str, Any]]], simulated_rows: Sequence[Sequence[dict[str, Any]]]
) -> Iterator[str]:
    """Yield a table with a row for each step and size: measured and simulated times in microseconds, and the error.

    Args:
        name: Name of the machine.
        measured_rows: What ``program.py`` printed, for each repeat.
        simulated_rows: The same steps simulated, with the links and bursts of each repeat.
    """
    yield f"| {name}: step | size (B) | figure | measured (us) | repeats (us) | simulated (us) | error |"
    yield "| --- | ---: | --- | ---: | --- | ---: | ---: |"
    off, sure = [], []
    for i, row in enumerate(measured_rows[0]):
        for figure in [each for each in simulated_rows[0][i] if each not in {"step", "size"}]:
            real = [rows[i][figure] for rows in measured_rows]
            middle, virtual = median(real), median(rows[i][figure] for rows in simulated_rows)
            error = virtual / middle - 1 if middle else 0.0
            if figure == "whole":
                off.append(abs(error))
                sure.append(max(real) <= (1 + GOAL) * min(real))
            yield (
                f"| {row['step']} | {row['size']} | {figure} | {middle * 1e6:.0f} "
                f"| {min(real) * 1e6:.0f} to {max(real) * 1e6:.0f} | {virtual * 1e6:.0f} | {error:+.0%} |"
            )
    inside = [error <= GOAL for error in off]
    repeated = [good for good, each in zip(inside, sure, strict=True) if each]
    yield f"\n{sum(inside)} of {len(off)} steps within {GOAL:.0%}; mean absolute error {sum(off) / len(off):.1%}"
    yield f"{sum(repeated)} of {len(repeated)} steps whose repeats differ by at most {GOAL:.0%} are within {GOAL:.0%}"


if __name__ == "__main__":
    sys.exit(main())
