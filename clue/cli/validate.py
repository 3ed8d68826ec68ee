"""``clue validate``: compare predictions with measured run times, and find the sources of errors."""

from __future__ import annotations

import argparse
import datetime
import math
from pathlib import Path

from clue.cli.effects import refuse
from clue.cli.terminal import check_plots, output_file, plots_folder, progress, say, show, show_json
from clue.cli.traces import Traces
from clue.config.model_errors import known_model_error, shipped_model_error, site_file
from clue.config.validations import MeasuredCase, ValidationConfig, load_validation
from clue.errors import UsageError
from clue.files import noted, write_texts
from clue.kernel import Candidate, Program, compile_program
from clue.predict.application import Key
from clue.predict.replaying import Origin, must_be_one_program, recording
from clue.progress import Reporter
from clue.report.validation.document import validation_document
from clue.report.validation.text import validation_text
from clue.skeleton.prediction import Measured
from clue.trace import Trace
from clue.trace.computer import usable_processors
from clue.uncertainty import BurstNoise, Sampling
from clue.validation import Case, Validation, validate
from clue.validation.learning import Known, as_yaml, learn


def run(arguments: argparse.Namespace) -> int:
    """Predict the measured runs, and show the errors."""
    check_plots(arguments.plots)
    with noted() as read:
        config = load_validation(arguments.config)
    if arguments.learn:
        output_file(site_file(), read)  # refused before anything is simulated
    if not arguments.samples:
        refuse(arguments, ["--seed"], "with --samples of 1 or more", "0", config.name)
    if all(case.program.measured is not None for case in config.cases):
        refuse(arguments, ["--repeats"], "with a script to record", "runs of skeletons only", config.name)
    with progress() as tell:
        cases = _cases(config, Traces(tell, arguments.repeats), tell)
        validation = validate(
            cases,
            Sampling(arguments.samples, arguments.seed or 0) if arguments.samples else None,
            known_model_error(may_lack=arguments.learn) if arguments.samples else None,
            engine=arguments.engine,
            workers=arguments.workers or usable_processors(),
            progress=tell,
        )
        plots = _plot(validation, config.name, arguments)
    if arguments.json:
        say(validation.caveats, prefix="clue: warning: ")
        show_json(validation_document(validation, config.name))
    else:
        show(validation_text(validation, config.name))
    if arguments.learn:
        plots.append(_learn(validation, config.name))
    say([f"wrote {path}" for path in plots])
    return 0


def _learn(validation: Validation, name: str) -> Path:
    """Combine these errors with the shipped ones for further predictions at this site."""
    cases = [
        Known(each.case.program, math.log(each.case.measured / each.predicted), each.character)
        for each in validation.compared
        if each.character is not None
    ]
    if not cases:
        raise UsageError(f"{name}: --learn must have cases that are simulated, got none")
    today = datetime.date.today().isoformat()
    learned = learn(cases, source=f"{name}, validated here", date=today, prior=shipped_model_error())
    write_texts({site_file(): as_yaml(learned)})
    return site_file()


def _cases(config: ValidationConfig, traces: Traces, tell: Reporter) -> list[Case]:
    """Get the traces of all cases, each once, and place their ranks."""
    keys = [(case.program, _ranks(case)) for case in config.cases]
    names = dict(zip(keys, (case.program_name for case in config.cases), strict=True))
    wanted = {key: name for key, name in names.items() if key[0].measured is None}
    programs: dict[Key, tuple[Program | Measured, BurstNoise | None]] = {
        key: (key[0].measured, None) for key in keys if key[0].measured is not None
    }
    origins: dict[str, list[Origin]] = {}
    for (key, name), application in zip(wanted.items(), traces.record(list(wanted)), strict=True):
        tell(f"reading {name}")
        trace, noise = recording(application, key[1], traces)
        programs[key] = compile_program(trace), noise
        if key[0].trace is not None and (origin := Origin.of(trace)) is not None:
            origins.setdefault(name, []).append(origin)
    for each in origins.values():
        must_be_one_program(each)
    return [_case(case, *programs[key]) for key, case in zip(keys, config.cases, strict=True)]


def _case(case: MeasuredCase, source: Program | Measured, noise: BurstNoise | None) -> Case:
    try:
        placement = case.placement.place(case.machine, source.ranks * case.instances)
    except UsageError as error:
        raise UsageError(f"{case.program_name} on {case.machine_name}: {error}") from None
    where = Candidate(case.machine, placement, case.instances)
    return Case(case.program_name, case.machine_name, case.size, source, where, case.runs, case.spread, noise)


def _ranks(case: MeasuredCase) -> int:
    if case.ranks is not None:
        return case.ranks
    assert case.program.trace is not None, "a case without a number of ranks has a trace that states it"
    return Trace.open(case.program.trace).ranks


def _plot(validation: Validation, name: str, arguments: argparse.Namespace) -> list[Path]:
    if arguments.plots is None:
        return []
    from clue.report.validation.plot import plot_validation  # noqa: PLC0415 - matplotlib takes a second

    return [plot_validation(validation, plots_folder(arguments.plots), name)]
