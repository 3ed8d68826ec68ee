"""The content of the page of a ranking: the decision, sortable tables, charts with descriptions, inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from clue.machine import Machine
from clue.printable import printable
from clue.purchase import Component, Criterion, Entry, Ranking, Scenario, WorkloadOutcome
from clue.purchase.outcome import score_words
from clue.purchase.pareto import front
from clue.purchase.queue.mix import Sharing
from clue.report.explanation.ranking_text import LEAST_ROWS, options_of, outcome_of, verdict
from clue.report.page import parts
from clue.report.page.answers import answer_sections
from clue.report.page.charts import Chart, Point, Row, Series, bars, scatter
from clue.report.page.costs import cost_sections
from clue.report.page.parts import Cell, Page, Section, Sheet
from clue.report.page.queues import queue_sections
from clue.report.page.timelines import timeline_of
from clue.report.ranking.breakdown import PARTS, Parts, added_parts, legend_of, shown_parts
from clue.report.ranking.scores import ordered, score_parts
from clue.report.ranking.text import (
    format_score,
    format_split,
    how_sampled,
    later,
    not_ranked,
    pareto_front,
    ranking_title,
    weighted_heads,
)
from clue.report.shared import style
from clue.report.shared.scale import time_scale
from clue.report.shared.table import NONE
from clue.result import Result
from clue.units import Money, format_exact, format_figure, format_number, format_probability, format_share, format_time

if TYPE_CHECKING:
    from clue.explain import RankingExplanation

#: Largest number of options in a chart.
MOST_BARS = 20
#: Largest number of points in a chart.
MOST_POINTS = 500
#: Limits of every prediction, which are therefore in no warning.
LIMITS = (
    "Bursts of computation are those that were recorded, scaled: recompiled programs, other libraries and other "
    "caches are reflected only in the factors of the machines.",
    "Traffic of other jobs on the network, and files that programs read and write, are left out.",
    "Prices and costs are those that the scenario states.",
)
#: The second limit if queued jobs share the network.
_SHARED = (
    "Traffic of other jobs on the network counts in the run times of queued jobs only; files that programs read and "
    "write are left out."
)


def content_of(
    ranking: Ranking,
    scenario: Scenario,
    command: str,
    by: str,
    explanation: RankingExplanation | None = None,
    *,
    changed: Sequence[str] = (),
    awaited: Sequence[str] = (),
    watched: Sequence[tuple[str, Result | None]] = (),
) -> Page:
    """Return the content of the page of a ranking.

    Its arguments are described in :func:`clue.report.page.ranking_page` and :func:`clue.report.page.ranking_pieces`.
    """
    placed = [each for each in ordered(ranking) if each.position is not None]
    return Page(
        title=printable(ranking.scenario),
        about=printable(ranking_title(ranking)),
        decision=printable(decision(ranking, awaited=bool(awaited))),
        sections=(
            *([parts.lines("changed", "Changed on this page", changed)] if changed else ()),
            *([parts.lines("awaited", "Being computed", awaited)] if awaited else ()),
            *_sections(ranking, scenario, placed, explanation, watched),
            parts.again(command, by),
        ),
    )


def _sections(
    ranking: Ranking,
    scenario: Scenario,
    placed: Sequence[Entry],
    explanation: RankingExplanation | None,
    watched: Sequence[tuple[str, Result | None]],
) -> Iterator[Section]:
    if placed:
        yield _ranking(ranking, placed)
        if ranking.weighted:
            yield _weighted(ranking, placed)
    if left_out := [*later(ranking), *not_ranked(ranking)]:
        yield parts.lines("left-out", "Not ranked", left_out)
    if placed:
        yield parts.picture(_scores(ranking, placed[:MOST_BARS], len(placed)))
        yield from _clouds(ranking, scenario, placed)
        yield from _makespans(placed)
        yield from _timelines(placed[0], watched)
        yield from queue_sections(ranking, placed)
        yield from cost_sections(ranking, placed)
    yield from answer_sections(ranking)
    if placed:
        yield _changes(ranking, placed, explanation)
    # Notes of the scenario have a section of their own.
    if warnings := [each for each in ranking.warnings if each not in scenario.notes]:
        yield parts.lines("warnings", "Warnings", warnings)
    yield parts.lines("limits", "Limits of every prediction", limits_of(scenario))
    yield _options(scenario)
    yield _workloads(scenario)
    if scenario.notes:
        yield parts.lines("notes", "Notes of the scenario", scenario.notes)


def limits_of(scenario: Scenario) -> tuple[str, ...]:
    """Return the limits of every prediction of a comparison."""
    shared = scenario.queue is not None and scenario.queue.sharing is not Sharing.NONE
    return (LIMITS[0], _SHARED, LIMITS[2]) if shared else LIMITS


def _timelines(first: Entry, watched: Sequence[tuple[str, Result | None]]) -> Iterator[Section]:
    """Show timelines of the ranks on the first option."""
    for number, (what, result) in enumerate(watched, 1):
        name, title = f"timeline-{number}", f"Timeline of {what} on {first.option}"
        if result is None:
            why = (
                "Nothing was replayed, or it is too long to be shown here: clue simulate RUN.yaml --html shows one run."
            )
            yield parts.lines(name, printable(title), (), why)
        elif result.timeline is not None and result.makespan > 0:
            yield timeline_of(result, name, title, len(watched))


def decision(ranking: Ranking, *, awaited: bool = False) -> str:
    """Return the decision: the first option, its cost, and its probability unless that is still being computed."""
    first = [each for each in ranking.entries if each.position == 1]
    if not first:
        return "No option can be ranked."
    if len(first) > 1:
        names = ", ".join(each.option for each in first)
        certainty = "" if awaited else _certainty(first[0], ranking, "The first of them")
        return f"{len(first)} options cannot be told apart: {names}. {certainty}".rstrip()
    best = first[0]
    certainty = "" if awaited else _certainty(best, ranking, "It")
    return f"{best.option} comes first: {_score_and_price(best, ranking)}. {certainty}".rstrip()


def _score_and_price(entry: Entry, ranking: Ranking) -> str:
    """Return the score and the price, each with its name if they could be taken for each other."""
    score = format_score(entry.score, ranking.unit) + (" points" if ranking.unit == "points" else "")
    price = "" if entry.price is None or not entry.price.amount else str(entry.price)
    if ranking.unit == "points" or ranking.criterion is Criterion.MAKESPAN:
        return f"{score} for {price}" if price else score
    # "per run" is in the unit.
    named = f"{ranking.criterion.value.replace('_', ' ').removesuffix(' per run')} {score}"
    return f"{named}, price {price}" if price else named


def _certainty(entry: Entry, ranking: Ranking, subject: str) -> str:
    if ranking.sampling is None or entry.best is None:
        return "No probability was computed: add --samples 200."
    share = format_probability(entry.best)
    return f"{subject} is the best option in {share} of {ranking.sampling.samples} samples of the uncertainty."


# --- the ranking -----------------------------------------------------------------------------------------------------


def _money(price: Money | None) -> Cell:
    return Cell(NONE) if price is None else Cell(str(price), price.amount)


def _ranking(ranking: Ranking, placed: Sequence[Entry]) -> Sheet:
    """Return the options by position, with the makespan of each workload."""
    workloads = list(dict.fromkeys(each.workload for entry in placed for each in entry.workloads))
    sampled = ranking.sampling is not None
    columns = [
        ("#", True),
        ("option", False),
        ("price", True),
        ("score", True),
        *([("score, 80 % interval", False), ("best", True)] if sampled else []),
        *((f"{name}: makespan" if len(workloads) > 1 else "makespan", True) for name in workloads),
        *((f"{name}: instances × ranks" if len(workloads) > 1 else "instances × ranks", False) for name in workloads),
    ]
    scores = score_words(ranking, placed[: parts.MOST_ROWS])
    rows = [tuple(_option(entry, ranking, workloads, scores)) for entry in placed]
    found = parts.sheet("ranking", "Ranking", columns, rows, pareto_front(ranking), [each.option for each in placed])
    return replace(found, is_part=ranking.first is not None)


def _option(entry: Entry, ranking: Ranking, workloads: Sequence[str], scores: Mapping[str, str]) -> Iterator[Cell]:
    yield Cell(str(entry.position), entry.position)
    yield Cell(entry.option)
    yield _money(entry.price)
    yield Cell(scores.get(entry.option, NONE), entry.score)
    if ranking.sampling is not None:
        ends = () if entry.spread is None else (entry.spread.low, entry.spread.high)
        low = None if entry.spread is None else entry.spread.low
        yield Cell(" to ".join(format_score(end, ranking.unit) for end in ends) or NONE, low)
        yield Cell(NONE if entry.best is None else format_probability(entry.best), entry.best)
    outcomes: dict[str, WorkloadOutcome] = {each.workload: each for each in entry.workloads}
    for name in workloads:
        yield Cell(outcomes[name].told, outcomes[name].makespan) if name in outcomes else Cell(NONE)
    for name in workloads:
        yield Cell(format_split(outcomes[name])) if name in outcomes else Cell(NONE)


def _weighted(ranking: Ranking, placed: Sequence[Entry]) -> Sheet:
    """Return the figures of which weighted sums consist."""
    columns = [("option", False), *((head, True) for head in weighted_heads(ranking))]
    rows = [
        (
            Cell(each.option),
            *(
                Cell(format_score(each.parts.get(by), unit), each.parts.get(by))
                for by, (_, unit) in ranking.weighted.items()
            ),
        )
        for each in placed
    ]
    return parts.sheet("weighted", "What is weighted", columns, rows)


# --- charts ----------------------------------------------------------------------------------------------------------


def first_of(shown: int, all_of_them: int) -> str:
    """Return a caption if a chart does not show all options."""
    return f"The first {shown} of {format_number(all_of_them)} options." if shown < all_of_them else ""


def _scores(ranking: Ranking, placed: Sequence[Entry], total: int) -> Chart:
    """Draw scores as bars, by workload if the score is a sum of points."""
    scale = time_scale(max((each.score or 0.0 for each in placed), default=0.0)) if ranking.unit == "s" else None
    length, unit = (1.0, ranking.unit) if scale is None else (scale.length, scale.unit)
    shares = score_parts(ranking, placed)
    colours = style.colours(len(shares)) if len(shares) > 1 else [style.COMPUTE]
    series = [
        Series(name, colour, [figure / length for figure in figures])
        for (name, figures), colour in zip(shares.items(), colours, strict=True)
    ]
    scores = score_words(ranking, placed)
    rows = [
        Row(
            f"{each.position}. {each.option}",
            scores.get(each.option, NONE) + ("" if each.best is None else f", best in {format_probability(each.best)}"),
            None if each.spread is None else (each.spread.low / length, each.spread.high / length),
        )
        for each in placed
    ]
    criterion = ranking.criterion.value.replace("_", " ")
    better = "higher" if ranking.higher_is_better else "lower"
    axis = f"{criterion if criterion == unit else f'{criterion} ({unit})' if unit else criterion}, {better} is better"
    height, shapes = bars(rows, series, axis, lambda figure: format_score(figure * length, ranking.unit))
    words = f"Bars of the scores of {len(rows)} options; {axis}. The figures are in the table of the ranking."
    sampled = any(each.spread is not None for each in placed)
    told = how_sampled(ranking, "within the thin lines") if sampled else ""
    legend = tuple((each.name, each.colour) for each in series) if len(series) > 1 else ()
    return Chart(
        "scores", "Scores", words, height, tuple(shapes), legend, f"{told} {first_of(len(rows), total)}".strip()
    )


def _clouds(ranking: Ranking, scenario: Scenario, placed: Sequence[Entry]) -> Iterator[Section]:
    """Draw options by price and time, and show the requested Pareto front."""
    priced = [each for each in placed if each.price is not None and each.workloads]
    currencies = {each.price.currency for each in priced if each.price is not None}
    drawn: set[Criterion] = set()
    if len(priced) > 1 and len(currencies) == 1:
        shown = priced[:MOST_POINTS]
        yield parts.picture(_money_and_time(ranking, scenario, shown, next(iter(currencies))))
        drawn = {Criterion.TOTAL_COST, Criterion.MAKESPAN} if _is_over_life(shown) else drawn
    # Options of the front that are not among the first are known, too. The front comes first, to be cut last.
    on_front = ranking.pareto or ()
    known = [each for each in ranking.in_order if len(each.figures) > 1]
    known.sort(key=lambda each: each.option not in on_front)
    if not on_front or len(known) < 2:
        return
    if set(known[0].figures) != drawn or any(each.position is None for each in known):
        yield parts.picture(_front(ranking, known[:MOST_POINTS], on_front))
    columns = [("#", True), ("option", False), ("price", True), ("on the front", False),
               *((_criterion(each, ranking), True) for each in known[0].figures)]  # fmt: skip
    rows = [
        (
            Cell(str(each.position or NONE), each.position),
            Cell(each.option),
            _money(each.price),
            Cell("yes" if each.option in on_front else "no"),
            *(Cell(format_figure(figure, 6), figure) for figure in each.figures.values()),
        )
        for each in known
    ]
    yield parts.sheet("front-figures", "Options by the criteria of the Pareto front", columns, rows)


def _front(ranking: Ranking, known: Sequence[Entry], on_front: Sequence[str]) -> Chart:
    """Draw options by the first two criteria of the Pareto front."""
    x, y, *further = known[0].figures
    across, upwards = (_criterion(each, ranking) for each in (x, y))
    points = [
        Point(each.option, each.figures[x], each.figures[y],
              f"{each.option}: {across} {format_figure(each.figures[x])}, {upwards} {format_figure(each.figures[y])}",
              each.option in on_front)
        for each in known
    ]  # fmt: skip
    height, shapes = scatter(points, across, upwards, steps=False)
    told = "Blue: options of which none is as good in all criteria and better in one"
    told += "".join(f"; {_criterion(each, ranking)} counts, too" for each in further)
    words = f"Options as points: {across} across, {upwards} upwards. {pareto_front(ranking)}"
    return Chart("front", "Pareto front", words, height, tuple(shapes), caption=f"{told}.")


def _criterion(criterion: Criterion, ranking: Ranking) -> str:
    name, unit = criterion.value.replace("_", " "), ranking.units.get(criterion, "")
    return f"{name} ({unit})" if unit and unit != name else name


def _money_and_time(ranking: Ranking, scenario: Scenario, priced: Sequence[Entry], currency: str) -> Chart:
    """Draw options by cost, over their life if any option states costs, and time."""
    over_life, amounts = _is_over_life(priced), [_paid(each) for each in priced]
    times = [mean_makespan(each, scenario) for each in priced]
    unbeaten = set(front(list(zip(amounts, times, strict=True))))
    scale = time_scale(max(times))
    points = [
        Point(
            name=each.option,
            x=amount,
            y=time / scale.length,
            told=f"{each.option}: {Money(amount, currency)}, {format_time(time)}",
            first=i in unbeaten,
        )
        for i, (each, amount, time) in enumerate(zip(priced, amounts, times, strict=True))
    ]
    what = f"total cost over {format_time(ranking.life)}" if over_life else "price"
    limit = None if over_life or ranking.budget is None else (ranking.budget.amount, f"budget {ranking.budget}")
    several = "weighted mean makespan" if len(scenario.workloads) > 1 else "makespan"
    height, shapes = scatter(points, f"{what} ({currency})", f"{several} ({scale.unit})", at=limit)
    names = ", ".join(priced[i].option for i in sorted(unbeaten, key=amounts.__getitem__))
    words = f"Options as points: {what} across, time upwards; lower is better in both. Pareto front: {names}."
    caption = "Blue and joined: the Pareto front, options that none beats in both cost and time."
    title = "Cost and time" if over_life else "Price and time"
    return Chart("price-time", title, words, height, tuple(shapes), caption=caption)


def _is_over_life(priced: Sequence[Entry]) -> bool:
    """Tell whether options are compared by their costs over the service life: prices lack the rent of nodes."""
    return any(each.cost is not None for each in priced)


def _paid(entry: Entry) -> float:
    """Return what is paid for an option over its life: without stated costs its price, as in the total cost."""
    if entry.cost is not None:
        return entry.cost.sheet.total
    return 0.0 if entry.price is None else entry.price.amount


def mean_makespan(entry: Entry, scenario: Scenario) -> float:
    """Return the mean of an option's makespans by the weights of the workloads, seconds."""
    weights = {each.name: each.weight for each in scenario.workloads}
    total = sum(weights.get(each.workload, 1.0) for each in entry.workloads)
    times = [weights.get(each.workload, 1.0) * each.makespan for each in entry.workloads]
    return sum(times) / total if total else math.fsum(each.makespan for each in entry.workloads)


