"""``clue inspect``: show what is in a trace, a machine or a configuration."""

from __future__ import annotations

import argparse
from pathlib import Path

from clue import report
from clue.cli.terminal import say, show, show_json
from clue.config import SimulationConfig, load_any
from clue.errors import UsageError
from clue.machine import Machine
from clue.trace import Trace

_TRACE_SUFFIXES = {".clue", ".zip"}


def run(arguments: argparse.Namespace) -> int:
    """Show one thing, whatever it is."""
    subject = arguments.subject
    if _is_trace(Path(subject)):
        _refuse_plots(arguments)
        trace = Trace.open(subject)
        _show(arguments, report.trace_document(trace), report.trace_text(trace))
        return 0
    found = load_any(subject)
    if isinstance(found, Machine):
        _show_machine(found, arguments)
        return 0
    _refuse_plots(arguments)
    if isinstance(found, SimulationConfig):
        _show(arguments, report.simulation_document(found), report.simulation_text(found))
    else:
        _show(arguments, report.scenario_document(found), report.scenario_text(found))
    return 0


def _is_trace(path: Path) -> bool:
    return path.is_dir() or path.suffix in _TRACE_SUFFIXES


def _refuse_plots(arguments: argparse.Namespace) -> None:
    if arguments.plots is not None:
        raise UsageError(f"{arguments.subject}: --plots must go with a machine")


def _show(arguments: argparse.Namespace, document: object, text: object) -> None:
    if arguments.json:
        show_json(document)
    else:
        show(text)  # type: ignore[arg-type]


def _show_machine(machine: Machine, arguments: argparse.Namespace) -> None:
    _show(arguments, report.machine_document(machine), report.machine_text(machine))
    if arguments.plots is not None:
        folder = Path(arguments.plots)
        folder.mkdir(parents=True, exist_ok=True)
        say([f"wrote {report.plot_machine(machine, folder)}"])
