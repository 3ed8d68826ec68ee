"""The jobs of a replication: their submission times, and their nodes and run times on an option."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clue.purchase.queue.jobs import Doubles, Integers, Jobs
from clue.purchase.queue.mix import WEEK, Mix, OfficeHours


@dataclass(frozen=True, slots=True)
class Taken:
    """The demands of a job.

    Attributes:
        nodes: Number of nodes.
        run: Run time, seconds.
    """

    nodes: int
    run: float


#: Demands of jobs by class of a mix, and by number of ranks. A class without numbers of ranks has one entry, with key
#: 0.
Takes = Sequence[Mapping[int, Taken]]


def jobs_of_kinds(mix: Mix, takes: Takes) -> list[list[tuple[float, Taken]]]:
    """Return the relative numbers of jobs of each class on each number of ranks."""
    found = []
    for i, (of, by_ranks) in enumerate(zip(mix.classes, takes, strict=True)):
        jobs = len(of.submitted) or of.rate
        if mix.recorded is not None:
            jobs = int((mix.recorded.kind == i).sum())
        shares = [of.ranks.get(ranks, 1.0) for ranks in by_ranks]
        each = zip(shares, by_ranks.values(), strict=True)
        found.append([(jobs * share / sum(shares), taken) for share, taken in each])
    return found


def others_of(mix: Mix) -> list[tuple[int, float]]:
    """Return nodes and run time, seconds, of each recorded job without a class."""
    if mix.recorded is None:
        return []
    others = mix.recorded.kind < 0
    return list(zip(mix.recorded.nodes[others].tolist(), mix.recorded.run[others].tolist(), strict=True))


def draw_jobs(mix: Mix, takes: Takes, number: int, rate: float = 1.0) -> Jobs:
    """Return the jobs of a replication.

    All options and rates use the same random numbers: they differ in the demands of jobs, and in the scale of time.

    Args:
        mix: The mix of jobs.
        takes: The demands of jobs.
        number: Number of the replication.
        rate: Factor on the stated rate of submissions.
    """
    draws = np.random.default_rng([mix.seed, number])
    if mix.recorded is not None:
        kind, submit = mix.recorded.kind, mix.recorded.submit / rate
    elif mix.is_drawn:
        kind, submit = _drawn(mix, draws, rate)
    else:
        kind, submit = _listed(mix, rate)
    return _jobs(mix, takes, kind, submit, draws)


def _drawn(mix: Mix, draws: np.random.Generator, rate: float) -> tuple[Integers, Doubles]:
    """Return classes and times of submission of a Poisson process: jobs come independently of each other."""
    rates = np.array([each.rate for each in mix.classes])
    kind = np.searchsorted(np.cumsum(rates / rates.sum())[:-1], draws.random(mix.jobs), side="right")
    count = np.cumsum(draws.exponential(size=mix.jobs))  # of jobs expected by then: a Poisson process of rate 1
    submit = count / (rates.sum() * rate)
    return kind, submit if mix.office_hours is None else _within_weeks(submit, mix.office_hours)


def _within_weeks(even: Doubles, hours: OfficeHours) -> Doubles:
    """Map times of uniform submission to times with office hours, by the expected number of jobs."""
    weeks, within = np.divmod(even / WEEK, 1.0)
    times, shares = zip(*hours.knots, strict=True)
    since_monday: Doubles = np.interp(within, shares, times)
    return weeks * WEEK + since_monday


def _listed(mix: Mix, rate: float) -> tuple[Integers, Doubles]:
    kind = np.repeat(np.arange(len(mix.classes)), [len(each.submitted) for each in mix.classes])
    submit = np.concatenate([np.array(each.submitted, np.float64) for each in mix.classes]) / rate
    order = np.argsort(submit, kind="stable")
    return kind[order], submit[order]


def _jobs(mix: Mix, takes: Takes, kind: Integers, submit: Doubles, draws: np.random.Generator) -> Jobs:
    which_ranks, deviations = draws.random(len(kind)), draws.standard_normal(len(kind))
    recorded = mix.recorded
    nodes = np.zeros(len(kind), np.int64) if recorded is None else recorded.nodes.copy()
    run = np.zeros(len(kind)) if recorded is None else recorded.run.copy()
    limit = run.copy() if recorded is None else recorded.limit.copy()
    for i, (of, each) in enumerate(zip(mix.classes, takes, strict=True)):
        here = np.flatnonzero(kind == i)
        shares = np.array([of.ranks.get(ranks, 1.0) for ranks in each])
        which = np.searchsorted(np.cumsum(shares / shares.sum())[:-1], which_ranks[here], side="right")
        taken = list(each.values())
        # Users who requested three times a job's run time do so on every option.
        over = np.full(len(here), of.overestimate) if recorded is None else limit[here] / run[here]
        nodes[here] = np.array([one.nodes for one in taken])[which]
        run[here] = np.array([one.run for one in taken])[which]
        limit[here] = np.maximum(over, 1.0) * run[here] if of.limit is None else of.limit
        run[here] *= _varied(of.variation, deviations[here])
    return Jobs(submit, nodes, run, np.maximum(limit, run), kind)


def _varied(variation: float, deviations: Doubles) -> Doubles:
    """Return log-normal factors with mean 1 and a relative standard deviation, from standard normal draws."""
    variance = math.log1p(variation**2)
    return np.exp(math.sqrt(variance) * deviations - variance / 2)


def varied(variation: float, deviation: float) -> float:
    """Return the factor of one draw."""
    return float(_varied(variation, np.array(deviation)))
