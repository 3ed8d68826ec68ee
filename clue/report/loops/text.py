"""A trace as loops, as text in the manner of pseudocode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.shared.ranks import ranks_text
from clue.report.shared.table import NONE, add_row, facts, heading, stack, table
from clue.units import format_time

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clue.analysis.loops import LoopsProfile


def loops_text(profile: LoopsProfile) -> RenderableType:
    """Show a trace as loops: one line for each loop or call, with its ranks and the mean burst before it."""
    from clue.report.loops.words import lines_of  # noqa: PLC0415 - numpy

    loops, trace = profile.loops, profile.loops.trace
    ops, tokens = len(trace.ops), loops.tokens
    everybody = tuple(range(trace.ranks))
    lines = list(lines_of(profile))
    sites = any(line.site for line in lines)
    numbers = ("calls", "mean burst")
    shown = table("program", "ranks", *numbers, *(["site"] if sites else []), numbers=numbers)
    for line in lines:
        figures = (f"{line.calls:,}", format_time(line.burst)) if line.calls else ("", "")
        ranks = "all" if line.ranks == everybody else ranks_text(line.ranks)
        add_row(
            shown,
            "  " * line.depth + line.words,
            ranks,
            *figures,
            *([line.site or (NONE if line.calls else "")] if sites else []),
        )
    made = (
        ("ranks", str(trace.ranks)),
        ("ops", f"{ops:,}"),
        ("tokens", f"{tokens:,}: {ops / max(1, tokens):,.1f} ops a token"),
    )
    return stack(heading(f"{trace.name} as loops"), facts(made), shown)
