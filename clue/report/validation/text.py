"""A validation as text: predicted and measured times, the order of machines, and the sources of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.shared.scale import time_scale
from clue.report.shared.table import NONE, add_row, bullets, facts, heading, stack, table
from clue.report.shared.warnings import warnings_text
from clue.report.validation.words import change, parameter_name, percent, verdict
from clue.units import format_share

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clue.validation import Validation


def validation_text(validation: Validation, name: str) -> RenderableType:
    """Show a validation."""
    return stack(
        heading(f"{name}: predicted and measured"),
        _cases(validation),
        _figures(validation),
        _orders(validation),
        _refits(validation),
        stack(heading("What this means"), bullets(verdict(validation))),
        warnings_text(validation.caveats),
    )


def _cases(validation: Validation) -> RenderableType:
    scale = time_scale(max(max(each.predicted, each.case.measured) for each in validation.compared))
    sized = any(each.case.size for each in validation.compared)
    sampled = any(each.interval is not None for each in validation.compared)
    predicted, measured = f"predicted ({scale.unit})", f"measured ({scale.unit})"
    numbers = ["ranks", predicted, measured, "+/-", "runs", "error"]
    columns = ["program", *["size"] * sized, "machine", "ranks", predicted, *["80% interval"] * sampled]
    shown = table(*columns, measured, "+/-", "runs", "error", numbers=numbers)
    for each in validation.compared:
        case, interval = each.case, each.interval
        between = NONE if interval is None else f"{scale.format(interval.low)} to {scale.format(interval.high)}"
        spread = NONE if case.spread is None else format_share(case.spread / case.measured, 1)
        cells = [case.program, *[case.size] * sized, case.machine, case.ranks, scale.format(each.predicted)]
        cells += [
            *[between] * sampled,
            scale.format(case.measured),
            spread,
            len(case.runs),
            format_share(each.error, 1, "+"),
        ]
        add_row(shown, *cells)
    return shown


def _figures(validation: Validation) -> RenderableType:
    covered = validation.covered
    return facts(
        [
            ("mean absolute error", percent(validation.error)),
            ("90th percentile", percent(validation.percentile)),
            ("runs within the 80% interval", "" if covered is None else f"{covered:.0%}"),
        ]
    )


def _orders(validation: Validation) -> RenderableType | None:
    if not validation.orders:
        return None
    columns = ("program", "size", "choices", "Kendall's tau-b", "predicted best", "measured best", "regret")
    shown = table(*columns, title="Order of machines", numbers=("choices", "Kendall's tau-b", "regret"))
    for each in validation.orders:
        tau = NONE if each.tau is None else f"{each.tau:.2f}"
        add_row(shown, each.program, each.size, each.choices, tau, each.chosen, each.best, percent(each.regret))
    return shown


def _refits(validation: Validation) -> RenderableType | None:
    columns = ("parameter", "multiplier", "one case left out", "error left", "that is")
    shown = table(*columns, title="Refitted one at a time", numbers=columns[1:4])
    known = [each for each in validation.refits if each.is_identifiable]
    for each in known:
        low, high = each.range or (None, None)
        span = NONE if low is None else f"{low:.3f} to {high:.3f}"
        add_row(
            shown,
            parameter_name(each.parameter),
            f"{each.multiplier:.3f}",
            span,
            percent(each.error_left),
            change(each),
        )
    return shown if known else None
