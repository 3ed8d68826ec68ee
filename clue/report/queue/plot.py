"""Waiting over load: how much more work each option can take before its queue grows."""

from __future__ import annotations

from matplotlib.figure import Figure

from clue.purchase import Ranking
from clue.report.shared import style
from clue.report.shared.scale import time_scale
from clue.units import count_of

#: Number of options drawn: the first ones.
_DRAWN = 7


def draw_waiting(ranking: Ranking) -> Figure | None:
    """Draw mean waiting time over load, by option; ``None`` if no queue was simulated at several loads."""
    queues = [(each.option, each.queue) for each in ranking.entries if each.queue is not None]
    shown = [(option, queue) for option, queue in queues if queue.curve][:_DRAWN]
    if not shown:
        return None
    scale = time_scale(max(waiting for _, queue in shown for _, waiting in queue.curve))
    some = f" ({len(shown)} of {count_of(len(queues), 'option')})" if len(shown) < len(queues) else ""
    drawn = style.figure(9, 4.8, f"{ranking.scenario}: waiting over load{some}")
    axes = drawn.subplots()
    handles, labels = [], []
    for i, ((option, queue), colour) in enumerate(zip(shown, style.colours(len(shown)), strict=True)):
        loads, waits = zip(*queue.curve, strict=True)
        marker = style.MARKERS[i % len(style.MARKERS)]
        (line,) = axes.plot(loads, [wait / scale.length for wait in waits], color=colour, marker=marker, markersize=4)
        handles.append(line)
        labels.append(option)
        if queue.figures is not None:
            axes.plot(queue.load, queue.figures.waiting / scale.length, color=colour, marker=marker, markersize=11,
                      markerfacecolor="none", linestyle="")  # fmt: skip
    what = "load: work that is submitted, as a share of what the nodes can do (large markers: the load that is stated)"
    style.finish_axes(axes, what, f"mean waiting ({scale.unit})", grid="both")
    axes.set_xlim(0, max([1.0, *(queue.load for _, queue in shown if queue.figures is not None)]))
    axes.set_ylim(bottom=0)
    style.legend_below(drawn, handles, labels)
    return drawn
