"""The parameters on which the first place of a ranking depends, as text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clue.report.shared.table import NONE, add_row, heading, stack, table, words
from clue.units import format_share

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clue.explain import RankingExplanation, RankingSensitivity
    from clue.explain.ranking import FirstPlace

#: Least number of shown parameters: those that come closest to changing the first place.
LEAST_ROWS = 5


def ranking_explanation_text(explanation: RankingExplanation) -> RenderableType:
    """Show the parameters that give the first place to another option, and those that come closest to doing so."""
    return stack(
        heading(f"What the first place of {explanation.base.winner} depends on"),
        words(verdict(explanation)),
        _table(explanation),
    )


def verdict(explanation: RankingExplanation) -> str:
    """State by how much the first option leads, and how many parameters would change the first place."""
    altering, change = len(explanation.altering), f"{explanation.change:.0%}"
    first, *others = explanation.options
    rival = others[0] if len(others) == 1 else f"the best of {', '.join(others)}"
    share = format_share(explanation.base.lead, 2)
    by = f"by {share} of the smaller score" if math.isfinite(explanation.base.lead) else "(the smaller score is 0)"
    lead = f"{first} leads {rival} {by}."
    costs = " and costs" if any(each.of_costs for each in explanation.sensitivities) else ""
    tried = f"{len(explanation.sensitivities)} parameters of their machines{costs} were changed by {change} either way"
    names = ", ".join(explanation.fixed)
    fixed = f" Times of {names} come from models or skeletons, and depend on no parameter of machines." if names else ""
    if altering:
        return (
            f"{lead} {tried}: {altering} of them give{'s' * (altering == 1)} the first place to another option.{fixed}"
        )
    return f"{lead} {tried}: none of them alters the first place.{fixed}"


def _table(explanation: RankingExplanation) -> RenderableType:
    signs = tuple(f"lead at {sign}{explanation.change:.0%}" for sign in "-+")
    shown = table("parameter", "of", *signs, numbers=signs)
    for each in explanation.sensitivities[: max(LEAST_ROWS, len(explanation.altering))]:
        lower, higher = (outcome_of(explanation, side) for side in (each.lower, each.higher))
        add_row(shown, each.parameter, options_of(explanation, each), lower, higher)
    return shown


def options_of(explanation: RankingExplanation, each: RankingSensitivity) -> str:
    """Name the options that have a parameter."""
    return "all" if len(each.options) == len(explanation.options) else ", ".join(each.options)


def outcome_of(explanation: RankingExplanation, outcome: FirstPlace) -> str:
    """State the lead of the first option with a parameter changed, and which option is first if it is not."""
    if outcome.lead == 0:
        # The price decides, or the order of the options.
        return "tie"
    lead = format_share(outcome.lead, 2, "+") if math.isfinite(outcome.lead) else NONE
    return lead if outcome.winner == explanation.base.winner else f"{lead} ({outcome.winner or 'none'} first)"
