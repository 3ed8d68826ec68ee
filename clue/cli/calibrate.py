"""``clue calibrate``: a network, its contention or a processor, measured or imported, becomes a machine's YAML."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from clue.calibration.importing import read_benchmark
from clue.calibration.measurement import Measurement, merged
from clue.calibration.network import SIZES, Calibration, calibrate_link, machine_file, measure_link
from clue.cli.terminal import Report, plots_folder, progress, say, show, show_json
from clue.config import load_machine
from clue.errors import UsageError
from clue.recording import find_mpiexec
from clue.report.text.calibration import network_document, network_text
from clue.units import Quantity, parse_quantity


def run(arguments: argparse.Namespace) -> int:
    """Calibrate one subject and write what came out."""
    return _SUBJECTS[arguments.subject](arguments)


def _network(arguments: argparse.Namespace) -> int:
    output, name = _output(arguments)
    with progress() as tell:
        between, within = _links(arguments, tell)
    file = machine_file(
        between,
        within,
        name=name,
        nodes=arguments.nodes,
        processors=arguments.processors or (1 if arguments.files else os.cpu_count() or 1),
    )
    _write(output, file.text())
    # What was written must be what the simulator reads.
    load_machine(str(output))
    if arguments.json:
        show_json(network_document(between, within, str(output)))
    else:
        show(network_text(between, within))
    say([f"wrote {output}"])
    if arguments.plots is not None:
        from clue.report.plots.calibration import plot_calibration  # noqa: PLC0415 - matplotlib takes a second

        folder = plots_folder(arguments.plots)
        for each, place in ((between, "between-nodes"), (within, "within-node")):
            if each is not None:
                say([f"wrote {plot_calibration(each, folder, name, place)}"])
    return 0


def _links(arguments: argparse.Namespace, tell: Report) -> tuple[Calibration | None, Calibration | None]:
    """Return the links between nodes and within a node, as far as files or measurements give them."""
    limit = _eager_limit(arguments.eager_limit)
    if arguments.files:
        link = calibrate_link(_imported(arguments), limit)
        return (None, link) if arguments.within_node else (link, None)
    if arguments.where or arguments.form or arguments.within_node:
        raise UsageError("--form, --where and --within-node must go with files to import, got none")
    hosts = [host for host in (arguments.hosts or "").split(",") if host]
    if len(hosts) > 2:
        raise UsageError(f"--hosts must name two computers, or one to measure within it, got {len(hosts)}")
    first = _measured(arguments, hosts, tell)
    if first.same_host:
        return None, calibrate_link(first, limit)
    if not hosts:
        return calibrate_link(first, limit), None
    second = _measured(arguments, hosts[:1], tell)
    return calibrate_link(first, limit), calibrate_link(second, limit)


def _measured(arguments: argparse.Namespace, hosts: list[str], tell: Report) -> Measurement:
    largest = _size(arguments.largest, "--largest")
    return measure_link(
        _mpiexec(arguments),
        hosts,
        sizes=[size for size in SIZES if size <= largest],
        seconds=arguments.time,
        confidence=arguments.confidence,
        precision=arguments.precision,
        report=tell,
    )


def _imported(arguments: argparse.Namespace) -> Measurement:
    where = dict(_condition(text) for text in arguments.where)
    return merged([read_benchmark(_text(name), name, arguments.form, where) for name in arguments.files])


def _condition(text: str) -> tuple[str, str]:
    column, found, pattern = text.partition("=")
    if not found or not column:
        raise UsageError(f"--where must have the form COLUMN=PATTERN, got {text!r}")
    return column.strip(), pattern.strip()


def _text(name: str) -> str:
    try:
        return Path(name).read_text(errors="replace")
    except OSError as error:
        raise UsageError(f"{name}: file must be readable, got {error.strerror or error}") from None


def _eager_limit(text: str | None) -> float | None:
    if text is None:
        return None
    return float("inf") if text == "none" else _size(text, "--eager-limit")


def _size(text: str, option: str) -> float:
    try:
        return parse_quantity(text, Quantity.SIZE)
    except ValueError as error:
        raise UsageError(f"{option} {error}") from None


def _mpiexec(arguments: argparse.Namespace) -> list[str]:
    return shlex.split(arguments.mpiexec) if arguments.mpiexec else [find_mpiexec()]


def _output(arguments: argparse.Namespace) -> tuple[Path, str]:
    """Return the file to write and the name of what it holds."""
    name = arguments.name or (Path(arguments.output).stem if arguments.output else "calibrated")
    output = Path(arguments.output or f"{name}.yaml")
    if output.is_dir() or not output.resolve().parent.is_dir():
        raise UsageError(f"{output}: output must be a file in a folder that exists")
    return output, name


def _write(path: Path, text: str) -> None:
    """Write all or nothing."""
    draft = path.with_name(f".{path.name}.part")
    try:
        draft.write_text(text)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"{path}: file must be writable, got {error.strerror or error}") from None


_SUBJECTS = {"network": _network}
