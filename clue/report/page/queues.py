"""Queues on the page of a ranking: waiting times and use of nodes, by option and by class of jobs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from clue.purchase import Entry, Ranking
from clue.purchase.queue.replications import QueueOutcome
from clue.report.page import parts
from clue.report.page.charts import Chart, Line, Point, Row, Series, bars, dashes_of, lines
from clue.report.page.parts import Cell, Section
from clue.report.queue.text import HOUR, figures_of, how_queued
from clue.report.shared import style
from clue.report.shared.scale import time_scale
from clue.report.shared.table import NONE
from clue.units import count_of, format_figure, format_number, format_share, format_time

#: Largest numbers of options with bars, and with lines, in a chart.
MOST_BARS, MOST_LINES = 20, len(style.SERIES)
_COLUMNS = ("load", "used", "unused", "waiting", "median", "95%", "slowdown", "jobs/h", "at most")

Known = Sequence[tuple[Entry, QueueOutcome]]


def queue_sections(ranking: Ranking, placed: Sequence[Entry]) -> Iterator[Section]:
    """Yield the sections about queues; nothing if no jobs are stated."""
    known = [(each, each.queue) for each in placed if each.queue is not None]
    if not known:
        return
    measured = [(each, queue) for each, queue in known if queue.figures is not None]
    if measured:
        yield parts.picture(_waiting(measured))
        yield parts.picture(_nodes(measured))
    if any(queue.curve for _, queue in known):
        yield parts.picture(_curves(known))
        yield _loads(known)
    yield _table(ranking, known)
    yield _classes(known)


def _left(shown: Known, known: Known) -> str:
    return f"The first {len(shown)} of {count_of(len(known), 'option')}." if len(shown) < len(known) else ""


def _waiting(known: Known) -> Chart:
    """Draw the mean waiting time with its standard error."""
    shown = known[:MOST_BARS]
    waits = [0.0 if queue.figures is None else queue.figures.waiting for _, queue in shown]
    scale = time_scale(max(waits))
    rows = []
    for (each, queue), wait in zip(shown, waits, strict=True):
        error = None if queue.errors is None else queue.errors.waiting / scale.length
        interval = None if error is None else (wait / scale.length - error, wait / scale.length + error)
        rows.append(Row(f"{each.position}. {each.option}", format_time(wait), interval))
    series = [Series("", style.COMPUTE, [wait / scale.length for wait in waits])]
    height, shapes = bars(
        rows, series, f"mean waiting ({scale.unit}), lower is better", lambda figure: format_time(figure * scale.length)
    )
    told = "; ".join(f"{each.option}: {format_time(wait)}" for (each, _), wait in zip(shown, waits, strict=True))
    errors = "Thin lines: standard errors of the mean. " if any(row.interval is not None for row in rows) else ""
    words = f"Bars of how long a job waits on average. {told}."
    return Chart(
        "queue-waiting",
        "How long jobs wait",
        words,
        height,
        tuple(shapes),
        (),
        f"{errors}{_left(shown, known)}".strip(),
    )


def _nodes(known: Known) -> Chart:
    """Draw the shares of the nodes' time with and without a job."""
    shown = known[:MOST_BARS]
    figures = [(queue.figures, queue.nodes) for _, queue in shown]
    unused = [0.0 if found is None else found.unused for found, _ in figures]
    series = [
        Series("with a job", style.COMPUTE, [nodes - idle for idle, (_, nodes) in zip(unused, figures, strict=True)]),
        Series("without a job", style.UNUSED, unused),
    ]
    rows = [
        Row(f"{each.position}. {each.option}", "" if of is None else f"{format_share(of.utilisation, 1)} used")
        for (each, _), (of, _) in zip(shown, figures, strict=True)
    ]
    height, shapes = bars(rows, series, "nodes, on average", lambda figure: f"{figure:,.3g} nodes")
    told = "; ".join(
        f"{each.option}: {idle:,.1f} of {format_number(queue.nodes)} without a job"
        for (each, queue), idle in zip(shown, unused, strict=True)
    )
    words = f"Stacked bars of nodes with and without a job, on average. {told}."
    legend = tuple((each.name, each.colour) for each in series)
    return Chart("queue-nodes", "Use of nodes", words, height, tuple(shapes), legend, _left(shown, known))


