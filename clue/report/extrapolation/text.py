"""Extrapolations and plans as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clue.report.shared.table import add_row, facts, heading, stack, table, words
from clue.report.shared.warnings import warnings_text
from clue.units import count_of, format_size, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clue.extrapolation import Extrapolation, Family
    from clue.extrapolation.plan import Plan


def extrapolation_text(made: Extrapolation, family: Family, target: str) -> RenderableType:
    """Show the recordings from which a trace was made, how far beyond them it is, and how to use it."""
    factor, trace = made.factor, made.trace
    command = " ".join((family.program, *family.command(made.size, trace.ranks)))
    return stack(
        heading(f"{target}: size {made.size} on {count_of(trace.ranks)}"),
        facts(
            (
                ("program", command),
                ("ops", f"{len(trace.ops):,}"),
                ("recordings", _recordings(family)),
                ("factor", f"{factor.size:.3g} times the largest size, {factor.ranks:.3g} times the most ranks"),
            )
        ),
        _local(made),
        warnings_text(made.warnings),
        words(f"Next: program: {{trace: {target}}} in a configuration; clue inspect {target} shows what is in it."),
    )


def _recordings(family: Family) -> str:
    sizes, ranks = (", ".join(map(str, each)) for each in (family.sizes, family.ranks))
    return f"{len(family.recordings)}: sizes {sizes}; ranks {ranks}"


def _local(made: Extrapolation) -> Table:
    numbers = ("here", "recorded from", "to")
    shown = table("a rank has", *numbers, "", title="What a rank has of the problem", numbers=numbers)
    for each in made.local:
        said = "recorded, or between such" if each.inside else "outside of what was recorded"
        add_row(shown, each.name, *(f"{value:,.4g}" for value in (each.target, each.low, each.high)), said)
    return shown


def plan_text(plan: Plan, command: str, warnings: Sequence[str] = ()) -> RenderableType:
    """Show which recordings to make, the cost of each on this computer, and the command that makes them."""
    numbers = ("size", "ranks", "time", "memory")
    title = f"Recordings for size {plan.size} on {count_of(plan.ranks)}"
    shown = table(*numbers, "", title=title, numbers=numbers)
    for each, remark in (
        *((each, "") for each in plan.recordings),
        *((each, "left out: more memory than this computer has free") for each in plan.left_out),
    ):
        add_row(shown, each.size, each.ranks, format_time(each.seconds), format_size(each.memory), remark)
    times = f"each {plan.repeats} times, in turn: " if plan.repeats > 1 else ""
    return stack(
        shown,
        words(f"{count_of(len(plan.recordings), 'recording')}, {times}about {format_time(plan.seconds)} in all."),
        words(_assumed(plan)),
        warnings_text(warnings),
        words(f"Next: {command}"),
    )


def _assumed(plan: Plan) -> str:
    """State which sizes and numbers of ranks the program is assumed to accept, and how certain that is."""
    known = " and ".join(filter(None, map(str, (plan.takes, plan.learned))))
    if plan.tried:
        return f"The program took all of these{f' ({known})' if known else ''}."
    taken = f"takes {known}" if known else "takes any size on any number of ranks"
    return (
        f"Assumed: the program {taken}. If it demands something else, --admissible says what, such as 'ranks=2^k' or "
        "'size=20*k'; --run finds out what it refuses."
    )
