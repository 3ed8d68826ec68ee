"""A program's structure graph as text: one line for each node, indented by its depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.model.program_text import estimate_words
from clue.report.shared.table import NONE, add_row, bullets, facts, heading, stack, table
from clue.units import count_of, format_share, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clue.analysis.graph import GraphProfile
    from clue.structure import Node

#: Signs of nodes, by their kind.
_SIGNS = {"sequence": "", "parallel": "∥ ", "loop": "↻ ", "computation": "▪ ", "communication": "▽ "}


def graph_text(profile: GraphProfile) -> RenderableType:
    """Show a graph: the ranks, time and model of each node."""
    composition = profile.composition
    modelled = composition is not None
    numbers = ("time", "share", *(["predicted"] if profile.target else []))
    shown = table(
        "program", "place", "ranks", *numbers, *(["most plausible model"] if modelled else []), numbers=numbers
    )
    for depth, node in profile.graph.root.walk():
        if depth:
            _add(profile, shown, depth - 1, node)
    made = [("time", f"{format_time(profile.seconds[profile.graph.root])}: {profile.measure}")]
    if composition is not None:
        off = [abs(each) for each in composition.off]
        made.append(
            (
                "model",
                f"composed of {count_of(len(composition.nodes), 'node')}, fitted to {count_of(len(off), 'recording')}, "
                f"from which it is off by {format_share(max(off), 1)} at most",
            )
        )
        said = profile.estimated
        if said is not None and profile.target is not None:
            made.append((f"size {profile.target[0]:,} on {count_of(profile.target[1])}", estimate_words(said)))
    warnings = bullets(profile.warnings) if profile.warnings else None
    return stack(heading(f"{profile.name}: structure"), facts(made), shown, warnings)


def _add(profile: GraphProfile, shown: object, depth: int, node: Node) -> None:
    from clue.report.graph.words import ranks_of, words  # noqa: PLC0415 - numpy
    from clue.report.model.program_document import formula_text  # noqa: PLC0415

    region = f" [{node.region}]" if node.region else ""
    cells = [
        "  " * depth + _SIGNS[node.kind.value] + words(profile, node) + region,
        node.place,
        ranks_of(profile, node),
        format_time(profile.seconds[node]),
        format_share(profile.share(node), 1),
    ]
    time = None if node.children else profile.model(node)
    if profile.target:
        cells.append("" if node.children else format_time(profile.predicted[node].seconds) if time else NONE)
    if profile.composition is not None:
        cells.append("" if time is None else formula_text(time))
    add_row(shown, *cells)  # type: ignore[arg-type]
