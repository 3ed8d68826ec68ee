"""``clue model graph``: draw a program's structure, and compose a model from models of its parts."""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path

from clue.analysis.graph import GraphProfile
from clue.cli.effects import refuse
from clue.cli.model_runs import read_by
from clue.cli.terminal import (
    check_different,
    check_plots,
    output_file,
    plots_folder,
    progress,
    say,
    show,
    show_json,
)
from clue.composition import SiteTimes, compose, on_critical_path, recorded, with_first_bursts
from clue.config import load_machine
from clue.errors import TraceError, UsageError
from clue.extrapolation import Family
from clue.extrapolation.family import has_sites
from clue.extrapolation.pattern import RANKS, SIZE
from clue.files import write_texts
from clue.models.parts import FITS, ProgramModel
from clue.predict.modelling import description_of
from clue.progress import Reporter
from clue.report.graph.document import graph_document
from clue.report.graph.graphviz import graph_dot
from clue.report.graph.text import graph_text
from clue.report.model.program_document import program_model_yaml
from clue.structure import Example, Graph, examples_of
from clue.trace import Trace
from clue.units import count_of


def run(arguments: argparse.Namespace) -> int:
    """Draw the graph of a trace, or compose the model of several."""
    check_plots(arguments.plots)
    read = read_by(arguments.trace, arguments.machine)
    written = (("-o", arguments.output), ("--dot", arguments.dot))
    check_different(((option, Path(name)) for option, name in written if name is not None), arguments.plots)
    target = None if arguments.dot is None else output_file(arguments.dot, read)
    kept = None if arguments.output is None else output_file(arguments.output, read)
    several = SIZE in arguments.trace or RANKS in arguments.trace
    with progress() as tell:
        profile = _of_family(arguments, tell) if several else _of_trace(arguments, tell)
    if arguments.json:
        show_json(graph_document(profile))
    else:
        show(graph_text(profile))
    if kept is not None:
        _keep(profile, kept, arguments)
    if target is not None:
        write_texts({target: graph_dot(profile)})
        say([f"wrote {target}"])
    if arguments.plots is not None:
        from clue.report.graph.plot import plot_graph  # noqa: PLC0415 - matplotlib takes a second

        say([f"wrote {plot_graph(profile, plots_folder(arguments.plots))}"])
    return 0


def _keep(profile: GraphProfile, target: Path, arguments: argparse.Namespace) -> None:
    """Write the model of a program."""
    assert profile.composition is not None, "a pattern requests it"
    today, machine = datetime.date.today().isoformat(), load_machine(arguments.machine)
    how, runs = arguments.fit or "plausible", profile.composition.runs
    described, node_ranks = description_of(machine), profile.node_ranks
    model = ProgramModel(target.stem, how, machine.name, profile.name, today, runs, described, node_ranks)
    write_texts({target: program_model_yaml(model)})
    say([f"wrote {target}"])


def _of_trace(arguments: argparse.Namespace, tell: Reporter) -> GraphProfile:
    refuse(
        arguments, ["--size", "--ranks", "--fit", "-o"], f"with a pattern such as cg-{SIZE}-{RANKS}.clue", "one trace"
    )
    trace = Trace.open(Path(arguments.trace))
    if not has_sites(trace):
        raise TraceError(
            f"{arguments.trace}: trace must have call sites, got none: record it again, as an earlier version of clue "
            "or another recorder made it"
        )
    sites, examples = examples_of([(0, trace.ranks, trace)])
    times, measure = _times(arguments, examples, len(sites), tell)
    graph, times = with_first_bursts(Graph.of(sites, examples), examples, times)
    return GraphProfile(trace.name, graph, 0, trace.ranks, times[0], measure)


def _of_family(arguments: argparse.Namespace, tell: Reporter) -> GraphProfile:
    if arguments.machine is None:
        raise UsageError(f"{arguments.trace}: --machine must name the machine of the models, got none")
    if (arguments.size is None) != (arguments.ranks is None):
        raise UsageError("--size and --ranks must go together, got one of them")
    family = Family.open(arguments.trace)
    sites, examples = examples_of([(each.size, each.ranks, each.typical) for each in family.recordings])
    times, measure = _times(arguments, examples, len(sites), tell)
    graph, times = with_first_bursts(Graph.of(sites, examples), examples, times)
    tell("fitting")
    composition = compose(graph, examples, times, FITS[arguments.fit or "plausible"])
    largest = max(range(len(examples)), key=lambda i: (examples[i].ranks, examples[i].size))
    shown = examples[largest]
    said = f"size {shown.size:,} on {count_of(shown.ranks)}, {measure}"
    target = None if arguments.size is None else (arguments.size, arguments.ranks)
    node_ranks = load_machine(arguments.machine).nodes[0].processors
    return GraphProfile(family.name, graph, largest, shown.ranks, times[largest], said, composition, target, node_ranks)


def _times(
    arguments: argparse.Namespace, examples: list[Example], sites: int, tell: Reporter
) -> tuple[list[SiteTimes], str]:
    """Return the times of each recording, and what these are in words."""
    if arguments.machine is None:
        return [recorded(each, sites) for each in examples], "as recorded, mean over ranks"
    machine = load_machine(arguments.machine)
    found = []
    for i, each in enumerate(examples):
        tell(f"replaying {each.trace.name} on {machine.name}", i, len(examples))
        found.append(on_critical_path(each, sites, machine))
    return found, f"the critical path of a replay on {machine.name}"
