"""``clue simulate``: one program on one machine, or a comparison of what a budget can buy."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from clue.cli.comparing import check_repeats, noise_of, predictor_of, sampling_of, workers_of
from clue.cli.effects import is_given, refuse
from clue.cli.exports import check_files, write_ranking, write_result
from clue.cli.results import plot_ranking, plot_result, show_ranking, show_result, status_of
from clue.cli.signals import INTERRUPTED
from clue.cli.terminal import Volume, check_plots, detail, plots_folder, progress, say
from clue.cli.traces import Traces
from clue.config import SimulationConfig, load_config
from clue.config.model_errors import known_model_error
from clue.errors import UsageError
from clue.explain import RankingExplanation, explain, explain_ranking
from clue.files import noted
from clue.kernel import Candidate, Program, compile_program, engine_for, reason_for, simulate, simulate_loops
from clue.machine import Placement
from clue.predict.executors import PROCESSES
from clue.predict.predictor import Predictor
from clue.predict.replaying import recording
from clue.progress import Reporter
from clue.purchase import Criterion, Ranking, Scenario, rank_options
from clue.purchase.queueing import QUEUED
from clue.purchase.tasks import tasks_of
from clue.recording import repeats_beside
from clue.report.timeline import check_length, form_of, write_timeline
from clue.result import Result
from clue.steady import simulate_sampled
from clue.trace import Trace
from clue.uncertainty import BurstNoise, Sampled, sample_errors

if TYPE_CHECKING:
    from clue.extrapolation import InLoops

#: Options that need the whole program replayed op by op.
_NEED_ALL = ("--samples", "--explain", "--plots", "--trace-out", "--html")
_NOTHING_TO_EXPLAIN = "explanation: at least two options must have a position, got fewer: it is left out"


def run(arguments: argparse.Namespace) -> int:
    """Simulate the configuration, and show the result."""
    check_plots(arguments.plots)
    if arguments.trace_out is not None:
        form_of(Path(arguments.trace_out))
    if arguments.plots is None:
        refuse(arguments, ["--window", "--colour-by"], "with --plots", "no folder for plots")
    with noted() as read:
        config = load_config(arguments.config, full=arguments.full, more=arguments.next)
    if not arguments.samples:
        refuse(arguments, ["--seed"], "with --samples", "none", config.name)
    if isinstance(config, Scenario):
        return _compare(config, arguments, read)
    only = ["--executor", "--top", "--next", "--answers"]
    refuse(arguments, only, "with a comparison", "one program on one machine", config.name)
    if not arguments.samples:
        refuse(arguments, ["--workers"], "with a comparison or --samples", "one simulation", config.name)
    if arguments.sampled:
        given = [option for option in _NEED_ALL if is_given(arguments, option)]
        if given:
            refuse(
                arguments, ["--sampled"], "without options that need a whole replay", " and ".join(given), config.name
            )
    check_files(arguments, chain(read, config.program.files([config.ranks or 1])))
    if config.program.extrapolated is None:
        _simulate(config, arguments)
    else:
        _simulate_extrapolated(config, arguments)
    return 0


def _compare(scenario: Scenario, arguments: argparse.Namespace, read: Iterable[Path]) -> int:
    single = ["--window", "--colour-by", "--trace-out"]
    refuse(arguments, single, "with one program on one machine", "a comparison", scenario.name)
    if arguments.sampled and arguments.explain:
        refuse(arguments, ["--sampled"], "without options that need a whole replay", "--explain", scenario.name)
    wanted = [scenario.criterion, *scenario.weighted]
    if queued := [each.value for each in wanted if each in QUEUED]:
        refuse(arguments, ["--samples", "--sampled"], "with a criterion without a queue", queued[0], scenario.name)
    if queued or scenario.criterion is Criterion.WEIGHTED:
        rule = "with a criterion that is neither weighted nor of a queue"
        refuse(arguments, ["--explain"], rule, scenario.criterion.value, scenario.name)
    executor = arguments.executor or PROCESSES
    if executor != PROCESSES:
        refuse(arguments, ["--workers"], f"with --executor {PROCESSES}", executor, scenario.name)
    check_repeats(scenario, arguments)
    check_files(arguments, chain(read, _files_of(scenario)))
    with progress() as tell:
        predictor = predictor_of(arguments, tell, executor)
        thorough, (sampling, error) = arguments.plots is not None, sampling_of(arguments)
        ranking = rank_options(
            scenario, predictor, tell, top=arguments.top, thorough=thorough, sampling=sampling, error=error
        )
        plots = plot_ranking(ranking, arguments)
        watched, interrupted = _watched(scenario, ranking, predictor, arguments, tell)
        explanation = None
        if not interrupted:
            explanation, interrupted = _explain_ranking(scenario, ranking, predictor, arguments, tell)
    if arguments.explain and explanation is None and not interrupted:
        ranking = replace(ranking, warnings=(*ranking.warnings, _NOTHING_TO_EXPLAIN))
    show_ranking(ranking, arguments, explanation)
    write_ranking(ranking, scenario, arguments, explanation, watched)
    say([f"wrote {path}" for path in plots])
    return INTERRUPTED if interrupted else status_of(ranking, scenario.place)


def _files_of(scenario: Scenario) -> Iterator[Path]:
    """Yield the files that the programs of a comparison name."""
    machines = {option.machine.name for option in scenario.options}
    for workload in scenario.workloads:
        for component in workload.components:
            yield from component.application.files(workload.ranks, machines)


def _watched(
    scenario: Scenario, ranking: Ranking, predictor: Predictor, arguments: argparse.Namespace, tell: Reporter
) -> tuple[list[tuple[str, Result | None]], bool]:
    """Return the timeline of the first option, if a page is requested, and whether anything was interrupted."""
    first = next((each for each in ranking.entries if each.position == 1), None)
    if arguments.html is None or first is None or ranking.interrupted:
        return [], ranking.interrupted
    found = []
    try:
        for what, task in tasks_of(first, scenario, predictor, tell):
            tell(f"timeline of {what}")
            found.append((what, predictor.watched(task)))
    except KeyboardInterrupt:
        # The ranking is complete, and is shown.
        what = "timelines and the explanation" if arguments.explain else "timelines"
        say([f"interrupted: the {what} of the first place are left out"], prefix="clue: ", at=Volume.ERRORS)
        return [], True
    return found, False


def _explain_ranking(
    scenario: Scenario, ranking: Ranking, predictor: Predictor, arguments: argparse.Namespace, tell: Reporter
) -> tuple[RankingExplanation | None, bool]:
    """Explain the first place, if requested; return also whether this was interrupted."""
    if not arguments.explain:
        return None, False
    try:
        explanation = explain_ranking(scenario, ranking, predictor, tell)
    except KeyboardInterrupt:
        # The ranking is complete, and is shown.
        say(["interrupted: the explanation of the first place is left out"], prefix="clue: ", at=Volume.ERRORS)
        return None, True
    return explanation, False


def _simulate_part(config: SimulationConfig, arguments: argparse.Namespace) -> None:
    with progress() as tell:
        trace, placement = _prepared(config, arguments, tell)[:2]
        name = _name(config, trace)
        tell(f"simulating a part of {name} on {config.machine.name}")
        steady = simulate_sampled(
            trace, config.machine, placement, arguments.engine, instances=config.instances, name=name
        )
    detail(f"the {steady.result.engine} engine replayed {steady.result.ops:,} ops of {steady.of:,}")
    title = _title(config, trace)
    show_result(steady.result, title, arguments, steady=steady)
    write_result(steady.result, config.machine, title, arguments, steady=steady)


def _simulate_extrapolated(config: SimulationConfig, arguments: argparse.Namespace) -> None:
    """Simulate an extrapolated program; if it has too many ops to expand, replay its loops."""
    from clue.extrapolation import TooLongError  # noqa: PLC0415 - only extrapolation needs it

    try:
        _simulate(config, arguments)
    except TooLongError as error:
        if not error.can_be_replayed:
            raise
        got = f"about {error.loops.ops:,} ops, whose loops are replayed"
        needing = [*_NEED_ALL, "--sampled"]
        refuse(arguments, needing, "with an expanded trace", got, config.name)
        if arguments.engine == "reference":
            raise UsageError(f"{config.name}: --engine reference must go with an expanded trace, got {got}") from None
        _simulate_loops(config, arguments, error.loops)


def _simulate_loops(config: SimulationConfig, arguments: argparse.Namespace, loops: InLoops) -> None:
    from clue.extrapolation import Family, in_loops  # noqa: PLC0415 - see above

    wanted = config.program.extrapolated
    assert wanted is not None
    with progress() as tell:
        program = in_loops(Family.open(wanted.pattern), loops)
        name = program.program.name
        what = f"simulating {name} on {config.machine.name}"
        tell(what)
        result = simulate_loops(
            program,
            config.machine,
            config.placed(loops.ranks),
            instances=config.instances,
            tell=lambda done: tell(what, done, program.ops * config.instances),
        )
    detail(f"the {result.engine} engine replayed {result.ops:,} ops: as loops, because there are too many to expand")
    title = f"{name} on {config.machine.name}"
    show_result(result, title, arguments)
    write_result(result, config.machine, title, arguments)


def _simulate(config: SimulationConfig, arguments: argparse.Namespace) -> None:
    (_simulate_part if arguments.sampled else _simulate_whole)(config, arguments)


def _simulate_whole(config: SimulationConfig, arguments: argparse.Namespace) -> None:
    with progress() as tell:
        trace, placement, noise = _prepared(config, arguments, tell)
        if arguments.colour_by == "site" and len(trace.head.sites) < 2:
            refuse(arguments, ["--colour-by"], "with a trace that has call sites", "none: record it again", config.name)
        program = replace(compile_program(trace), name=_name(config, trace))
        tell(f"simulating {program.name} on {config.machine.name}")
        pictures, traced = arguments.plots is not None, arguments.trace_out is not None
        if traced:
            check_length(program.ops * config.instances, config.name)
        whole = pictures or traced or arguments.html is not None
        work = program.work * config.instances * (1 + (arguments.samples or 0))
        engine = engine_for(work, arguments.engine)
        result = simulate(
            program,
            config.machine,
            placement,
            arguments.engine if whole else engine,
            instances=config.instances,
            timeline=whole,
            traffic=pictures,
            calls=traced,
        )
        why = "only the reference keeps a timeline" if whole else reason_for(arguments.engine, engine, work)
        detail(f"the {result.engine} engine replayed {result.ops:,} ops: {why}")
        where = Candidate(config.machine, placement, config.instances)
        sampled = _sample(program, noise, where, result.makespan, engine=engine, arguments=arguments, tell=tell)
        if sampled is not None:
            remarks = [*sampled.remarks(), *_unnamed_repeats(trace, noise)]
            result = replace(result, warnings=(*result.warnings, *(f"samples: {remark}" for remark in remarks)))
        explanation = None
        if arguments.explain:
            explanation = explain(
                program, config.machine, placement, config.instances, engine=arguments.engine, progress=tell
            )
        title = _title(config, trace)
        plots = plot_result(result, config.machine, title, arguments, explanation)
        if sampled is not None and pictures:
            plots.append(_plot_samples(sampled, title, arguments))
        if traced:
            tell("writing the timeline")
            plots += write_timeline(Path(arguments.trace_out), trace, program, config.machine, result)
    show_result(result, title, arguments, sampled=sampled, explanation=explanation)
    write_result(result, config.machine, title, arguments, sampled=sampled)
    say([f"wrote {path}" for path in plots])


def _prepared(
    config: SimulationConfig, arguments: argparse.Namespace, tell: Reporter
) -> tuple[Trace, Placement, BurstNoise | None]:
    """Return the trace, the placement of its ranks, and the noise of its recordings."""
    if config.ranks is not None and config.program.trace is None:  # before time is spent on a recording
        config.placed(config.ranks)
    trace, noise = _recording(config, Traces(tell, arguments.repeats))
    return trace, config.placed(trace.ranks), noise


def _unnamed_repeats(trace: Trace, noise: BurstNoise | None) -> Iterator[str]:
    """Yield which repeats beside the trace could be named, if none are."""
    beside = repeats_beside(trace.path) if noise is None and trace.path is not None else []
    if beside:
        names = ", ".join(path.name for path in beside)
        yield f"{names} beside the trace: not used, name them under repeats: if they are recordings of the same run"


def _title(config: SimulationConfig, trace: Trace) -> str:
    return f"{Path(trace.head.program).name} on {config.machine.name}"


def _name(config: SimulationConfig, trace: Trace) -> str:
    """Return the program's name in the configuration: the file name of a cached recording means nothing to a reader."""
    program = config.program
    if program.extrapolated is not None:
        return Path(trace.head.program).name
    return trace.name if program.script is None or program.trace else program.script.name


def _sample(
    program: Program,
    noise: BurstNoise | None,
    where: Candidate,
    makespan: float,
    *,
    engine: str,
    arguments: argparse.Namespace,
    tell: Reporter,
) -> Sampled | None:
    """Draw samples, if requested."""
    sampling = noise_of(arguments)
    if sampling is None:
        return None
    return sample_errors(
        program,
        where,
        makespan,
        sampling,
        known_model_error(),
        noise=noise,
        engine=engine,
        workers=workers_of(arguments),
        tell=lambda done: tell("samples of the noise", done, sampling.samples),
    )


def _plot_samples(sampled: Sampled, title: str, arguments: argparse.Namespace) -> Path:
    from clue.report.result.plot import plot_samples  # noqa: PLC0415 - matplotlib takes a second

    return plot_samples(sampled, plots_folder(arguments.plots), title)


def _recording(config: SimulationConfig, traces: Traces) -> tuple[Trace, BurstNoise | None]:
    ranks = config.ranks
    if ranks is None:
        if config.program.trace is None:
            raise UsageError(f"{config.name}: program must have a trace or a number of ranks, got neither")
        ranks = Trace.open(config.program.trace).ranks
    (application,) = traces.record([(config.program, ranks)])
    return recording(application, ranks, traces)