def _makespans(placed: Sequence[Entry]) -> Iterator[Section]:
    """Draw the parts of the makespans of each workload, and list them."""
    shown = placed[:MOST_BARS]
    workloads = list(dict.fromkeys(each.workload for entry in shown for each in entry.workloads))
    listed: list[tuple[str, str, Parts]] = []
    for number, name in enumerate(workloads, 1):
        found = [(entry, each) for entry in shown for each in entry.workloads if each.workload == name]
        scale = time_scale(max(each.makespan for _, each in found))
        made = [added_parts(each.components) for _, each in found]
        kinds = PARTS[: shown_parts(made)]
        series = [
            Series(what, colour, [each[i] / scale.length for each in made]) for i, (what, colour) in enumerate(kinds)
        ]
        rows = [Row(f"{entry.position}. {entry.option}", each.told) for entry, each in found]
        length = scale.length

        def formatted(figure: float, length: float = length) -> str:
            return format_time(figure * length)

        height, shapes = bars(rows, series, f"makespan ({scale.unit}); its parts are means over ranks", formatted)
        title = "Makespans broken down" + (f": {name}" if len(workloads) > 1 else "")
        words = f"Bars of the makespans of {name} on {len(rows)} options, made of computing, communicating and waiting."
        caption = first_of(len(shown), len(placed))
        legend = legend_of(len(kinds))
        chart = Chart(f"makespan-{number}", printable(title), words, height, tuple(shapes), legend, caption)
        yield parts.picture(chart)
        listed += [(entry.option, name, times) for (entry, _), times in zip(found, made, strict=True)]
    if listed:
        kinds = PARTS[: shown_parts(times for *_, times in listed)]
        columns = [("option", False), ("workload", False), *((what, True) for what, _ in kinds)]
        cells = [(Cell(option), Cell(name), *list(_times(times))[: len(kinds)]) for option, name, times in listed]
        caption = "Waiting includes that for the last rank to finish."
        yield parts.sheet("makespan-parts", "Parts of makespans, means over ranks", columns, cells, caption)


