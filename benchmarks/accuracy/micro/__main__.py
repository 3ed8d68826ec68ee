"""Single messages, measured and simulated.

``python -m benchmarks.accuracy.micro MACHINE.yaml... [--measured FOLDER] [--links calibrated|told]``

Measures the steps on the testbed of each machine, as root; calibrates its links there as ``clue calibrate network``
does; simulates the steps on the machine with these links; prints a table. Measurements are kept in the folder, as
``micro-NAME.json`` and ``link-NAME.json``, and reused.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.accuracy.micro.simulated import simulated
from benchmarks.accuracy.micro.steps import STEPS
from benchmarks.accuracy.validate.calibrating import as_measurement
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.testbed import cluster, launch
from benchmarks.testbed.description import Host
from benchmarks.testbed.truth import hosts_at
from clue.calibration.link import FittedLink, progress_of
from clue.calibration.network import calibrate_link, measure_link
from clue.config import load_machine
from clue.errors import ClueError, UsageError
from clue.machine import Machine

PROGRAM = Path(__file__).with_name("program.py")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy.micro",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("machines", nargs="+", type=Path, help="of two nodes with two processors each")
    parser.add_argument("--measured", type=Path, help="where measurements are kept")
    parser.add_argument("--links", choices=("calibrated", "told"), default="calibrated")
    parser.add_argument("--seconds", type=float, default=15.0, help="to calibrate a link in")
    asked = parser.parse_args(words)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = asked.measured or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            for machine in asked.machines:
                _compare(machine, asked, MeasurementFolder(folder))
    except ClueError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


def _compare(file: Path, asked: argparse.Namespace, known: MeasurementFolder) -> None:
    machine, hosts = load_machine(file), hosts_at(file)
    with ExitStack() as opened:

        @cache
        def testbed() -> str:
            lack = cluster.missing()
            if lack is not None:
                raise UsageError(lack)
            return opened.enter_context(launch.standing(f"micro{len(machine.name)}", hosts))

        rows = known.get(f"micro-{machine.name}", lambda: measured(testbed(), hosts))
        if asked.links == "calibrated":
            machine = _calibrated(machine, known, testbed, hosts, asked.seconds)
    print("\n".join(lines(machine, rows)))


def measured(testbed: str, hosts: Sequence[Host]) -> list[dict[str, Any]]:
    """Return the results of ``program.py`` on a testbed of two hosts with two processors each."""
    placed = [host for host in hosts for _ in range(host.processors)]
    rows: list[dict[str, Any]] = json.loads(launch.run(testbed, placed, [sys.executable, str(PROGRAM)]).output)
    return rows


def _calibrated(
    machine: Machine, known: MeasurementFolder, testbed: Any, hosts: Sequence[Host], seconds: float
) -> Machine:
    def link(other: int, label: str) -> FittedLink:
        def measure() -> dict[str, Any]:
            addresses = [hosts[0].address, hosts[other].address]
            return asdict(measure_link([str(launch.mpiexec_of(testbed()))], addresses, seconds=seconds))

        return calibrate_link(as_measurement(known.get(f"link-{machine.name}{label}", measure))).fitted

    between, within = link(1, ""), link(0, "-within")
    network = replace(
        machine.network,
        between_nodes=between.link,
        within_node=within.link,
        pairs={},
        within={},
        progress=progress_of((between, within)),
    )
    return replace(machine, network=network)


def lines(machine: Machine, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a table with a row for each step and size: measured and simulated times in microseconds, and the error."""
    steps = {step.name: step for step in STEPS}
    yield f"| {machine.name}: step | size (B) | figure | measured (us) | simulated (us) | error |"
    yield "| --- | ---: | --- | ---: | ---: | ---: |"
    off = []
    for row in rows:
        model = simulated(steps[row["step"]], row["size"], machine)
        for name in [each for each in model if each not in {"step", "size"}]:
            real, virtual = row[name], model[name]
            error = virtual / real - 1 if real else 0.0
            off += [abs(error)] if name == "whole" else []
            yield (
                f"| {row['step']} | {row['size']} | {name} | {real * 1e6:.0f} | {virtual * 1e6:.0f} | {error:+.0%} |"
            )
    inside = sum(error <= 0.1 for error in off)
    yield f"\n{inside} of {len(off)} steps within 10 %; mean absolute error {sum(off) / len(off):.1%}"


if __name__ == "__main__":
    sys.exit(main())
