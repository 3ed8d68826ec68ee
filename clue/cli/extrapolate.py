"""``clue extrapolate``: extrapolate a trace to an unrecorded size and number of ranks, and plan recordings."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from clue.cli.effects import refuse
from clue.cli.programs import is_program, without_dashes
from clue.cli.terminal import check_different, check_plots, output_trace, plots_folder, progress, say, show, show_json
from clue.errors import UsageError, no_such_program
from clue.extrapolation import Extrapolation, Family, Pattern, RefusedError, extrapolate
from clue.extrapolation.admissible import Admissible
from clue.extrapolation.making import missing, name_of
from clue.extrapolation.pattern import RANKS, SIZE
from clue.extrapolation.plan import COUNTS, DIMENSIONS, SIZES, Plan, Wanted, wanted
from clue.extrapolation.recordings import REPEATS, Planner
from clue.files import is_file
from clue.report.extrapolation.document import extrapolation_document, plan_document, refusal_document
from clue.report.extrapolation.text import extrapolation_text, plan_text
from clue.units import count_of


def run(arguments: argparse.Namespace) -> int:
    """Extrapolate a trace from existing recordings, or plan recordings, or make them."""
    words = without_dashes(arguments.words)
    if arguments.plan or arguments.carry_out:
        return _with_program(words, arguments)
    refuse(arguments, ["--traces", "--repeats", "--admissible"], "with --plan or --run", "neither")
    check_plots(arguments.plots)
    if not words:
        raise UsageError('extrapolate must have a pattern such as "cg-{size}-{ranks}.clue", got none')
    if is_program(words[0]):
        raise UsageError(f"{words[0]}: program must follow --plan or --run, got neither")
    if len(words) > 1:
        said = "put it in quotes, so that the shell does not expand it"
        raise UsageError(f"extrapolate must have one pattern, got {' '.join(words)}: {said}")
    if arguments.output is None:
        raise UsageError(f"{words[0]}: -o must name the file of the trace, got none")
    return _make(words[0], arguments, ())


def _make(pattern: str, arguments: argparse.Namespace, remarks: Sequence[str]) -> int:
    """Extrapolate a trace from the recordings that a pattern names; print refusals and return status 1."""
    target = _target(Pattern(pattern), arguments)
    try:
        with progress() as tell:
            tell(f"reading {pattern}")
            family = Family.open(pattern)
            tell(f"extrapolating {Path(family.program).name} to size {arguments.size} on {count_of(arguments.ranks)}")
            if family.at(arguments.size, arguments.ranks) is not None:
                _refuse_for_recorded(arguments, "one that was", pattern)
            made = extrapolate(
                family,
                size=arguments.size,
                ranks=arguments.ranks,
                distributions=arguments.distribution,
                progress=tell,
            )
            written = [*made.save(target), *_plot(made, family, arguments)]
    except RefusedError as error:
        if arguments.json:
            show_json(refusal_document(error, arguments.size, arguments.ranks, remarks))
        raise
    if arguments.json:
        say(made.warnings, prefix="clue: warning: ")
        show_json(extrapolation_document(made, family, str(target), remarks))
    else:
        show(extrapolation_text(made, family, str(target)))
    say([f"wrote {path}" for path in written])
    return 0


def _refuse_for_recorded(arguments: argparse.Namespace, got: str, pattern: str) -> None:
    """Refuse options for models of the program, as a recorded target needs none."""
    refuse(arguments, ["--plots", "--distribution"], "with a target that was not recorded", got, pattern)


def _target(pattern: Pattern, arguments: argparse.Namespace) -> Path:
    """Return the path of the trace to write, which must be no recording by any name; create its folders."""
    pattern.check()
    if pattern.names(Path(arguments.output)):
        raise UsageError(f"{arguments.output}: -o must not be a name that matches {pattern.text}, got one")
    check_different([("-o", Path(arguments.output))], arguments.plots)
    return output_trace(arguments.output, chain.from_iterable(pattern.found().values()))


def _plot(made: Extrapolation, family: Family, arguments: argparse.Namespace) -> list[Path]:
    """Plot the models of bursts, if plots are requested; return their files."""
    if arguments.plots is None or made.structure is None:
        return []
    from clue.report.extrapolation.plot import plot_bursts  # noqa: PLC0415 - matplotlib takes a second

    title = f"{Path(family.program).name} at size {made.size} on {count_of(arguments.ranks)}"
    return [plot_bursts(made.structure, made.size, arguments.ranks, plots_folder(arguments.plots), title)]


def _with_program(words: Sequence[str], arguments: argparse.Namespace) -> int:
    program, pattern = _program(words, arguments)
    takes, target = Admissible.parse(arguments.admissible), Wanted(arguments.size, arguments.ranks)
    if target in wanted(target.size, target.ranks, takes).values():
        _refuse_for_recorded(arguments, "one that is among the recordings to make", pattern.text)
    with progress(bar=not arguments.carry_out) as tell:
        further: tuple[Wanted, ...] = ()
        if arguments.traces is not None and pattern.found():
            family = Family.open(pattern.text)
            further = missing(family, arguments.size, arguments.ranks, tell, arguments.distribution)
        planner = Planner.here(program, words[1:], tell)
        repeats = arguments.repeats or REPEATS
        plan = planner.plan(target, repeats, further, takes, try_all=arguments.carry_out)
        if arguments.carry_out:
            planner.make(plan, pattern)
    remarks = tuple(_remarks(plan))
    if not arguments.carry_out:
        _show_plan(plan, remarks, _command(words, arguments), arguments)
        return 0
    say([f"made recordings {pattern.text}"])
    if arguments.output is not None:
        say(remarks, prefix="clue: warning: ")
        return _make(pattern.text, arguments, remarks)
    at = ["--size", str(plan.size), "--ranks", str(plan.ranks), *_drawn(arguments)]
    words = ["clue", "extrapolate", pattern.text, *at, "-o", "TRACE"]
    _show_plan(plan, remarks, shlex.join(words), arguments)
    return 0


def _program(words: Sequence[str], arguments: argparse.Namespace) -> tuple[Path, Pattern]:
    """Return the program to record and the pattern of its recordings, checked."""
    if not words:
        raise UsageError("extrapolate must have a program after --plan or --run, got none")
    program = Path(words[0])
    if not is_file(program):
        raise no_such_program(words[0])
    if arguments.output is None:
        refuse(arguments, ["--plots"], "with -o, as models are fitted for the trace", "none")
    if not arguments.carry_out:
        refuse(arguments, ["-o", "--plots"], "with --run, or a pattern", "--plan")
    pattern = Pattern(arguments.traces or f"{program.stem}-{SIZE}-{RANKS}.clue")
    pattern.check()
    check_plots(arguments.plots)
    if arguments.output is not None:  # checked before recordings are made, which may take hours
        _target(pattern, arguments)
    return program, pattern


def _show_plan(plan: Plan, remarks: Sequence[str], command: str, arguments: argparse.Namespace) -> None:
    if arguments.json:
        say(remarks, prefix="clue: warning: ")
        show_json(plan_document(plan, remarks))
    else:
        show(plan_text(plan, command, remarks))


def _remarks(plan: Plan) -> Iterator[str]:
    """Yield remarks on targets that the program refused, and on what a plan cannot determine."""
    yield from map(str, plan.refused)
    if plan.learned.demands:
        yield f"the program is assumed to require {plan.learned}: if not, state its requirements by --admissible"
    lost = [name_of(each) for each in DIMENSIONS if not plan.bracketed(each)]
    so = f"burst times are extrapolated where they grow with {' or '.join(lost)}"
    left_out = [str(Wanted(each.size, each.ranks)) for each in plan.left_out]
    if left_out:
        why = "would need more memory than this computer has free, and are left out"
        yield f"{', '.join(left_out)} {why}{f': {so}' if lost else ''}"
    elif lost and (plan.refused or plan.takes.demands):
        yield f"{so}: the program accepts no size at which each rank's share of the problem is that of the target"
    sizes, numbers = plan.variety
    if sizes < SIZES or numbers < COUNTS:
        yield (
            f"{count_of(sizes, 'size')} and {count_of(numbers, 'number')} of ranks are left to record, of {SIZES} and "
            f"{COUNTS} that rules with cases need: calls that have such rules may be refused"
        )


def _command(words: Sequence[str], arguments: argparse.Namespace) -> str:
    repeats = [] if arguments.repeats is None else ["--repeats", str(arguments.repeats)]
    traces = [] if arguments.traces is None else ["--traces", arguments.traces]
    options = [
        "--run",
        "--size",
        str(arguments.size),
        "--ranks",
        str(arguments.ranks),
        *repeats,
        *traces,
        *_admissible(arguments),
        *_drawn(arguments),
        "-o",
        "TRACE",
    ]
    return shlex.join(["clue", "extrapolate", *options, *words])


def _drawn(arguments: argparse.Namespace) -> list[str]:
    return [word for each in arguments.distribution for word in ("--distribution", each)]


def _admissible(arguments: argparse.Namespace) -> list[str]:
    return [word for each in arguments.admissible for word in ("--admissible", each)]