def _times(times: Parts) -> Iterator[Cell]:
    """Yield the parts of a makespan; those of one that is not simulated at all are not known."""
    *known, unknown = times
    for time in known:
        yield Cell(format_time(time), time) if any(known) else Cell(NONE)
    yield Cell(format_time(unknown), unknown)


# --- what would change the decision ----------------------------------------------------------------------------------


def _changes(ranking: Ranking, placed: Sequence[Entry], explanation: RankingExplanation | None) -> Section:
    """Return the lead of the first option, and the parameters of machines that would give its place to another."""
    title = "What would change the decision"
    if explanation is not None:
        signs = [(f"lead at {sign}{explanation.change:.0%}", True) for sign in "−+"]
        tried = explanation.sensitivities[: max(LEAST_ROWS, len(explanation.altering))]
        rows = [
            (
                Cell(each.parameter),
                Cell(options_of(explanation, each)),
                *(
                    Cell(outcome_of(explanation, side), side.lead if math.isfinite(side.lead) else None)
                    for side in (each.lower, each.higher)
                ),
            )
            for each in tried
        ]
        columns = [("parameter", False), ("of", False), *signs]
        return parts.sheet("changes", title, columns, rows, verdict(explanation))
    more = (
        "--explain shows which parameters of the machines would put another option first; clue serve "
        "lets you try other prices."
    )
    return parts.lines("changes", title, (), f"{_lead(ranking, placed)} {more}")


