"""``clue simulate``: one program on one machine, or a comparison of what a budget can buy."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from clue.cli.status import INTERRUPTED
from clue.cli.terminal import plots_folder, progress, say, show, show_json
from clue.cli.traces import trace_source
from clue.config import SimulationConfig, load_config
from clue.errors import UsageError
from clue.kernel import simulate
from clue.machine import Machine
from clue.purchase import Ranking, Scenario, TraceSource, rank_options
from clue.report.document import ranking_document, result_document
from clue.report.text.ranking import ranking_text
from clue.report.text.result import result_text
from clue.result import Result
from clue.trace import Trace


def run(arguments: argparse.Namespace) -> int:
    """Simulate what the configuration describes, and show it."""
    config = load_config(arguments.config, full=arguments.full)
    if isinstance(config, Scenario):
        return _compare(config, arguments)
    _simulate(config, arguments)
    return 0


def _compare(scenario: Scenario, arguments: argparse.Namespace) -> int:
    with progress() as tell:
        ranking = rank_options(
            scenario,
            trace_source(tell),
            tell,
            engine=arguments.engine,
            top=arguments.top,
            executor=arguments.executor,
            workers=arguments.workers or os.cpu_count() or 1,
            thorough=arguments.plots is not None,
        )
        plots = _plot(ranking, arguments)
    if arguments.json:
        say(ranking.warnings, prefix="clue: warning: ")
        show_json(ranking_document(ranking))
    else:
        show(ranking_text(ranking))
    say([f"wrote {path}" for path in plots])
    return INTERRUPTED if ranking.interrupted else 0


def _plot(ranking: Ranking, arguments: argparse.Namespace) -> list[Path]:
    if arguments.plots is None:
        return []
    from clue.report.plots import plot_ranking  # noqa: PLC0415 - matplotlib takes a second

    return plot_ranking(ranking, plots_folder(arguments.plots))


def _simulate(config: SimulationConfig, arguments: argparse.Namespace) -> None:
    with progress() as tell:
        trace = _trace(config, trace_source(tell))
        placement = config.placement.place(config.machine, trace.ranks * config.instances)
        tell(f"simulating {trace.name} on {config.machine.name}")
        pictures = arguments.plots is not None
        result = simulate(
            trace,
            config.machine,
            placement,
            arguments.engine,
            instances=config.instances,
            timeline=pictures,
            traffic=pictures,
        )
        title = f"{Path(trace.head.program).name} on {config.machine.name}"
        plots = _plot_result(result, config.machine, title, arguments)
    _show(result, title, arguments)
    say([f"wrote {path}" for path in plots])


def _plot_result(result: Result, machine: Machine, title: str, arguments: argparse.Namespace) -> list[Path]:
    if arguments.plots is None:
        return []
    from clue.report.plots import plot_machine, plot_result  # noqa: PLC0415 - matplotlib takes a second

    folder = plots_folder(arguments.plots)
    return [*plot_result(result, folder, title), plot_machine(machine, folder)]


def _trace(config: SimulationConfig, source: TraceSource) -> Trace:
    if config.ranks is not None:
        trace = source(config.program, config.ranks)
        if trace.ranks != config.ranks:
            raise UsageError(f"{trace.name}: trace must have {config.ranks} ranks, got {trace.ranks}")
        return trace
    if config.program.trace is None:
        raise UsageError(f"{config.name}: program must have a trace or a number of ranks, got neither")
    return Trace.open(config.program.trace)


def _show(result: Result, title: str, arguments: argparse.Namespace) -> None:
    if arguments.json:
        say(result.warnings, prefix="clue: warning: ")
        show_json(result_document(result))
    else:
        show(result_text(result, title))
