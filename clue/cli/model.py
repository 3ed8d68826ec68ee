"""``clue model``: fit formulas to measured run times, show and evaluate them, and find the best processors."""

from __future__ import annotations

import argparse
import datetime
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from clue.cli.effects import refuse
from clue.cli.model_runs import is_pattern, read_by, runs_of
from clue.cli.options import counted, pairs
from clue.cli.terminal import check_plots, output_file, plots_folder, progress, say, show, show_json
from clue.config import load_machine
from clue.config.models import load_any_model, load_model
from clue.errors import ModelError, UsageError
from clue.extrapolation.pattern import RANKS, SIZE
from clue.files import exists, write_texts
from clue.kernel import Program, compile_program
from clue.machine import Machine
from clue.models import Composition, Configuration, Footprint, Found, Method, Term, Use, best, fit_cluster
from clue.models.cluster_fit import COMMUNICATE, COMPUTE, FEWEST_RANKS, WHOLE
from clue.models.model import ANY, Model
from clue.models.parts import ProgramModel, doubts, misfit
from clue.predict.configurations import Beside, Replays, beside
from clue.report.model.document import forecast_document, found_document, model_document, model_yaml
from clue.report.model.program_document import predicted_document, program_model_document
from clue.report.model.program_text import estimated_text, program_model_text
from clue.report.model.text import forecast_text, found_text, model_text
from clue.trace import Trace
from clue.units import Quantity, count_of, format_exact, parse_quantity

_Value = TypeVar("_Value")
#: Default number of configurations shown.
_SHOWN = 20


def run(arguments: argparse.Namespace) -> int:
    """Run the requested action."""
    return _SUBJECTS[arguments.subject](arguments)


def _fit(arguments: argparse.Namespace) -> int:
    table, target = Path(arguments.table), output_file(arguments.output, read_by(arguments.table, arguments.machine))
    if not is_pattern(arguments.table):
        refuse(arguments, ["--machine"], "with a pattern of recordings", "a table", arguments.table)
    if not arguments.limit:
        refuse(arguments, ["--memory"], "with --limit", "none")
    if arguments.memory is None:
        refuse(arguments, ["--limit"], "with --memory", "none")
    compositions = _pairs("--compose", arguments.compose, _composition)
    method = Method("nt" if arguments.form == "nt" else "pt", arguments.plain)
    footprint = None if arguments.memory is None else _footprint(arguments.memory)
    limits = _pairs("--limit", arguments.limit, lambda text: parse_quantity(text, Quantity.SIZE))
    runs, warnings = runs_of(arguments.table, arguments.machine)
    say(warnings, prefix="clue: warning: ")
    try:
        cluster = fit_cluster(
            runs, method, footprint=footprint, memory=limits, compositions=compositions, adjusted=arguments.adjust or ""
        )
    except ModelError as error:
        raise ModelError([f"{table}: {fault}" for fault in error.faults]) from None
    over_ranks = any(each.ranks is None for _, each in cluster.bins())
    if arguments.form == "pt" and not over_ranks:
        got = ", ".join(sorted({str(run.ranks) for run in runs}))
        rule = f"must have {FEWEST_RANKS} or more numbers of ranks above the processes of a processor for pt"
        raise ModelError(f"{table}: runs {rule}, got ranks {got}")
    today = datetime.date.today().isoformat()
    form = "pt" if over_ranks else "nt"
    model = Model(target.stem, form, arguments.plain, table.name, today, runs, cluster)
    write_texts({target: model_yaml(model)})
    said = _say_misfit(model)
    _show(arguments, model, str(target), [*warnings, *said])
    say([f"wrote {target}"])
    return 0


def _show_model(arguments: argparse.Namespace) -> int:
    check_plots(arguments.plots)
    model = load_any_model(arguments.model)
    if isinstance(model, ProgramModel):
        refuse(arguments, ["--plots"], "with a model of kinds of processors", "one composed of a program's parts")
        return _show_program(arguments, model)
    plots = []
    if arguments.plots is not None:
        from clue.report.model.plot import plot_model  # noqa: PLC0415 - matplotlib takes a second

        plots.append(plot_model(model, plots_folder(arguments.plots)))
    said = _say_misfit(model)
    _show(arguments, model, arguments.model, said)
    say([f"wrote {path}" for path in plots])
    return 0