def _lead(ranking: Ranking, placed: Sequence[Entry]) -> str:
    if len(placed) < 2:
        return "No other option is ranked."
    first, second = placed[:2]
    if first.position == second.position:
        return f"{first.option} and {second.option} share the first place."
    one, other = first.score or 0.0, second.score or 0.0
    lead = format_score(abs(one - other), ranking.unit) + (" points" if ranking.unit == "points" else "")
    least = min(abs(one), abs(other))
    share = f" ({format_share(abs(one - other) / least, 2)} of the smaller score)" if least else ""
    return f"{first.option} leads {second.option} by {lead}{share}."


# --- inputs ----------------------------------------------------------------------------------------------------------


def _options(scenario: Scenario) -> Sheet:
    columns = [("option", False), ("machine", False), ("nodes", True), ("processors", True), ("price", True),
               ("source of its figures", False)]  # fmt: skip
    rows = []
    for option in scenario.options[: parts.MOST_ROWS]:
        machine = option.machine
        counts = (len(machine.nodes), machine.processors)
        numbers = (Cell(format_number(count), count) for count in counts)
        rows.append((Cell(option.name), Cell(machine.name), *numbers, _money(option.price), Cell(sources(machine))))
    found = parts.sheet("options", "Options", columns, rows)
    more = len(scenario.options) - len(rows)
    return Sheet(found.name, found.title, found.columns, found.rows, more)


