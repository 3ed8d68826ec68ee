"""The queues of a ranking's options as text: use of nodes, waiting times, and their uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.shared.table import NONE, Fitted, add_row, table
from clue.units import format_figure, format_number, format_share, format_time

if TYPE_CHECKING:
    from clue.purchase import Ranking
    from clue.purchase.queue.replications import QueueOutcome

HOUR = 3600.0


def queue_table(ranking: Ranking) -> Fitted | None:
    """Show the queue of each option that has a position, if jobs are stated."""
    queues = [(each.option, each.queue) for each in ranking.entries if each.position and each.queue is not None]
    if not queues:
        return None
    columns = ("load", "used", "unused", "waiting", "median", "95%", "slowdown", "jobs/h", "at most")
    shown = table("option", *columns, numbers=columns, title="Queue")
    for option, queue in queues:
        figures = (text for text, _ in figures_of(queue))
        add_row(shown, option, f"{queue.load:.3g}", *figures, format_figure(queue.most * HOUR))
    return Fitted(shown)


def figures_of(queue: QueueOutcome) -> list[tuple[str, float | None]]:
    """Return the figures of a queue for tables, as text and as numbers.

    They are the used share of the nodes' time, nodes without a job, waiting time, its median and 95th percentile,
    slowdown, and jobs per hour.
    """
    figures, errors = queue.figures, queue.errors
    if figures is None:
        return [(NONE, None)] * 7
    error = "" if errors is None else f" ± {format_time(errors.waiting)}"
    return [
        (format_share(figures.utilisation, 1), figures.utilisation),
        (f"{figures.unused:,.1f} of {format_number(queue.nodes)}", figures.unused),
        (f"{format_time(figures.waiting)}{error}", figures.waiting),
        (format_time(figures.median), figures.median),
        (format_time(figures.late), figures.late),
        (format_figure(figures.slowdown), figures.slowdown),
        (format_figure(figures.throughput * HOUR), figures.throughput),
    ]


def how_queued(ranking: Ranking) -> str:
    """Explain the figures of queues; ``""`` if there are none."""
    queues = [each.queue for each in ranking.entries if each.position and each.queue is not None]
    known = next((queue for queue in queues if queue.figures is not None), None)
    if known is None:
        return ""
    from clue.purchase.queue.mix import Policy  # noqa: PLC0415 - loaded when needed

    policy = {Policy.FCFS: "first come, first served", Policy.BACKFILL: "EASY backfilling"}[known.policy]
    how = f"{known.counted:,} jobs, once"
    if known.errors is not None:
        how = (
            f"means over {known.replications} replications of {known.counted:,} jobs each, after {known.left_out:,} "
            "that are left out because the queue was empty at the beginning; ±: standard error of the mean"
        )
    return (
        f"Queue: {policy}; {how}. used: share of the nodes' time with jobs; unused: nodes without one, on average. "
        "95%: 95 % of the jobs wait less than that. at most: the highest throughput of the nodes with this mix."
    )
