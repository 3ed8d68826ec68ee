"""A ranking as text: which option comes first, its score, and how each workload ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clue.caveats import Count
from clue.report.answers.text import answers_text
from clue.report.queue.text import how_queued, queue_table
from clue.report.shared.table import NONE, Fitted, add_row, bullets, heading, stack, table, words
from clue.report.shared.warnings import warnings_text
from clue.units import (
    KWH,
    YEAR,
    count_of,
    format_amount,
    format_figure,
    format_measure,
    format_number,
    format_probability,
    format_share,
    format_time,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clue.purchase import Entry, Ranking, WorkloadOutcome

#: Largest number of options without a position that are listed with the reason.
_LISTED = 20


def ranking_text(ranking: Ranking) -> RenderableType:
    """Show the options by position with their workloads, then those without a position and why, then warnings."""
    placed, others = ranking_table(ranking), not_ranked(ranking)
    return stack(
        heading(ranking_title(ranking)),
        words("No option can be ranked.") if placed is None else _in_room(placed),
        costs_table(ranking),
        queue_table(ranking),
        words(queued) if (queued := how_queued(ranking)) else None,
        parts_table(ranking),
        words(front) if (front := pareto_front(ranking)) else None,
        front_table(ranking),
        answers_text(ranking, lambda score: format_score(score, ranking.unit)),
        words(sampling, "dim") if (sampling := how_sampled(ranking)) else None,
        _interruption(ranking) if ranking.interrupted else None,
        bullets(after) if (after := later(ranking)) else None,
        _not_placed(others) if others else None,
        warnings_text(ranking.warnings),
    )


def _in_room(placed: Table) -> Fitted:
    """Show the ranking with number and option beside each part, and the columns of the workloads in one part."""
    heads = [str(column.header) for column in placed.columns]
    return Fitted(placed, names=2, together=len(heads) - heads.index("workload"))


def _interruption(ranking: Ranking) -> RenderableType:
    placed = sum(each.position is not None for each in ranking.entries)
    missing = sum(each.bound is not None for each in ranking.entries)
    certain = {0: "no position is certain", 1: "position 1 is certain"}.get(
        ranking.certain, f"positions 1 to {ranking.certain} are certain"
    )
    return words(
        f"Interrupted: {Count(placed):option is|options are} simulated, {Count(missing):is|are} not; {certain}"
        f"{', the others may move down' if ranking.certain < placed else ''}.",
        "bold",
    )


def later(ranking: Ranking) -> list[str]:
    """Count the options that are not listed: later ones, and generated ones beyond the budget."""
    bounds = [each.bound for each in ranking.entries if each.bound is not None]
    told = []
    if bounds and not ranking.interrupted:
        best = max(bounds) if ranking.higher_is_better else min(bounds)
        none = "it cannot" if len(bounds) == 1 else "none of them can"
        told.append(
            f"{Count(len(bounds)):option comes|options come} after the first {ranking.first}: "
            f"{none} score better than {format_score(best, ranking.unit)}."
        )
    if ranking.left_out:
        cost = "generated option costs more than the budget and is|generated options cost more than the budget and are"
        told.append(f"{Count(ranking.left_out):{cost}} left out.")
    return told


def ranking_title(ranking: Ranking) -> str:
    """State the criterion by which options are ranked."""
    better = "higher" if ranking.higher_is_better else "lower"
    budget = f"; budget {ranking.budget}" if ranking.budget is not None else ""
    criterion = ranking.criterion.value.replace("_", " ")
    return f"{ranking.scenario}: ranked by {criterion} ({better} is better){budget}"


def format_split(outcome: WorkloadOutcome) -> str:
    """Format a split: ``"3 × 6 (2 idle)"`` is 3 instances at a time of 6 ranks each, 2 processors idle.

    If ranks could be placed in several ways, the best placement follows: ``"3 × 6, cyclic, 2 a node"``.
    """
    idle = f" ({format_number(outcome.idle)} idle)" if outcome.idle else ""
    turns = f" in {format_number(outcome.turns)} turns" if outcome.turns > 1 else ""
    layout = f", {outcome.layout}" if outcome.layout else ""
    return f"{format_number(outcome.side_by_side)} × {format_number(outcome.ranks)}{layout}{idle}{turns}"


def format_score(score: float | None, unit: str) -> str:
    """Format a score in its unit; a time gets the unit that suits it."""
    return NONE if score is None else format_measure(score, unit)


def how_sampled(ranking: Ranking, where: str = "between the figures below scores and makespans") -> str:
    """State what the intervals contain; ``""`` if there are none.

    Args:
        ranking: The ranking.
        where: Where the intervals are shown, in words that follow "lie".
    """
    from clue.uncertainty import CERTAIN, LEVEL  # noqa: PLC0415 - numpy

    sampling, error = ranking.sampling, ranking.error
    if sampling is None:
        return ""
    model = (
        f" and of the model's errors in {count_of(error.cases, 'validated case')} ({error.source}, {error.date})"
        if error
        else ""
    )
    noise = "the stated noise" if sampling.noise else "what replays of a part may be off by"
    return (
        f"At least {LEVEL:.0%} of {count_of(sampling.samples, 'sample')} of {noise}{model} (seed {sampling.seed}) lie "
        f"{where}. best: in how many samples the option is the best. Options "
        f"share a position unless the first of it is better in {CERTAIN:.0%} of the samples."
    )


def _placed(ranking: Ranking) -> list[Entry]:
    """Return the options that have a position, in order."""
    placed = (each for each in ranking.entries if each.position is not None)
    return sorted(placed, key=lambda each: each.position or 0)


def ranking_table(ranking: Ranking) -> Table | None:
    """Return the options that have a position with their workloads; ``None`` if none has."""
    from clue.purchase.outcome import score_words  # noqa: PLC0415 - numpy

    entries = _placed(ranking)
    if not entries:
        return None
    points = any(each.points is not None for entry in entries for each in entry.workloads)
    numbers = ("#", "price", "score", "best", "makespan", "points")
    best = ("best",) if ranking.sampling is not None else ()
    columns = ("#", "option", "price", "score", *best, "workload", "instances × ranks", "makespan")
    shown = table(*columns, *(("points",) if points else ()), numbers=numbers)
    # Only the option's name may be broken: lines of the workload's columns belong together.
    for column in shown.columns[4:]:
        column.no_wrap, column.overflow = True, "ellipsis"
    scores = score_words(ranking, entries)
    for entry in entries:
        score = _score(entry, scores.get(entry.option, NONE), ranking.unit)
        option = (str(entry.position), entry.option, str(entry.price or NONE), score)
        lines = list(zip(*_workload_lines(entry), strict=True)) or [()] * 4
        share = (_share(entry),) if best else ()
        add_row(shown, *option, *share, *lines[: 4 if points else 3], end_section=True)
    return shown


def _score(entry: Entry, score: str, unit: str) -> str | tuple[str, str]:
    """Return a score; it is on a line of its own if its interval is below it."""
    spread = entry.spread
    if spread is None:
        return score
    return score, f"{format_score(spread.low, unit)} to {format_score(spread.high, unit)}"


def _share(entry: Entry) -> str:
    return NONE if entry.best is None else format_probability(entry.best)


def _workload_lines(entry: Entry) -> Iterator[tuple[str, str, str, str]]:
    """Yield workload, split, makespan and points; a line for each of several kernels; a line for the interval."""
    for outcome in entry.workloads:
        yield outcome.workload, format_split(outcome), outcome.told, _points(outcome.points)
        if outcome.spread is not None:
            yield "", "", f"{format_time(outcome.spread.low)} to {format_time(outcome.spread.high)}", ""
        if len(outcome.components) > 1:
            for component in outcome.components:
                yield f"  {component.name}", "", format_time(component.makespan), _points(component.points)


def _points(points: float | None) -> str:
    return NONE if points is None else f"{points:.1f}"


#: Items of costs, in the order in which they are shown.
ITEMS = ("purchase", "energy", "cloud", "storage", "egress", "licences", "staff", "hosting", "support", "residual")


def costs_table(ranking: Ranking) -> Fitted | None:
    """Show the costs of options over the service life, item by item, if they are stated."""
    known = [(each.option, each.cost) for each in _placed(ranking) if each.cost is not None]
    if not known:
        return None
    items = [item for item in ITEMS if any(item in cost.sheet.items for _, cost in known)]
    energy = any(cost.sheet.energy is not None for _, cost in known)
    columns = ("total", *items, *(("busy", "MWh", "t CO2") if energy else ()))
    shown = table("option", *columns, numbers=columns, title=f"{costs_title(ranking)}, {known[0][1].currency}")
    for option, cost in known:
        sheet = cost.sheet
        amounts = [
            NONE if each is None else format_amount(each) for each in (sheet.total, *map(sheet.items.get, items))
        ]
        used = (format_share(sheet.busy, 1), _thousands(sheet.energy, KWH), _thousands(sheet.carbon)) if energy else ()
        add_row(shown, option, *amounts, *used)
    return Fitted(shown)


def costs_title(ranking: Ranking) -> str:
    """State the period over which costs are counted, and the discount rate."""
    rate = f", discounted at {format_share(ranking.discount_rate, 1)} a year" if ranking.discount_rate else ""
    # Times have the unit of years from two years on.
    life = f"1 year ({format_number(YEAR / 3600)} h)" if ranking.life == YEAR else format_time(ranking.life)
    return f"Costs over {life}{rate}"


def _thousands(figure: float | None, unit: float = 1.0) -> str:
    return NONE if figure is None else format_figure(figure / unit / 1000)


def parts_table(ranking: Ranking) -> Fitted | None:
    """Show the figures of which the weighted sums of options consist."""
    if not ranking.weighted:
        return None
    columns = weighted_heads(ranking)
    shown = table("option", *columns, numbers=columns, title="What is weighted")
    for entry in _placed(ranking):
        figures = (format_score(entry.parts.get(by), unit) for by, (_, unit) in ranking.weighted.items())
        add_row(shown, entry.option, *figures)
    return Fitted(shown)


def weighted_heads(ranking: Ranking) -> list[str]:
    """Return the weight and the name of each criterion of a weighted sum."""
    return [
        f"{format_number(weight) if weight == int(weight) else f'{weight:g}'} × {criterion.value.replace('_', ' ')}"
        for criterion, (weight, _) in ranking.weighted.items()
    ]


def pareto_front(ranking: Ranking) -> str:
    """Name the options that no other option beats by every requested criterion; ``""`` if none was requested."""
    if not ranking.pareto:
        return ""
    figures = next((entry.figures for entry in ranking.entries if entry.figures), {})
    by = ", ".join(criterion.value.replace("_", " ") for criterion in figures)
    return f"Pareto front by {by}: {'; '.join(ranking.pareto)}"


def _on_front(ranking: Ranking) -> list[Entry]:
    entries = {entry.option: entry for entry in ranking.entries if entry.figures}
    return [entries[name] for name in ranking.pareto or () if name in entries]


def front_table(ranking: Ranking) -> Fitted | None:
    """Show the figures of the Pareto front; ``None`` if none was requested, or a few words suffice."""
    entries = _on_front(ranking)
    if len(entries) < 2:
        return None
    columns = [
        ", ".join(filter(None, (criterion.value.replace("_", " "), ranking.units.get(criterion, ""))))
        for criterion in entries[0].figures
    ]
    numbers = ("#", "price", *columns)
    shown = table("#", "option", "price", *columns, numbers=numbers, title="Pareto front")
    for entry in entries:
        figures = [format_figure(figure, 6) for figure in entry.figures.values()]
        add_row(shown, str(entry.position or NONE), entry.option, str(entry.price or NONE), *figures)
    return Fitted(shown, names=2)


def not_ranked(ranking: Ranking) -> list[str]:
    """State which options cannot be ranked, and why; if there are many, the first ones and how many more there are."""
    entries = [each for each in ranking.entries if each.position is None and each.bound is None]
    reasons = [
        f"{each.option}{f' ({each.price})' if each.price else ''}: {each.reason}"
        for each in sorted(entries, key=lambda each: (True, None, False).index(each.affordable))[:_LISTED]
    ]
    more = len(entries) - _LISTED
    return [*reasons, f"and {more:,} more"] if more > 0 else reasons


def _not_placed(reasons: list[str]) -> RenderableType:
    from rich.console import Group  # noqa: PLC0415 - loaded when needed

    return Group(heading("Not ranked"), bullets(reasons))