def sources(machine: Machine) -> str:
    """Return the sources of a machine's figures, as stated in its file."""
    stated = dict.fromkeys(each for each in (machine.source, *(node.source for node in machine.nodes)) if each)
    return "; ".join(" ".join(each.split()) for each in stated) or "not stated"


def _workloads(scenario: Scenario) -> Sheet:
    columns = [("workload", False), ("program", False), ("instances", True), ("ranks", False), ("weight", True)]
    dated = any(math.isfinite(each.deadline) for each in scenario.workloads)
    columns += [("deadline", True)] if dated else []
    rows = [
        (
            Cell(each.name),
            Cell("; ".join(map(_program, each.components))),
            Cell("as many as fit") if each.instances is None else Cell(format_number(each.instances), each.instances),
            Cell(", ".join(map(format_number, each.ranks))),
            Cell(f"{each.weight:g}", each.weight),
            *([_deadline(each.deadline)] if dated else []),
        )
        for each in scenario.workloads
    ]
    return parts.sheet("workloads", "Workloads", columns, rows)


def _deadline(seconds: float) -> Cell:
    return Cell(format_time(seconds), seconds) if math.isfinite(seconds) else Cell(NONE)


def _program(component: Component) -> str:
    application = component.application
    told = " ".join((application.name, *application.arguments))
    if application.extrapolated is not None:
        return f"{told}, extrapolated to size {application.extrapolated.size}"
    return told if application.modelled is None else f"{told} at size {format_exact(application.modelled.size)}"
