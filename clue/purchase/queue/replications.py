"""The queue of an option: its replications, their statistics, and the saturation load.

Random submissions are simulated several times with independent draws: a figure is the mean over replications, its error
the standard error of that mean. With given submission times there is one replication, and no error.

If jobs arrive faster than they can be processed, the queue is unstable: it grows without bound, as do waiting times,
and no figures are given. The largest load is the throughput of the same queue with all jobs in it from the start. For
first come, first served, that is exactly where the queue becomes unstable (the saturation rule: F. Baccelli, S. Foss,
*On the Saturation Rule for the Stability of Queues*, J. Appl. Prob. 32, 1995). With backfilling it is an estimate, as
an endless queue offers it more choice: small jobs overtake large ones, which would be left over. So it is limited to
what no policy can exceed: of the jobs of which only m fit on the nodes side by side, no more than m run at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from clue.purchase.queue import fast
from clue.purchase.queue.arrivals import Takes, draw_jobs, jobs_of_kinds
from clue.purchase.queue.figures import ClassFigures, Counted, Figures, busy_share, measure, measure_classes
from clue.purchase.queue.jobs import Doubles, Jobs
from clue.purchase.queue.mix import WEEK, Mix, Policy

#: Number of jobs of the saturated queue, and share ignored at either end, where it fills and drains.
_SATURATED, _EDGE = 2000, 0.1
#: Jobs and replications of a point of the curve, and largest numbers of given and of drawn jobs for which there is one.
_CURVE_JOBS, _CURVE_REPLICATIONS, _MOST_GIVEN, _MOST_DRAWN = 5000, 6, 20_000, 500_000
#: Weeks of a point of the curve after the warm-up, with office hours: at least two of them are whole.
_CURVE_WEEKS = 3
#: Tolerance for rounding errors of the utilisation.
_ROUNDING = 1e-9
#: Loads of the curve of waiting over load, as shares of the saturation load.
_LOADS = (0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class QueueOutcome:
    """The queue of an option.

    Attributes:
        policy: The scheduling policy.
        nodes: Number of nodes.
        load: Submitted work as a share of the nodes' time.
        capacity: Saturation load: the largest load that they can process under the policy.
        most: Saturation throughput of this mix, jobs per second.
        figures: Means over replications; ``None``: the queue is unstable.
        errors: Their standard errors, in the same fields; ``None``: there are no replications.
        counted: Number of counted jobs of a replication.
        left_out: Number of jobs of a replication in the warm-up.
        replications: Number of replications.
        classes: The classes of jobs.
        takes: Demands of jobs by class and number of ranks.
        curve: Points (load, mean waiting time in seconds), if requested.
        by_class: Means over replications by class of jobs; empty if the queue grows without bound.
    """

    policy: Policy
    nodes: int
    load: float
    capacity: float
    most: float
    figures: Figures | None
    errors: Figures | None
    counted: int
    left_out: int
    replications: int
    classes: tuple[str, ...]
    takes: Takes
    curve: tuple[tuple[float, float], ...] = ()
    by_class: Mapping[str, ClassFigures] = field(default_factory=dict)

    def row(self) -> dict[str, object]:
        """Return its figures for a table, with units in their names."""
        found: dict[str, object] = {"queue load": self.load}
        if self.figures is not None:
            found |= {
                "queue waiting (s)": self.figures.waiting,
                "queue waiting median (s)": self.figures.median,
                "queue waiting 95 (s)": self.figures.late,
                "queue slowdown": self.figures.slowdown,
                "queue utilisation": self.figures.utilisation,
                "queue unused nodes": self.figures.unused,
                "queue throughput (1/s)": self.figures.throughput,
            }
        if self.errors is not None:
            found["queue standard error of waiting (s)"] = self.errors.waiting
        return found | {"queue throughput at most (1/s)": self.most}


def simulate_queue(mix: Mix, takes: Takes, nodes: int) -> QueueOutcome:
    """Simulate the queue of an option.

    Args:
        mix: The mix of jobs, none of which needs more nodes than there are.
        takes: The demands of jobs.
        nodes: Number of nodes.
    """
    jobs = draw_jobs(mix, takes, 0)
    kinds = _kinds_of(mix, takes, jobs)
    load = _load(kinds, nodes)
    capacity = min(_capacity(mix, takes, nodes), load / _least_time(kinds, nodes))
    rate = sum(each.rate for each in mix.classes) if mix.is_drawn else _rate(jobs)
    found: list[Figures] = []
    of_classes: list[Doubles] = []
    if load < capacity or not mix.is_drawn:
        for number in range(mix.replications if mix.is_drawn else 1):
            drawn = draw_jobs(mix, takes, number)
            starts = _starts(mix, drawn, nodes)
            found.append(_figures(mix, drawn, starts, nodes))
            of_classes.append(measure_classes(drawn, starts, len(mix.classes), _counted(mix, drawn).jobs))
    counted = len(jobs.submit[_counted(mix, jobs).jobs])
    return QueueOutcome(
        policy=mix.policy,
        nodes=nodes,
        load=load,
        capacity=capacity,
        most=rate * capacity / load,
        figures=_over(found, np.mean) if found else None,
        errors=_over(found, _standard_error) if len(found) > 1 else None,
        counted=counted,
        left_out=len(jobs) - counted,
        replications=max(len(found), 1),
        classes=tuple(each.name for each in mix.classes),
        takes=takes,
        by_class=_by_class(mix, of_classes),
    )


def with_curve(mix: Mix, queue: QueueOutcome) -> QueueOutcome:
    """Return the queue of an option with its mean waiting time at other loads: the same jobs, faster or slower.

    The curve uses fewer jobs and replications; there is none for many given jobs, nor if whole weeks have very many.
    """
    jobs = _on_curve(mix, _LOADS[-1] * queue.capacity / queue.load).jobs if mix.is_drawn else queue.counted
    if jobs > (_MOST_DRAWN if mix.is_drawn else _MOST_GIVEN):
        return queue
    curve = []
    for share in _LOADS:
        load = share * queue.capacity
        fewer = _on_curve(mix, load / queue.load)
        numbers = range(fewer.replications if fewer.is_drawn else 1)
        drawn = (draw_jobs(fewer, queue.takes, number, load / queue.load) for number in numbers)
        waits = [_figures(fewer, jobs, _starts(fewer, jobs, queue.nodes), queue.nodes).waiting for jobs in drawn]
        curve.append((load, float(np.mean(waits))))
    return replace(queue, curve=tuple(curve))


def _on_curve(mix: Mix, rate: float) -> Mix:
    """Return the mix of a point of the curve, with a factor on the rate of submissions."""
    jobs = min(mix.jobs, _CURVE_JOBS)
    if mix.is_drawn and mix.office_hours is not None:
        a_week = WEEK * rate * sum(each.rate for each in mix.classes)
        jobs = max(jobs, math.ceil(_CURVE_WEEKS * a_week / (1 - mix.warm_up)))
    replications = max(1, min(mix.replications, _CURVE_REPLICATIONS, _CURVE_REPLICATIONS * _CURVE_JOBS // jobs))
    return replace(mix, jobs=jobs, replications=replications)


def _counted(mix: Mix, jobs: Jobs) -> Counted:
    """Return the counted jobs: those after the warm-up; with office hours those of whole weeks, if there are any."""
    first = int(len(jobs) * mix.warm_up) if mix.is_drawn else 0
    if mix.is_drawn and mix.office_hours is not None:
        begin, end = math.ceil(jobs.submit[first] / WEEK) * WEEK, math.floor(jobs.submit[-1] / WEEK) * WEEK
        inner = np.searchsorted(jobs.submit, [begin, end])
        if inner[0] < inner[1]:
            return Counted(slice(*inner.tolist()), begin, end)
    return Counted(slice(first, None), float(jobs.submit[first]), float(jobs.submit[-1]))


def _starts(mix: Mix, jobs: Jobs, nodes: int) -> Doubles:
    return fast.start_times(jobs, nodes, mix.policy)


def _by_class(mix: Mix, found: Sequence[Doubles]) -> Mapping[str, ClassFigures]:
    """Return means over replications, of those that have jobs of a class."""
    if not found:
        return {}
    figures = np.array(found)
    means = {
        each.name: of[~np.isnan(of[:, 0])].mean(axis=0) if not np.isnan(of[:, 0]).all() else np.full(2, np.nan)
        for each, of in zip(mix.classes, figures.transpose(1, 0, 2), strict=True)
    }
    return {name: ClassFigures(*of.tolist()) for name, of in means.items()}


def _figures(mix: Mix, jobs: Jobs, starts: Doubles, nodes: int) -> Figures:
    weights = np.array([*(each.weight for each in mix.classes), 1.0])[jobs.kind]  # the last is for jobs of no class
    return measure(jobs, starts, nodes, weights, _counted(mix, jobs))


def _over(found: Sequence[Figures], of: Callable[[Doubles], object]) -> Figures:
    rows = {each.name: np.array([getattr(figures, each.name) for figures in found]) for each in fields(Figures)}
    return Figures(**{name: float(of(row)) for name, row in rows.items()})  # type: ignore[arg-type]


def _standard_error(row: Doubles) -> float:
    return float(row.std(ddof=1)) / math.sqrt(len(row))


def _kinds_of(mix: Mix, takes: Takes, jobs: Jobs) -> Doubles:
    """Return, by kind of jobs, their nodes and the sum of run times submitted in a second, shape (kinds, 2)."""
    if not mix.is_drawn:
        return np.stack([jobs.nodes.astype(np.float64), jobs.run / _span(jobs)], axis=1)
    kinds = (kind for of in jobs_of_kinds(mix, takes) for kind in of)
    return np.array([(taken.nodes, rate * taken.run) for rate, taken in kinds], np.float64)


def _load(kinds: Doubles, nodes: int) -> float:
    return float(kinds.prod(axis=1).sum()) / nodes


def _least_time(kinds: Doubles, nodes: int) -> float:
    """Return how long any policy needs at least for the jobs of a second, seconds.

    The nodes' time must suffice for all jobs, and of those of which at most m fit side by side, only m run at once.
    """
    beside = nodes // kinds[:, 0]
    longest = max(float(kinds[beside <= m, 1].sum() / m) for m in np.unique(beside))
    return max(longest, _load(kinds, nodes))


def _span(jobs: Jobs) -> float:
    """Return the time span of given submissions; for simultaneous ones the longest run time."""
    return float(jobs.submit[-1] - jobs.submit[0]) or float(jobs.run.max())


def _rate(jobs: Jobs) -> float:
    return len(jobs) / _span(jobs)


def _capacity(mix: Mix, takes: Takes, nodes: int) -> float:
    """Return the share of the nodes' time in which they are busy if there are always jobs waiting."""
    enough = replace(mix, jobs=_SATURATED, seed=mix.seed + 1) if mix.is_drawn else mix
    jobs = draw_jobs(enough, takes, 0)
    some = np.unique(np.linspace(0, len(jobs) - 1, _SATURATED).astype(np.int64))  # a sample, if many jobs are given
    waiting = Jobs(np.zeros(len(some)), jobs.nodes[some], jobs.run[some], jobs.limit[some], jobs.kind[some])
    starts = fast.start_times(waiting, nodes, mix.policy)
    begin, end = np.quantile(starts, [_EDGE, 1 - _EDGE])
    if begin == end:  # all of them run at once
        return 1.0
    share = busy_share(waiting, starts, nodes, float(begin), float(end))
    return share if share < 1 - _ROUNDING else 1.0
