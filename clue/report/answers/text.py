"""Further answers besides a ranking, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.shared.table import add_row, bullets, heading, stack, table, words
from clue.units import Money, count_of, format_figure, format_share, format_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType
    from rich.table import Table

    from clue.purchase import Ranking
    from clue.purchase.questions.answers import BreakEven, Cheapest, Steps

#: Number of steps shown, the best first.
_SHOWN = 10


def answers_text(ranking: Ranking, score: Callable[[float], str]) -> RenderableType | None:
    """Show the further answers; ``None`` if no question was asked.

    Args:
        ranking: The ranking.
        score: Formats one of its scores.
    """
    answers = ranking.answers
    told = [*(cheapest_sentences(answers.cheapest) if answers.cheapest is not None else [])]
    told += [break_even_sentence(each) for each in answers.break_even]
    if not told and answers.steps is None:
        return None
    return stack(
        heading("Further answers"),
        bullets(told) if told else None,
        None if answers.steps is None else words(steps_sentence(answers.steps, score)),
        None if answers.steps is None or not answers.steps.steps else _steps_table(answers.steps, score, ranking.unit),
    )


def cheapest_sentences(cheapest: Cheapest) -> list[str]:
    """Name the cheapest option that meets every deadline, or the nearest ones."""
    if cheapest.option:
        return [f"The cheapest that meets every deadline is {cheapest.option}: {cheapest.total}."]
    found = [
        f"{each.workload} within {format_time(each.deadline)}: none of the options meets it; the nearest is "
        f"{each.option} with {format_time(each.seconds)}."
        for each in cheapest.nearest
    ]
    missed = [f"{option}: {limits}" for option, limits in cheapest.missed[:_SHOWN]]
    more = [f"and {len(cheapest.missed) - _SHOWN:,} more"] if len(cheapest.missed) > _SHOWN else []
    return found or [f"None of the options meets every deadline and limit. {'. '.join([*missed, *more])}."]


def break_even_sentence(each: BreakEven) -> str:
    """State the utilisation from which owning is cheaper than renting, and up to which reserved nodes suffice."""
    if not each.is_limited:
        return _crossing(each)
    share = format_share(each.covered, 1)
    return (
        f"{_crossing(each)} Where runs keep {each.own} busy for more than {share} of its life, the reserved nodes of "
        f"{each.cloud} cannot do all of them."
    )


def _crossing(each: BreakEven) -> str:
    if each.utilisation is None:
        return f"{each.cheaper_below} is cheaper than {_other(each)} however much it is used."
    share = format_share(each.utilisation, 1)
    costs = f"{Money(each.own_fixed + each.utilisation * each.own_busy, each.currency)}"
    said = (
        f"{each.own} and {each.cloud} cost the same, {costs}, where runs keep {each.own} busy for {share} of its life; "
        f"{each.cheaper_below} is cheaper below"
    )
    if each.is_within_reach:
        return f"{said}."
    return f"{said}, which is always: it can be busy for {format_share(each.capacity, 1)} at most."


def _other(each: BreakEven) -> str:
    return each.cloud if each.cheaper_below == each.own else each.own


def steps_sentence(steps: Steps, score: Callable[[float], str]) -> str:
    """Show the steps that gain most for more money."""
    asked = f"{steps.amount} more on {steps.base} ({score(steps.score)})"
    if not steps.steps:
        return f"{asked}: no step is affordable and keeps all limits."
    best = steps.steps[0]
    if best.gain <= 0:
        tried = count_of(len(steps.steps), "step")
        return f"{asked} gains nothing: the best of {tried} is {best.what} for {best.price}."
    return f"{asked}: the best value is {best.what} for {best.price}, which makes {score(best.score)} of it."


def gain_headings(steps: Steps, unit: str) -> tuple[str, str]:
    """Return the headings of columns of gains, with the unit of scores."""
    of = f" ({unit})" if unit else ""
    return f"gain{of}", f"gain for 1,000 {steps.amount.currency}{of}"


def gain_words(gain: float) -> str:
    """Format a gain with its sign: ``"+3.97"``, ``"-12,345"``."""
    return f"{'-' if gain < 0 else '+'}{format_figure(abs(gain))}"


def _steps_table(steps: Steps, score: Callable[[float], str], unit: str) -> Table:
    numbers = ("costs more", "score", *gain_headings(steps, unit))
    shown = table("step", *numbers, numbers=numbers, title=f"Steps from {steps.base}, by gain for the money")
    for each in steps.steps[:_SHOWN]:
        gains = map(gain_words, (each.gain, 1000 * each.gain_per_unit))
        add_row(shown, each.what, str(each.price), score(each.score), *gains)
    return shown
