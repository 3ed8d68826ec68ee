"""Price and score: each option as a point, with the Pareto front."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matplotlib.figure import Figure

from clue.purchase import Entry, Ranking
from clue.purchase.pareto import front
from clue.report.shared import style
from clue.report.shared.lettering import fit
from clue.report.shared.scale import time_scale

#: Most options that are named; width of a name, inches.
_NAMED, _NAME = 12, 2.2


def draw_offers(ranking: Ranking) -> Figure | None:
    """Draw options by price and score; ``None`` where fewer than two have both, or prices are in several currencies."""
    offers = [each for each in ranking.entries if each.price is not None and each.score is not None]
    currencies = {each.price.currency for each in offers if each.price is not None}
    if len(offers) < 2 or len(currencies) != 1:
        return None
    first = unbeaten(offers, higher=ranking.higher_is_better)
    scale = time_scale(max(score(each) for each in offers)) if ranking.unit == "s" else None
    length, unit = (1.0, ranking.unit) if scale is None else (scale.length, scale.unit)
    drawn = style.figure(11, 4.6, f"{ranking.scenario}: price and score")
    axes = drawn.subplots()
    ends = [price(each) for each in first], [score(each) / length for each in first]
    axes.plot(*ends, color=style.UNUSED, zorder=1, drawstyle="steps-post")  # between options there is none
    for each in offers:
        colour = style.COMPUTE if each in first else style.QUIET
        axes.plot(price(each), score(each) / length, marker="o", color=colour, linestyle="")
    for each in _named(first, offers):
        text, at = fit(each.option, _NAME, size=style.TICK), (price(each), score(each) / length)
        axes.annotate(text, at, (5, 5), textcoords="offset points", fontsize=style.TICK, color=style.INK)
    criterion = ranking.criterion.value.replace("_", " ")
    better = "higher" if ranking.higher_is_better else "lower"
    what = criterion if criterion == unit else f"{criterion} ({unit})"
    style.finish_axes(axes, f"price ({currencies.pop()})", f"{what}, {better} is better", grid="both")
    style.plain_numbers(axes.xaxis)
    style.plain_numbers(axes.yaxis)
    axes.margins(x=0.15, y=0.12)
    return drawn


def price(entry: Entry) -> float:
    """Return what an option costs."""
    assert entry.price is not None
    return entry.price.amount


def score(entry: Entry) -> float:
    """Return the score of an option."""
    assert entry.score is not None
    return entry.score


def unbeaten(offers: Iterable[Entry], *, higher: bool) -> list[Entry]:
    """Return the options that none beats in price and score (the Pareto front), the cheapest first."""
    listed, sign = list(offers), -1.0 if higher else 1.0
    return sorted((listed[i] for i in front([(price(each), sign * score(each)) for each in listed])), key=price)


def _named(first: Sequence[Entry], offers: Sequence[Entry]) -> list[Entry]:
    """Return the options that are named: those of the Pareto front first."""
    return [*first, *(each for each in offers if each not in first)][:_NAMED]
