"""``clue inspect``: show the contents of a trace, a machine or a configuration."""

from __future__ import annotations

import argparse
from pathlib import Path

from clue.cli.effects import refuse
from clue.cli.terminal import check_plots, plots_folder, say, show, show_json
from clue.config import SimulationConfig, load_any
from clue.files import exists
from clue.formats import Kind, format_of
from clue.machine import Machine
from clue.predict.application import PLACEHOLDER
from clue.report.machine.document import machine_document
from clue.report.machine.text import machine_text
from clue.report.scenario.document import scenario_document, sources_document
from clue.report.scenario.text import scenario_text
from clue.report.trace.document import sites_document, trace_document
from clue.report.trace.text import sites_text, trace_text
from clue.trace import Trace
from clue.units import count_of


def run(arguments: argparse.Namespace) -> int:
    """Show one subject, whatever its kind."""
    subject = arguments.subject
    form = format_of(Path(subject))
    if form is not None and form.kind is Kind.TRACE:
        _refuse_plots(arguments, "a trace")
        read = form.read(Path(subject))
        say(read.remarks, prefix="note: ")
        _show_trace(read.trace, arguments)
        return 0
    found = load_any(subject)
    refuse(arguments, ["--sites", "--loops"], "with a trace", _kind(found), subject)
    if isinstance(found, Machine):
        _show_machine(found, arguments)
        return 0
    _refuse_plots(arguments, _kind(found))
    if isinstance(found, SimulationConfig):
        _show_simulation(found, arguments)
    else:
        _show(arguments, scenario_document(found), scenario_text(found))
    return 0


def _kind(found: object) -> str:
    return {Machine: "a machine", SimulationConfig: "a simulation"}.get(type(found), "a comparison")


def _show_trace(trace: Trace, arguments: argparse.Namespace) -> None:
    if arguments.loops:
        _show_loops(trace, arguments)
    elif arguments.sites:
        _show(arguments, sites_document(trace), sites_text(trace))
    else:
        _show(arguments, trace_document(trace), trace_text(trace))


def _show_loops(trace: Trace, arguments: argparse.Namespace) -> None:
    refuse(arguments, ["--sites"], "without --loops", "both")
    from clue.analysis.loops import LoopsProfile  # noqa: PLC0415 - numpy
    from clue.report.loops.document import loops_document  # noqa: PLC0415
    from clue.report.loops.text import loops_text  # noqa: PLC0415

    profile = LoopsProfile.of(trace)
    _show(arguments, loops_document(profile), loops_text(profile))


def _show_simulation(config: SimulationConfig, arguments: argparse.Namespace) -> None:
    """Show the trace, if there is one already, and the machine."""
    program = config.program
    path = (program.trace or "").replace(PLACEHOLDER, str(config.ranks))
    trace = Trace.open(path) if path and exists(Path(path)) else None
    if arguments.json:
        named: dict[str, object] = {
            "script": str(program.script or ""),
            "arguments": list(program.arguments),
            "trace": path,
            **sources_document(program),
        }
        document: dict[str, object] = {"simulation": config.name, "program": named, "ranks": config.ranks}
        if trace is not None:
            document |= {"ranks": trace.ranks, "trace": trace_document(trace)}
        show_json({**document, "machine": machine_document(config.machine)})
        return
    if trace is not None:
        show(trace_text(trace))
    elif path:
        show(f"{path}: a trace that does not exist")
    else:
        assert config.ranks is not None, "a program without a trace has a number of ranks"
        wanted = program.extrapolated
        how = "to be recorded" if wanted is None else f"at size {wanted.size}, to be extrapolated"
        show(f"{program.script or program.name} on {count_of(config.ranks)}, {how} on first use")
    show(machine_text(config.machine))


def _refuse_plots(arguments: argparse.Namespace, kind: str) -> None:
    refuse(arguments, ["--plots"], "with a machine", kind, arguments.subject)


def _show(arguments: argparse.Namespace, document: object, text: object) -> None:
    if arguments.json:
        show_json(document)
    else:
        show(text)  # type: ignore[arg-type]


def _show_machine(machine: Machine, arguments: argparse.Namespace) -> None:
    check_plots(arguments.plots)
    _show(arguments, machine_document(machine), machine_text(machine))
    if arguments.plots is not None:
        from clue.report.machine.plot import plot_machine  # noqa: PLC0415 - matplotlib takes a second

        say([f"wrote {plot_machine(machine, plots_folder(arguments.plots))}"])
