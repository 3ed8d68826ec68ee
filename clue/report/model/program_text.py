"""Models composed of a program's parts as text for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.model.text import outside_text
from clue.report.shared.table import add_row, facts, heading, stack, table
from clue.units import format_range, format_share, format_time

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from rich.console import RenderableType

    from clue.models import Forecast
    from clue.models.parts import ProgramModel


def program_model_text(model: ProgramModel, document: Mapping[str, Any]) -> RenderableType:
    """Show a model of a program: its domain, its errors, and its parts."""
    domain = ", ".join(f"{name} from {format_range(*ends)}" for name, ends in document["domain"].items())
    error = document["error"]
    made = (
        ("made of", f"{model.source} on {model.machine}, {model.made}"),
        ("runs", f"{document['runs']}, met within {format_share(error['largest'], 1)}"),
        ("fitted", f"{model.how}: {domain}"),
    )
    shown = table("part", "most plausible model")
    for part in document["parts"]:
        add_row(shown, part["part"], part["model"])
    return stack(heading(f"{model.name}: composed of a program's parts"), facts(made), shown)


def estimated_text(said: Forecast, outside: tuple[str, ...]) -> RenderableType:
    """Show the prediction of a model for one run."""
    return stack(facts((("time", estimate_words(said)),)), outside_text(outside))


def estimate_words(said: Forecast) -> str:
    """Return the prediction of a model for one run, with its interval, in words."""
    interval = f"{format_time(said.low)} to {format_time(said.high)}" if said.high < float("inf") else "no interval"
    return f"{format_time(said.seconds)} ({interval})" + ("" if said.inside else ", beyond what was recorded")
