"""Performance metrics of a queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clue.purchase.queue.jobs import Doubles, Jobs

#: Threshold of the bounded slowdown, seconds: shorter run times count as this, else a job of a second that waits for a
#: minute outweighs all others (D. Feitelson et al., *Theory and Practice in Parallel Job Scheduling*, JSSPP 1997).
SHORTEST = 10.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Performance metrics of a queue.

    Attributes:
        waiting: Mean time from submission to start, seconds.
        median: Median of that time, seconds.
        late: Its 95th percentile, seconds.
        slowdown: Mean bounded slowdown, max(1, (waiting + run) / max(run, 10 s)).
        utilisation: Share of the nodes' time in which they are busy.
        unused: Mean number of idle nodes.
        throughput: Jobs finished per second.
    """

    waiting: float
    median: float
    late: float
    slowdown: float
    utilisation: float
    unused: float
    throughput: float


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """Performance metrics of the jobs of one class.

    Attributes:
        waiting: Mean time from submission to start, seconds; NaN if there is no such job.
        slowdown: Mean bounded slowdown, max(1, (waiting + run) / max(run, 10 s)).
    """

    waiting: float
    slowdown: float


class Counted(NamedTuple):
    """The counted jobs, and the time in which they are submitted.

    Attributes:
        jobs: The jobs.
        begin: When it begins, seconds: with whole weeks, before the first submission.
        end: When it ends.
    """

    jobs: slice
    begin: float
    end: float


def measure(jobs: Jobs, starts: Doubles, nodes: int, weights: Doubles, counted: Counted) -> Figures:
    """Return the metrics of a queue.

    Waiting and slowdown are those of the counted jobs. Utilisation and throughput refer to the time in which these are
    submitted: afterwards the queue drains.

    Args:
        jobs: The jobs.
        starts: Start time of each job, shape (jobs,).
        nodes: Number of nodes.
        weights: Weight of each job in means, shape (jobs,).
        counted: The counted jobs.
    """
    own, begin, end = counted
    waits, slowdowns = _waits(jobs, starts, own)
    if end == begin:  # simultaneous submission: use the time until all are done
        end = float((starts + jobs.run).max())
    utilisation = busy_share(jobs, starts, nodes, begin, end)
    ends = starts + jobs.run
    middle, late = np.quantile(waits, [0.5, 0.95])
    return Figures(
        waiting=float(np.average(waits, weights=weights[own])),
        median=float(middle),
        late=float(late),
        slowdown=float(np.average(slowdowns, weights=weights[own])),
        utilisation=utilisation,
        unused=nodes * (1 - utilisation),
        throughput=float(np.count_nonzero((ends > begin) & (ends <= end)) / (end - begin)),
    )


def measure_classes(jobs: Jobs, starts: Doubles, classes: int, counted: slice) -> Doubles:
    """Return mean waiting time and mean slowdown of the counted jobs of each class, shape (classes, 2)."""
    figures = np.array(_waits(jobs, starts, counted))
    found = np.full((classes, 2), np.nan)
    for kind in range(classes):
        own = figures[:, jobs.kind[counted] == kind]
        if own.size:
            found[kind] = own.mean(axis=1)
    return found


def _waits(jobs: Jobs, starts: Doubles, counted: slice) -> tuple[Doubles, Doubles]:
    """Return the waiting time and the slowdown of each counted job."""
    waits = (starts - jobs.submit)[counted]
    long = np.maximum(jobs.run[counted], SHORTEST)
    return waits, np.maximum((waits + jobs.run[counted]) / long, 1.0)


def busy_share(jobs: Jobs, starts: Doubles, nodes: int, begin: float, end: float) -> float:
    """Return the share of the nodes' time between two times in which they are busy."""
    worked = np.clip(np.minimum(starts + jobs.run, end) - np.maximum(starts, begin), 0.0, None)
    return float((worked * jobs.nodes).sum() / (nodes * (end - begin)))
