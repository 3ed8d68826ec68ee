"""The ranking: every option with its score and its price against the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from clue.purchase import Entry, Ranking
from clue.purchase.outcome import score_words
from clue.report.ranking.text import format_score
from clue.report.shared import lettering, style
from clue.report.shared.lettering import fit
from clue.report.shared.scale import time_scale
from clue.report.shared.table import NONE
from clue.units import Money, count_of, format_probability

#: Largest numbers of drawn options: with a position, and without one.
MOST_PLACED, MOST_OTHERS = 40, 10
#: Largest number of workloads with a colour of their own.
_MOST_WORKLOADS = len(style.SERIES)
_WIDTH = 11.0
#: Widths in inches: a name, the bars of scores, the words beside the budget, the bars of prices.
_NAME, _SCORES, _PRICES, _BARS = 2.1, 4.2, 3.3, 3.1
#: Points between the beginning of a bar and its figure.
_GAP = 6
#: Least price that is shown in millions.
_MILLIONS = 1e8


def draw_ranking(ranking: Ranking) -> Figure:
    """Draw the options by position, those without one last: scores on the left, prices on the right, in shared rows."""
    entries, left_out = drawn_entries(ranking)
    row = 0.5 if len(entries) <= 12 else 0.4
    drawn = style.figure(_WIDTH, 2.0 + row * max(len(entries), 2), f"{ranking.scenario}: {_finding(ranking)}")
    scores, prices = drawn.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    _draw_scores(drawn, scores, ranking, entries)
    _draw_prices(prices, ranking, entries)
    scores.set_yticks(range(len(entries)), [_label(each) for each in entries])
    scores.set_ylim(max(len(entries), 1) - 0.5, -0.5)
    for axes in (scores, prices):
        axes.tick_params(axis="y", length=0)
    if left_out:
        scores.set_xlabel(f"{scores.get_xlabel()}\n{left_out}")
    return drawn


def ordered(ranking: Ranking) -> list[Entry]:
    """Return the entries by position; those without one come last, the unaffordable ones at the very end.

    Options that are not among the requested first ones are left out.
    """
    shown = [each for each in ranking.entries if each.bound is None]
    return sorted(shown, key=lambda e: (e.position is None, not e.affordable, e.position or 0))


def drawn_entries(ranking: Ranking) -> tuple[list[Entry], str]:
    """Return the entries that fit a picture, and in words how many do not."""
    entries = ordered(ranking)
    placed = [each for each in entries if each.position is not None]
    others = entries[len(placed) :]
    told = [
        f"{len(group) - most:,} more {what}"
        for group, most, what in (
            (placed, MOST_PLACED, "with a position"),
            (others, MOST_OTHERS, "without a position"),
        )
        if len(group) > most
    ]
    if ranking.interrupted and (missing := sum(each.bound is not None for each in ranking.entries)):
        told.append(f"{missing:,} not simulated")
    return [*placed[:MOST_PLACED], *others[:MOST_OTHERS]], f"not drawn: {', '.join(told)}" if told else ""


def _finding(ranking: Ranking) -> str:
    """State which option comes first, as far as that is known."""
    first = [each for each in ranking.entries if each.position == 1]
    if not first:
        return "no option can be ranked"
    placed = sum(each.position is not None for each in ranking.entries)
    is_open = ranking.interrupted and not ranking.certain
    so_far = f"interrupted; of {count_of(placed, 'simulated option')}, " if is_open else ""
    if len(first) > 1:
        return f"{so_far}{len(first)} options share the first place, {first[0].option} among them"
    return f"{so_far}{first[0].option} comes first with {format_score(first[0].score, ranking.unit)}" + (
        " points" if ranking.unit == "points" else ""
    )


def _label(entry: Entry) -> str:
    number = f"{entry.position}.  " if entry.position is not None else ""
    return number + fit(entry.option, _NAME, lines=2, size=style.TICK)


def score_parts(ranking: Ranking, entries: Sequence[Entry]) -> dict[str, list[float]]:
    """Return scores by workload if points add up to the score; else the whole score under ``""``."""
    names = list(dict.fromkeys(each.workload for entry in entries for each in entry.workloads))
    parts = {name: [_points(entry, name) for entry in entries] for name in names}
    sums = [sum(values) for values in zip(*parts.values(), strict=True)] if parts else []
    scores = [_score(entry) for entry in entries]
    if ranking.unit == "points" and len(parts) > 1 and np.allclose(sums, scores, rtol=1e-6):
        return _few(parts)
    return {"": scores}


def _few(parts: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """Return only as many parts as colours can distinguish; the smallest ones are added up."""
    if len(parts) <= _MOST_WORKLOADS:
        return dict(parts)
    by_size = sorted(parts, key=lambda name: -sum(parts[name]))
    own = set(by_size[: _MOST_WORKLOADS - 1])
    rest = [sum(values) for values in zip(*(parts[name] for name in parts if name not in own), strict=True)]
    return {name: parts[name] for name in parts if name in own} | {f"{len(parts) - len(own)} other workloads": rest}


def _colours(parts: Mapping[str, list[float]]) -> list[str]:
    """Return the colours of workloads; if there are too many, the last colour stands for the remainder."""
    colours = style.colours(len(parts))
    return colours if len(parts) < _MOST_WORKLOADS else [*colours[:-1], style.OTHER_REGIONS]


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
    colours = _colours(parts)
    for (_, values), colour in zip(parts.items(), colours, strict=True):
        axes.barh(rows, np.array(values) / factor, 0.62, left=left, color=colour, edgecolor=style.PAPER, linewidth=0.8)
        left += np.array(values) / factor
    ends = np.maximum(left, _draw_intervals(axes, entries, factor))
    words = score_words(ranking, entries)
    texts = [_figure(each, words) if each.position is not None else _why(each) for each in entries]
    for row, (entry, text) in enumerate(zip(entries, texts, strict=True)):
        style.note(axes, text, (ends[row], row), 5, colour=style.INK if entry.position is not None else style.QUIET)
    better = "higher" if ranking.higher_is_better else "lower"
    criterion = ranking.criterion.value.replace("_", " ")
    what = criterion if criterion == unit else f"{criterion} ({unit})"
    title = "score" if ranking.sampling is None else "score, 80 % interval, and probability of being the best"
    style.finish_axes(axes, f"{what}, {better} is better", title=title, grid="x")
    placed = [text for text, entry in zip(texts, entries, strict=True) if entry.position is not None]
    axes.set_xlim(0, ends.max(initial=0.0) * style.beside(placed, _SCORES) or 1.0)
    style.round_ticks(axes.xaxis, 7)
    style.plain_numbers(axes.xaxis)
    if len(parts) > 1:
        style.legend_below(drawn, [Patch(color=colour) for colour in colours], list(parts))


def _draw_intervals(axes: Axes, entries: Sequence[Entry], factor: float) -> npt.NDArray[np.float64]:
    """Draw the intervals of scores as error bars; return where each ends, 0 if there is none."""
    ends = np.zeros(len(entries))
    for row, entry in enumerate(entries):
        if entry.spread is not None and entry.position is not None:
            low, high = entry.spread.low / factor, entry.spread.high / factor
            for colour, width in ((style.PAPER, 4.0), (style.INK, 1.4)):
                axes.plot([low, high], [row, row], color=colour, linewidth=width, marker="|", mew=width, markersize=9)
            ends[row] = high
    return ends


def _figure(entry: Entry, words: Mapping[str, str]) -> str:
    score = words.get(entry.option, NONE)
    return score if entry.best is None else f"{score}   best in {format_probability(entry.best)}"


def _unit(ranking: Ranking, entries: Sequence[Entry]) -> tuple[float, str]:
    if ranking.unit != "s":
        return 1.0, ranking.unit
    scale = time_scale(max(map(_score, entries), default=0.0))
    return scale.length, scale.unit


def _why(entry: Entry) -> str:
    reason = entry.reason or ("over the budget" if not entry.affordable else "cannot run the workloads")
    return fit(reason, _SCORES, lines=2, size=style.TICK, prose=True)


def _draw_prices(axes: Axes, ranking: Ranking, entries: Sequence[Entry]) -> None:
    currencies = _currencies(ranking, entries)
    # Amounts in several currencies have no common axis; they are only written.
    is_one = len(currencies) == 1
    amounts = [each.price.amount if is_one and each.price is not None else 0.0 for each in entries]
    budget = ranking.budget.amount if ranking.budget is not None else 0.0
    highest = max(max(amounts, default=0.0), budget)
    factor, in_millions = (1e6, "million ") if highest >= _MILLIONS else (1.0, "")
    bars = axes.barh(
        range(len(entries)), np.array(amounts) / factor, 0.62, color=style.UNUSED, edgecolor=style.PAPER, linewidth=0
    )
    for bar, entry in zip(bars, entries, strict=True):
        bar.set_hatch("" if entry.affordable else "////")
    texts = [str(each.price or "no price stated") for each in entries]
    most = highest * 1.06 or 1.0
    # Where the budget's line would cross the figures, they stand behind it.
    longest = max((lettering.width(text, style.TICK) for text in texts), default=0.0)
    begin = budget / factor if 0 < budget / most * _BARS < longest + 2 * _GAP / 72 else 0.0
    for row, (entry, amount, text) in enumerate(zip(entries, amounts, texts, strict=True)):
        # A figure on the hatched bar of an option that costs too much needs a ground of its own.
        hatched = amount > 0 and not entry.affordable
        style.note(axes, text, (begin, row), _GAP, behind=style.UNUSED if hatched else "")
    told = "price" if ranking.budget is None else f"price; budget {ranking.budget} (dashed)"
    style.finish_axes(
        axes,
        f"price ({in_millions}{currencies[0]})" if is_one else "price",
        title=fit(told, _PRICES, lines=2, size=style.LABEL),
        grid="x",
    )
    style.round_ticks(axes.xaxis, 3)
    style.plain_numbers(axes.xaxis)
    axes.set_xlim(0, most / factor)
    if ranking.budget is not None:
        axes.axvline(budget / factor, color=style.INK, linewidth=1, linestyle=(0, (4, 3)))


def _currencies(ranking: Ranking, entries: Sequence[Entry]) -> list[str]:
    moneys: list[Money | None] = [ranking.budget, *(each.price for each in entries)]
    return list(dict.fromkeys(each.currency for each in moneys if each is not None))
