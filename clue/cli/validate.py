"""``clue validate``: predictions held against run times that were measured, and where their errors come from."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from clue.cli.effects import refuse
from clue.cli.terminal import Report, plots_folder, progress, say, show, show_json
from clue.cli.traces import trace_source
from clue.config.validations import MeasuredCase, ValidationConfig, load_validation
from clue.errors import UsageError
from clue.kernel import Candidate, compile_program
from clue.kernel import Program as Compiled
from clue.purchase import Program
from clue.purchase.library import recording
from clue.report.text.validation import validation_text
from clue.report.validation import caveats_of, validation_document
from clue.trace import Trace
from clue.uncertainty import BurstNoise, Sampling
from clue.validation import Case, Validation, validate

#: A program at a number of ranks, and how much its recordings differ.
_Programs = dict[tuple[Program, int | None], tuple[Compiled, BurstNoise | None]]


def run(arguments: argparse.Namespace) -> int:
    """Predict what was measured, and show how right the predictions are."""
    config = load_validation(arguments.config)
    if not arguments.samples:
        refuse(arguments, ["--seed"], "with --samples of 1 or more", "0", config.name)
    with progress() as tell:
        cases = _cases(config, tell)
        validation = validate(
            cases,
            Sampling(arguments.samples, arguments.seed or 0) if arguments.samples else None,
            engine=arguments.engine,
            workers=arguments.workers or os.cpu_count() or 1,
            progress=tell,
        )
        plots = _plot(validation, config.name, arguments)
    if arguments.json:
        say(caveats_of(validation), prefix="clue: warning: ")
        show_json(validation_document(validation, config.name))
    else:
        show(validation_text(validation, config.name))
    say([f"wrote {path}" for path in plots])
    return 0


def _cases(config: ValidationConfig, tell: Report) -> list[Case]:
    """Get the traces of all cases, each once, and place their ranks."""
    programs: _Programs = {}
    return [_case(each, programs, tell) for each in config.cases]


def _case(case: MeasuredCase, programs: _Programs, tell: Report) -> Case:
    key = (case.program, case.ranks)
    if key not in programs:
        tell(f"reading {case.program_name}")
        trace, noise = recording(case.program, _ranks(case), trace_source(tell))
        programs[key] = compile_program(trace), noise
    compiled, noise = programs[key]
    try:
        placement = case.placement.place(case.machine, compiled.ranks * case.instances)
    except UsageError as error:
        raise UsageError(f"{case.program_name} on {case.machine_name}: {error}") from None
    where = Candidate(case.machine, placement, case.instances)
    return Case(case.program_name, case.machine_name, case.size, compiled, where, case.runs, case.spread, noise)


def _ranks(case: MeasuredCase) -> int:
    if case.ranks is not None:
        return case.ranks
    assert case.program.trace is not None, "who names no number of ranks has a trace that knows it"
    return Trace.open(case.program.trace).ranks


def _plot(validation: Validation, name: str, arguments: argparse.Namespace) -> list[Path]:
    if arguments.plots is None:
        return []
    from clue.report.plots.validation import plot_validation  # noqa: PLC0415 - matplotlib takes a second

    return [plot_validation(validation, plots_folder(arguments.plots), name)]
