"""Further answers on the page of a ranking: the cheapest option in time, the best use of more money, own or rented."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clue.purchase import Ranking
from clue.purchase.questions.answers import BreakEven, Cheapest, Steps
from clue.report.answers.text import break_even_sentence, cheapest_sentences, gain_headings, gain_words, steps_sentence
from clue.report.page import parts
from clue.report.page.charts import Chart, Line, Point, Row, Series, bars, dashes_of, lines
from clue.report.page.parts import Cell, Section
from clue.report.ranking.text import format_score
from clue.report.shared import style
from clue.report.shared.table import NONE
from clue.units import Money, format_amount, format_share, format_time

#: Largest number of steps with bars in a chart, and of pairs of an own and a rented option with lines.
MOST_BARS, MOST_PAIRS = 12, 1


def answer_sections(ranking: Ranking) -> Iterator[Section]:
    """Yield the sections of answers other than the order; nothing if no question was asked."""
    answers = ranking.answers
    if answers.cheapest is not None:
        yield from _cheapest(answers.cheapest)
    if answers.steps is not None:
        yield from _steps(ranking, answers.steps)
    if answers.break_even:
        yield from _own_or_rented(answers.break_even)


def _cheapest(cheapest: Cheapest) -> Iterator[Section]:
    title = "The cheapest option that meets every deadline"
    if not cheapest.nearest:
        yield parts.lines("cheapest", title, cheapest_sentences(cheapest))
        return
    columns = [("workload", False), ("deadline", True), ("nearest option", False), ("a run takes", True)]
    rows = [
        (
            Cell(each.workload),
            Cell(format_time(each.deadline), each.deadline),
            Cell(each.option),
            Cell(format_time(each.seconds), each.seconds),
        )
        for each in cheapest.nearest
    ]
    yield parts.sheet("cheapest", title, columns, rows, "None of the options meets these deadlines.")


# --- where more money goes -------------------------------------------------------------------------------------------


def _steps(ranking: Ranking, steps: Steps) -> Iterator[Section]:
    def score(figure: float) -> str:
        return format_score(figure, ranking.unit) + (" points" if ranking.unit == "points" else "")

    if any(each.gain > 0 for each in steps.steps):
        yield parts.picture(_gains(steps, ranking))
    columns = [("step", False), ("it is then", False), ("costs more", True), ("score", True),
               *((heading, True) for heading in gain_headings(steps, ranking.unit))]  # fmt: skip
    rows = [
        (
            Cell(each.what),
            Cell(each.option),
            Cell(str(each.price), each.price.amount),
            Cell(format_score(each.score, ranking.unit), each.score),
            Cell(gain_words(each.gain), each.gain),
            Cell(gain_words(1000 * each.gain_per_unit), each.gain_per_unit),
        )
        for each in steps.steps
    ]
    title = f"Where {steps.amount} more would go"
    if not rows:
        yield parts.lines("steps", title, (), steps_sentence(steps, score))
        return
    yield parts.sheet("steps", title, columns, rows, steps_sentence(steps, score))


def _gains(steps: Steps, ranking: Ranking) -> Chart:
    """Draw the gain of each step for its money."""
    shown = steps.steps[:MOST_BARS]
    gains = [1000 * each.gain_per_unit for each in shown]
    rows = [Row(each.what, gain_words(gain)) for each, gain in zip(shown, gains, strict=True)]
    unit = ranking.unit or ranking.criterion.value.replace("_", " ")
    axis = f"gain for 1,000 {steps.amount.currency} ({unit}), higher is better"
    height, shapes = bars(rows, [Series("", style.COMPUTE, gains)], axis, gain_words)
    told = "; ".join(f"{each.what} {gain_words(gain)}" for each, gain in zip(shown, gains, strict=True))
    words = f"Bars of what steps from {steps.base} gain for 1,000 {steps.amount.currency}. {told}."
    more = f"The best {len(shown)} of {len(steps.steps)} steps." if len(shown) < len(steps.steps) else ""
    return Chart("steps-gain", "Gain of steps for their money", words, height, tuple(shapes), (), more)


# --- own or rented ---------------------------------------------------------------------------------------------------


def _own_or_rented(found: Sequence[BreakEven]) -> Iterator[Section]:
    crossing = [each for each in found if each.utilisation is not None]
    for each in crossing[:MOST_PAIRS]:
        yield parts.picture(_over_use(each))
    currency = found[0].currency
    columns = [("own", False), ("rented", False), ("equal where runs keep the own one busy for", True),
               ("cheaper below", False), (f"cost there ({currency})", True), ("it can be busy for", True)]  # fmt: skip
    limited = any(each.is_limited for each in found)
    columns += [("reserved nodes suffice up to", True)] if limited else []
    rows = [
        (
            Cell(each.own),
            Cell(each.cloud),
            Cell(NONE) if each.utilisation is None else Cell(format_share(each.utilisation, 1), each.utilisation),
            Cell(each.cheaper_below if each.is_within_reach else f"{each.cheaper_below}, always"),
            Cell(NONE) if each.utilisation is None else _amount(each.own_fixed + each.utilisation * each.own_busy),
            Cell(format_share(each.capacity, 1), each.capacity),
            *([_covered(each)] if limited else []),
        )
        for each in found
    ]
    caption = "" if crossing else break_even_sentence(found[0])
    yield parts.sheet("break-even", "Own or rented", columns, rows, caption)


def _covered(each: BreakEven) -> Cell:
    return Cell(format_share(each.covered, 1), each.covered) if each.is_limited else Cell(NONE)


def _amount(figure: float) -> Cell:
    return Cell(format_amount(figure), figure)


def _over_use(each: BreakEven) -> Chart:
    """Draw the costs of both over their utilisation."""
    assert each.utilisation is not None
    end = min(each.capacity, 3 * each.utilisation) if each.is_within_reach else 1.1 * each.utilisation
    uses = sorted({0.0, each.utilisation, end or each.capacity})
    costs = ((each.own, each.own_fixed, each.own_busy), (each.cloud, each.cloud_fixed, each.cloud_busy))
    drawn = [
        Line(name, colour, [
            Point(name, 100 * use, fixed + use * slope,
                  f"{name}, busy for {format_share(use, 1)}: {Money(fixed + use * slope, each.currency)}")
            for use in uses
        ])
        for (name, fixed, slope), colour in zip(costs, style.SERIES, strict=False)
    ]  # fmt: skip
    height, shapes = lines(
        drawn, f"share of its life for which runs keep {each.own} busy (%)", f"value today ({each.currency})"
    )
    words = f"Lines of what {each.own} and {each.cloud} cost over how much they are used. {break_even_sentence(each)}"
    legend = tuple((line.name, line.colour) for line in drawn)
    title, caption = f"{each.own} or {each.cloud}", break_even_sentence(each)
    return Chart("break-even-use", title, words, height, tuple(shapes), legend, caption, dashes_of(drawn))
