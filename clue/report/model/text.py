"""Fitted models and their predictions as text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clue.models.cluster import ranks_of
from clue.report.shared.table import NONE, add_row, bullets, facts, heading, stack, table, words
from clue.units import count_of, format_exact, format_range, format_share, format_size, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clue.models import Configuration, FittedTime, Forecast, Found
    from clue.models.model import Model
    from clue.predict.configurations import Beside

_FORMS = {
    "nt": "N-T: over the size n, for each number of ranks by itself",
    "pt": "P-T: over the size n and the ranks P",
}


def model_text(model: Model, place: str) -> RenderableType:
    """Show a model: source, formulas, errors and domain."""
    errors = model.errors()
    left = f"; {_share(errors.leave_one_out)} at points left out" if math.isfinite(errors.leave_one_out) else ""
    return stack(
        heading(f"{model.name}: {count_of(len(model.fits()), 'fit')} to {count_of(len(model.runs), 'run')}"),
        facts(
            (
                ("form", _FORMS[model.form]),
                ("fitted", "least squares in seconds, of either sign" if model.plain else _CAREFUL),
                ("from", f"{model.source}, {model.made}"),
                ("off by", f"{_share(errors.mean)} on average, {_share(errors.largest)} at most{left}"),
                ("domain", "; ".join(f"{name} {format_range(*ends)}" for name, ends in model.cluster.domain.items())),
                ("memory", f"{model.cluster.footprint} bytes a process" if model.cluster.footprint else ""),
            )
        ),
        _formulas(model),
        _listed("Outliers, which the fit to all others rejects", _outliers(model)),
        _listed(f"Adjusted by runs with {model.cluster.adjusted}", _adjustments(model)),
        words(f"Next: clue model best {place} --machine MACHINE --size N; clue model predict {place} --size N"),
    )


_CAREFUL = "least squares relative to run times, no coefficient below 0"


def _share(share: float) -> str:
    return format_share(share, 1) if math.isfinite(share) else "unknown"


def _formulas(model: Model) -> Table:
    numbers = ("per processor", "ranks", "points", "mean", "most", "left out")
    shown = table("processor", *numbers[:2], "part", "seconds", *numbers[2:], title="Models", numbers=numbers)
    for kind, each in model.cluster.bins():
        ranks = f"above {each.processes}" if each.ranks is None else str(each.ranks)
        names: tuple[object, ...] = (kind, each.processes, ranks)
        for part, time in each.parts.items():
            add_row(shown, *names, part, str(time), *_figures(time, each.composed))
            names = ("", "", "")
        if each.memory != (0.0, math.inf):
            low, high = each.memory
            held = f"beyond {format_size(low)}" if low else f"up to {format_size(high)}"
            add_row(shown, "", "", "", "", f"where a processor's processes need {held}", "", "", "", "")
    return shown


def _figures(time: FittedTime, composed: str) -> tuple[object, ...]:
    if composed:
        return (f"as {composed}", *[NONE] * 3)
    errors = time.statistics.errors
    return time.statistics.points, _share(errors.mean), _share(errors.largest), _share(errors.leave_one_out)


def _outliers(model: Model) -> Iterator[str]:
    for kind, each in model.cluster.bins():
        for part, time in each.parts.items():
            for point in time.statistics.outliers if not each.composed else ():
                of = {"P": each.ranks, **point}
                at = ", ".join(f"{name} = {format_exact(value)}" for name, value in of.items() if value)
                yield f"{part} on {kind}, {each.processes} per processor, at {at}"


def _adjustments(model: Model) -> Iterator[str]:
    for processes, by in model.cluster.adjustments.items():
        offset = f" {'+' if by.offset > 0 else '-'} {format_time(abs(by.offset))}" if by.offset else ""
        yield f"{processes} per processor: {by.factor:.4g} × what models say{offset}"


def _listed(title: str, lines: Iterator[str]) -> RenderableType | None:
    found = list(lines)
    return stack(heading(title), bullets(found)) if found else None


def forecast_text(forecast: Forecast, outside: tuple[str, ...]) -> RenderableType:
    """Show the prediction of a model for one configuration."""
    return stack(
        facts(
            (
                ("time", format_time(forecast.seconds)),
                ("80 % interval", _interval(forecast)),
                ("slowest", forecast.slowest),
            )
        ),
        outside_text(outside),
    )


def found_text(
    found: Found,
    size: float,
    name: str,
    outside: tuple[str, ...],
    replays: Beside | None = None,
) -> RenderableType:
    """Show the best configurations, their times by replays, and the best configurations by replays."""
    replayed = {} if replays is None else replays.replayed
    numbers = ("time", "longer by")
    column = () if replays is None else ("replayed",)
    columns = ("", "processors", "ranks", *numbers, *column, "80 % interval", "")
    shown = table(*columns, title=f"{name}, size {format_exact(size)}", numbers=(*numbers, *column))
    for place, each in enumerate(found.candidates, 1):
        inside = "" if each.forecast.inside else "outside of what was fitted"
        longer = format_share(each.loss, 1) if place > 1 and each.loss is not None else NONE
        row = (configuration_text(each.uses), ranks_of(each.uses), format_time(each.forecast.seconds), longer)
        beside = [format_time(replayed[place - 1]) if place - 1 in replayed else NONE for _ in column]
        add_row(shown, place, *row, *beside, _interval(each.forecast), inside)
    how = "all looked at" if found.exhaustive else "the others proved to take longer, or as long"
    told = words(f"{count_of(found.total, 'candidate')}, {how}.")
    return stack(shown, told, outside_text(outside), None if replays is None else _by_replay(replays))


def _by_replay(replays: Beside) -> RenderableType:
    """Show the best configurations by replays, and the loss of the model's choice."""
    found, numbers = replays.found, ("replayed", "longer by", "model")
    shown = table("", "processors", "ranks", *numbers, title="By replays", numbers=numbers)
    for place, (each, said) in enumerate(zip(found.candidates, replays.modelled, strict=True), 1):
        longer = format_share(each.loss, 1) if place > 1 else NONE
        modelled = NONE if said is None else format_time(said)
        row = (configuration_text(each.uses), ranks_of(each.uses), format_time(each.seconds), longer, modelled)
        add_row(shown, place, *row)
    lost = (
        "the model's choice has no trace"
        if replays.loss is None
        else f"the model's choice takes {format_share(replays.loss, 1)} longer than the best of these"
    )
    counts = f"{count_of(found.total, 'configuration')} with a trace, {found.replayed:,} replayed"
    others = "; bounds show that the others take longer" if found.replayed < found.total else ""
    return stack(shown, words(f"{counts}{others}. By replays {lost}."))


def configuration_text(uses: Configuration) -> str:
    """Return a configuration in words: 1 athlon × 3 processes + 8 pentium-ii."""
    return " + ".join(
        f"{use.processors} {kind}{f' × {use.processes} processes' if use.processes > 1 else ''}"
        for kind, use in uses.items()
    )


def _interval(forecast: Forecast) -> str:
    if not math.isfinite(forecast.high):
        return "unknown: too few points, or below 0"
    return f"{format_time(forecast.low)} to {format_time(forecast.high)}"


def outside_text(outside: tuple[str, ...]) -> RenderableType | None:
    """Show why a prediction lies outside the domain of the fit."""
    return stack(heading("Outside of what was fitted"), bullets(outside)) if outside else None