def _curves(known: Known) -> Chart:
    """Draw the mean waiting time over the load, which is known of the first options only."""
    shown = [(each, queue) for each, queue in known if queue.curve][:MOST_LINES]
    some = f"{len(shown)} of {count_of(len(known), 'option')}." if len(shown) < len(known) else ""
    scale = time_scale(max(wait for _, queue in shown for _, wait in queue.curve))
    drawn = [
        Line(each.option, colour, [
            Point(each.option, load, wait / scale.length, f"{each.option} at load {load:.3g}: {format_time(wait)}")
            for load, wait in queue.curve
        ])
        for (each, queue), colour in zip(shown, style.SERIES, strict=False)
    ]  # fmt: skip
    height, shapes = lines(drawn, "load: work as a share of what nodes can do", f"mean waiting ({scale.unit})")
    words = "Lines of how long a job waits on average where the same jobs come faster or slower."
    legend = tuple((line.name, line.colour) for line in drawn)
    return Chart("queue-load", "Waiting over load", words, height, tuple(shapes), legend, some, dashes_of(drawn))


def _loads(known: Known) -> Section:
    """Return the mean waiting time at each load, of the options of which it is known."""
    columns = [("option", False), ("load", True), ("mean waiting", True)]
    rows = [
        (Cell(each.option), Cell(f"{load:.3g}", load), Cell(format_time(wait), wait))
        for each, queue in known
        for load, wait in queue.curve
    ]
    return parts.sheet("queue-by-load", "Waiting by load", columns, rows)


def _table(ranking: Ranking, known: Known) -> Section:
    columns = [("option", False), *((name, True) for name in _COLUMNS)]
    rows = [
        (
            Cell(each.option),
            Cell(f"{queue.load:.3g}", queue.load),
            *(Cell(text, figure) for text, figure in figures_of(queue)),
            Cell(format_figure(queue.most * HOUR), queue.most),
        )
        for each, queue in known
    ]
    endless = [each.option for each, queue in known if queue.figures is None]
    more = f" Without figures, because the queue grows without bound: {', '.join(endless)}." if endless else ""
    return parts.sheet("queue", "Queue", columns, rows, f"{how_queued(ranking)}{more}".strip())


def _classes(known: Known) -> Section:
    """Return the run time and the waiting time of each class of jobs."""
    columns = [("option", False), ("job class", False), ("ranks", True), ("nodes of a job", True), ("a job runs", True),
               ("waiting", True), ("slowdown", True)]  # fmt: skip
    rows = []
    for each, queue in known:
        for name, by_ranks in zip(queue.classes, queue.takes, strict=True):
            of = queue.by_class.get(name)
            waiting = Cell(NONE) if of is None or math.isnan(of.waiting) else Cell(format_time(of.waiting), of.waiting)
            slowdown = (
                Cell(NONE) if of is None or math.isnan(of.slowdown) else Cell(format_figure(of.slowdown), of.slowdown)
            )
            rows += [
                (
                    Cell(each.option),
                    Cell(name),
                    Cell(format_number(ranks), ranks) if ranks else Cell("as is best"),
                    Cell(format_number(taken.nodes), taken.nodes),
                    Cell(format_time(taken.run), taken.run),
                    waiting,
                    slowdown,
                )
                for ranks, taken in by_ranks.items()
            ]
    caption = "Waiting and slowdown are means over all jobs of a class, whatever their ranks."
    return parts.sheet("jobs", "Classes of jobs", columns, rows, caption)