def _say_misfit(model: Model) -> list[str]:
    """Warn, and return the warning, if a model is too far off at its own runs."""
    said = model.misfit()
    say(said, prefix="clue: warning: ")
    return said


def _show(arguments: argparse.Namespace, model: Model, place: str, warnings: Sequence[str] = ()) -> None:
    if arguments.json:
        show_json(model_document(model, warnings))
    else:
        show(model_text(model, place))


def _predict(arguments: argparse.Namespace) -> int:
    if arguments.use:
        refuse(arguments, ["--ranks"], "without --use", "both")
    model = load_any_model(arguments.model)
    if isinstance(model, ProgramModel):
        return _predict_program(arguments, model)
    uses = _uses(arguments, model)
    forecast = model.cluster.predict(arguments.size, uses)
    outside = model.cluster.outside(arguments.size, uses)
    said = _say_misfit(model)
    if arguments.json:
        show_json(forecast_document(forecast, outside, said))
    else:
        show(forecast_text(forecast, outside))
    return 0


def _uses(arguments: argparse.Namespace, model: Model) -> Configuration:
    """Return the requested configuration."""
    if arguments.use:
        return _pairs("--use", arguments.use, _use)
    kinds = list(model.cluster.kinds)
    if len(kinds) > 1:
        raise UsageError(f"--use must state which processors to use ({', '.join(kinds)}), got none")
    known = sorted({each.ranks for _, each in model.cluster.bins()}, key=lambda ranks: ranks or 0)
    if arguments.ranks is None and (len(known) > 1 or known == [None]):
        raise UsageError("--ranks must be given if a model holds for several, got none")
    least = model.cluster.processes(kinds[0])[0]
    ranks = arguments.ranks or known[0] or least
    if ranks % least:
        raise UsageError(f"--ranks must be a multiple of the processes of each processor ({least}), got {ranks}")
    return {kinds[0]: Use(ranks // least, least)}


def _show_program(arguments: argparse.Namespace, model: ProgramModel) -> int:
    document = program_model_document(model)
    if arguments.json:
        show_json(document)
    else:
        show(program_model_text(model, document))
    say(misfit(model.off), prefix="clue: warning: ")
    return 0


def _predict_program(arguments: argparse.Namespace, model: ProgramModel) -> int:
    refuse(arguments, ["--use"], "with a model of kinds of processors", "one composed of a program's parts")
    if arguments.ranks is None:
        raise UsageError("--ranks must be given with a model composed of a program's parts, got none")
    document = predicted_document(model, arguments.size, arguments.ranks)
    said = [*misfit(model.off), *doubts(model.time, arguments.size, arguments.ranks)]
    say(said, prefix="clue: warning: ")
    if arguments.json:
        show_json(document)
    else:
        outside = model.outside(arguments.size, arguments.ranks)
        show(estimated_text(model.predict(arguments.size, arguments.ranks), outside))
    return 0


def _best(arguments: argparse.Namespace) -> int:
    model, machine = load_model(arguments.model), load_machine(arguments.machine)
    available = Counter[str]()
    for node in machine.nodes:
        available[ANY if list(model.cluster.kinds) == [ANY] else node.name] += node.processors
    processes = _pairs("--processes", arguments.processes, _numbers)
    for kind in processes:
        if kind not in available:
            raise UsageError(
                f"--processes must be of node types of {machine.name} ({', '.join(available)}), got {kind}"
            )
    try:
        found = best(model.cluster, arguments.size, available, processes=processes, keep=arguments.top or _SHOWN)
    except ModelError as error:
        raise ModelError([f"{arguments.model} on {machine.name}: {fault}" for fault in error.faults]) from None
    replays = None if arguments.replay is None else _beside(arguments, model, machine, available, found)
    unknown = [kind for kind in available if kind not in model.cluster.kinds]
    outside = model.cluster.outside(arguments.size, found.best.uses)
    warnings = model.misfit()
    kinds = machine.node_types()
    if ANY in available and len(kinds) > 1:
        warnings.append(
            f"{arguments.model}: processors of {machine.name} ({', '.join(kinds)}) count as equal, because the table "
            "of runs does not tell on which they were measured: add a column processor, with names of node types"
        )
    if unknown:
        warnings.append(f"{machine.name}: no models of {', '.join(unknown)}: left out")
    if found.best.loss is None:
        warnings.append(
            f"{arguments.model}: the best times are predicted to be 0 s, so it is unknown how much longer others "
            "take: fit without --plain, or to runs of about this size"
        )
    if replays is not None and replays.sharing:
        warnings.append(
            f"{machine.name}: replays let processes share all processors of a node, not one each "
            f"({', '.join(replays.sharing)}): describe nodes of one processor to bind them"
        )
    say(warnings, prefix="clue: warning: ")
    if arguments.json:
        show_json(found_document(found, arguments.size, outside, replays, warnings))
    else:
        show(found_text(found, arguments.size, f"{model.name} on {machine.name}", outside, replays))
    return 0


def _beside(
    arguments: argparse.Namespace, model: Model, machine: Machine, available: Mapping[str, int], found: Found
) -> Beside:
    """Return the replays of the configurations that the model finds best, and the best configurations by replays."""
    asked = _pairs("--processes", arguments.processes, _numbers)
    processes = {kind: asked.get(kind) or model.cluster.processes(kind) for kind in model.cluster.kinds}
    most = sum(count * max(processes[kind]) for kind, count in available.items() if kind in processes)
    with progress() as tell:
        replays = Replays(_programs(arguments, most), machine, tell)
        return beside(
            model.cluster,
            arguments.size,
            found,
            replays,
            available=available,
            processes=processes,
            keep=arguments.top or _SHOWN,
        )


def _programs(arguments: argparse.Namespace, most: int) -> dict[int, Program]:
    """Return the programs that a pattern names, by ranks."""
    pattern = arguments.replay.replace(SIZE, format_exact(arguments.size))
    numbers = range(1, most + 1) if RANKS in pattern else (0,)
    paths = {ranks: Path(pattern.replace(RANKS, str(ranks))) for ranks in numbers}
    traces = {ranks: Trace.open(path) for ranks, path in paths.items() if exists(path)}
    if not traces:
        rule = "must match a trace with a number of ranks that processors can have"
        raise UsageError(f"--replay {rule}, got none by {arguments.replay}")
    for ranks, trace in traces.items():
        if ranks not in (0, trace.ranks):
            rule = f"trace must have {count_of(ranks)}, as its name says, got {trace.ranks}"
            raise UsageError(f"{paths[ranks]}: {rule}")
    return {trace.ranks: compile_program(trace) for trace in traces.values()}


# --- values of options ---


def _pairs(option: str, texts: Sequence[str], parse: Callable[[str], _Value]) -> dict[str, _Value]:
    """Read ``KIND=…`` texts."""
    return pairs(option, texts, 'must be a kind of processor, once, "=" and a value', parse)


def _composition(text: str) -> Composition:
    source, *factors = text.split(":")
    try:
        numbers = [float(each) for each in factors]
    except ValueError:
        numbers = [0.0]
    if not source or len(numbers) > 2 or not all(0 < each < float("inf") for each in numbers):
        raise ValueError(f"must be a kind and up to two factors above 0, got {text}")
    given = dict(zip((COMPUTE, COMMUNICATE), numbers, strict=False))
    return Composition(source, {**given, **({WHOLE: numbers[0]} if numbers else {})})


def _use(text: str) -> Use:
    processors, _, processes = text.partition("x")
    counts = counted(processors), counted(processes or "1")
    if not counts[0] or not counts[1]:
        raise ValueError(f"must be a number of processors, optionally x and processes on each, such as 8x2, got {text}")
    return Use(counts[0], counts[1])


def _numbers(text: str) -> list[int]:
    found = [number for each in text.split(",") if (number := counted(each))]
    if len(found) != len(text.split(",")):
        raise ValueError(f"must be whole numbers above 0 with commas between, got {text}")
    return sorted(set(found))


def _footprint(text: str) -> Footprint:
    """Read ``8 n^2/P``."""
    number, _, term = text.strip().partition(" ")
    try:
        found = Footprint(float(number), Term.parse(term))
    except (ValueError, ModelError):
        found = Footprint(0.0, Term())
    if not 0 < found.coefficient < float("inf") or not found.term.features <= {"n", "P"}:
        raise UsageError(f'--memory must be bytes and a term in n and P, such as "8 n^2/P", got {text}')
    return found


_SUBJECTS: dict[str, Callable[[argparse.Namespace], int]] = {
    "fit": _fit,
    "show": _show_model,
    "predict": _predict,
    "best": _best,
}
