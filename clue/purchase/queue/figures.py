"""What is measured of a queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clue.purchase.queue.jobs import Doubles, Jobs

#: Shorter jobs count as so long where a slowdown is told, seconds: else a job of a second that waits for a minute
#: outweighs all others (D. Feitelson et al., *Theory and Practice in Parallel Job Scheduling*, JSSPP 1997).
SHORTEST = 10.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What is measured of a queue.

    Attributes:
        waiting: Mean time from submission to start, seconds.
        median: Its median.
        late: Its 95th percentile.
        slowdown: Mean of (waiting + run) / run, of jobs under 10 s as if they ran so long.
        utilisation: Share of the nodes' time in which they work.
        unused: Mean number of nodes that do nothing.
        throughput: Jobs that end, a second.
    """

    waiting: float
    median: float
    late: float
    slowdown: float
    utilisation: float
    unused: float
    throughput: float


def measure(jobs: Jobs, starts: Doubles, nodes: int, weights: Doubles, counted: slice) -> Figures:
    """Return what is measured of a queue.

    Waiting and slowdown are of the jobs that count. Utilisation and throughput are of the time from the first
    submission of these to the last: afterwards the queue runs empty.

    Args:
        jobs: The jobs.
        starts: When each starts, shape (jobs,).
        nodes: How many nodes there are.
        weights: How much each job counts in means, shape (jobs,).
        counted: The jobs that count.
    """
    waits = (starts - jobs.submit)[counted]
    long = np.maximum(jobs.run[counted], SHORTEST)
    slowdowns = np.maximum((waits + jobs.run[counted]) / long, 1.0)
    begin, end = map(float, jobs.submit[counted][[0, -1]])
    if end == begin:  # all at once: there is no other time than until they are done
        end = float((starts + jobs.run).max())
    utilisation = busy_share(jobs, starts, nodes, begin, end)
    ends = starts + jobs.run
    middle, late = np.quantile(waits, [0.5, 0.95])
    return Figures(
        waiting=float(np.average(waits, weights=weights[counted])),
        median=float(middle),
        late=float(late),
        slowdown=float(np.average(slowdowns, weights=weights[counted])),
        utilisation=utilisation,
        unused=nodes * (1 - utilisation),
        throughput=float(np.count_nonzero((ends > begin) & (ends <= end)) / (end - begin)),
    )


def busy_share(jobs: Jobs, starts: Doubles, nodes: int, begin: float, end: float) -> float:
    """Return the share of the nodes' time in which they work, between two times."""
    worked = np.clip(np.minimum(starts + jobs.run, end) - np.maximum(starts, begin), 0.0, None)
    return float((worked * jobs.nodes).sum() / (nodes * (end - begin)))
