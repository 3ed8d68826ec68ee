"""The ranking: every option with its score and its price against the budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from clue.purchase import Entry, Ranking
from clue.report.plots import style
from clue.report.scale import time_scale
from clue.report.text.ranking import format_score
from clue.units import Money


def draw_ranking(ranking: Ranking) -> Figure:
    """Draw the options by position, those without one last: scores left, prices right, sharing rows."""
    entries = ordered(ranking)
    drawn = style.figure(11, 2.0 + 0.5 * max(len(entries), 2), ranking.scenario)
    scores, prices = drawn.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    _draw_scores(drawn, scores, ranking, entries)
    _draw_prices(prices, ranking, entries)
    scores.set_yticks(range(len(entries)), [_label(each) for each in entries], parse_math=False)
    scores.set_ylim(len(entries) - 0.5, -0.5)
    for axes in (scores, prices):
        axes.tick_params(axis="y", length=0)
    return drawn


def ordered(ranking: Ranking) -> list[Entry]:
    """Return the entries by position; those without one come last, the unaffordable ones at the very end.

    Options that are not among the first asked for are left out.
    """
    shown = [each for each in ranking.entries if each.bound is None]
    return sorted(shown, key=lambda e: (e.position is None, not e.affordable, e.position or 0))


def _label(entry: Entry) -> str:
    name = style.wrap(entry.option)
    return f"{entry.position}.  {name}" if entry.position is not None else name


def score_parts(ranking: Ranking, entries: Sequence[Entry]) -> dict[str, list[float]]:
    """Return scores by workload where its points add up to the score, else whole under ``""``."""
    names = list(dict.fromkeys(each.workload for entry in entries for each in entry.workloads))
    parts = {name: [_points(entry, name) for entry in entries] for name in names}
    sums = [sum(values) for values in zip(*parts.values(), strict=True)] if parts else []
    scores = [_score(entry) for entry in entries]
    if ranking.unit == "points" and len(parts) > 1 and np.allclose(sums, scores, rtol=1e-6):
        return parts
    return {"": scores}


def _score(entry: Entry) -> float:
    return entry.score if entry.position is not None and entry.score is not None else 0.0


def _points(entry: Entry, workload: str) -> float:
    if entry.position is None:
        return 0.0
    return sum(each.points or 0.0 for each in entry.workloads if each.workload == workload)


def _draw_scores(drawn: Figure, axes: Axes, ranking: Ranking, entries: Sequence[Entry]) -> None:
    rows, parts = np.arange(len(entries)), score_parts(ranking, entries)
    factor, unit = _unit(ranking, entries)
    left = np.zeros(len(entries))
    for (_, values), colour in zip(parts.items(), style.colours(len(parts)), strict=True):
        axes.barh(rows, np.array(values) / factor, 0.62, left=left, color=colour)
        left += np.array(values) / factor
    ends = np.maximum(left, _draw_intervals(axes, entries, factor))
    for row, entry in enumerate(entries):
        text = _figure(entry, ranking) if entry.position is not None else style.wrap(_why(entry), 60)
        axes.annotate(
            text,
            (ends[row], row),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=style.INK if entry.position is not None else "#888888",
            parse_math=False,
        )
    better = "higher" if ranking.higher_is_better else "lower"
    criterion = ranking.criterion.value.replace("_", " ")
    what = criterion if criterion == unit else f"{criterion} ({unit})"
    title = "score" if ranking.sampling is None else "score, 80 % interval, and probability of being the best"
    style.finish_axes(axes, f"{what}, {better} is better", title=title, grid="x")
    axes.set_xlim(0, max(ends.max(initial=0.0) * (1.16 if ranking.sampling is None else 1.3), 1e-300))
    if len(parts) > 1:
        style.legend_below(drawn, [Patch(color=c) for c in style.colours(len(parts))], list(parts))


def _draw_intervals(axes: Axes, entries: Sequence[Entry], factor: float) -> npt.NDArray[np.float64]:
    """Draw the intervals of scores as error bars; returns where each ends, 0 where there is none."""
    ends = np.zeros(len(entries))
    for row, entry in enumerate(entries):
        if entry.spread is not None and entry.position is not None:
            low, high = entry.spread.low / factor, entry.spread.high / factor
            for colour, width in ((style.PAPER, 4.0), (style.INK, 1.4)):
                axes.plot([low, high], [row, row], color=colour, linewidth=width, marker="|", mew=width, markersize=9)
            ends[row] = high
    return ends


def _figure(entry: Entry, ranking: Ranking) -> str:
    score = format_score(entry.score, ranking.unit)
    return score if entry.best is None else f"{score}   best in {entry.best:.0%}"


def _unit(ranking: Ranking, entries: Sequence[Entry]) -> tuple[float, str]:
    if ranking.unit != "s":
        return 1.0, ranking.unit
    scale = time_scale(max(map(_score, entries), default=0.0))
    return scale.length, scale.unit


def _why(entry: Entry) -> str:
    return entry.reason or ("over the budget" if not entry.affordable else "cannot run the workloads")


def _draw_prices(axes: Axes, ranking: Ranking, entries: Sequence[Entry]) -> None:
    amounts = [0.0 if each.price is None else each.price.amount for each in entries]
    bars = axes.barh(range(len(entries)), amounts, 0.62, color=style.UNUSED, edgecolor=style.PAPER, linewidth=0)
    for bar, entry in zip(bars, entries, strict=True):
        bar.set_hatch("" if entry.affordable else "////")
    for row, entry in enumerate(entries):
        text = str(entry.price or "no price stated")
        axes.annotate(text, (0, row), (6, 0), textcoords="offset points", va="center", fontsize=9, color=style.INK)
    currency = _currency(ranking, entries)
    budget = ranking.budget.amount if ranking.budget is not None else 0.0
    style.finish_axes(axes, f"price ({currency})" if currency else "price", title="price", grid="x")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda amount, _: f"{amount:,.0f}"))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.set_xlim(0, max(max(amounts, default=0.0), budget) * 1.06 or 1.0)
    if ranking.budget is not None:
        axes.axvline(budget, color=style.INK, linewidth=1, linestyle=(0, (4, 3)))
        axes.set_title(f"price, and the budget of {ranking.budget} (dashed)", fontsize=10, loc="left", parse_math=False)


def _currency(ranking: Ranking, entries: Sequence[Entry]) -> str:
    moneys: list[Money | None] = [ranking.budget, *(each.price for each in entries)]
    return next((each.currency for each in moneys if each is not None), "")
