"""The jobs submitted to a machine, and their queue. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.purchase.queue.jobs import Doubles, Integers

_HOUR = 3600.0
#: Number of days per week with office hours.
_OFFICE_DAYS = 5
#: Length of a week, which begins on Monday at 0:00, seconds.
WEEK = 7 * 24 * _HOUR


class Policy(Enum):
    """The scheduling policy.

    FCFS: first come, first served: the first job of the queue starts once it has its nodes; none overtakes.
    BACKFILL: EASY backfilling: others may start before the first one if, judged by time limits, they do not delay it
    (D. Lifka, *The ANL/IBM SP Scheduling System*, JSSPP 1995).
    """

    FCFS = "fcfs"
    BACKFILL = "backfill"


class Sharing(Enum):
    """Contention between jobs on the network.

    NONE: None: a job runs as on an empty machine.
    COPIES: A job runs as beside copies of itself on all other nodes.
    MIX: A job runs as beside other jobs of the mix on the other nodes (:mod:`clue.purchase.neighbours`).
    """

    NONE = "none"
    COPIES = "copies"
    MIX = "mix"


@dataclass(frozen=True, slots=True)
class OfficeHours:
    """When most jobs are submitted: Monday to Friday between two times of day.

    A simulation begins on a Monday at 0:00.

    Attributes:
        begin: Start, seconds after midnight.
        end: End, seconds after midnight.
        share: Share of a week's jobs submitted then.
    """

    begin: float
    end: float
    share: float

    @property
    def knots(self) -> tuple[tuple[float, float], ...]:
        """Points (seconds since Monday 0:00, share of a week's jobs submitted by then), to be interpolated linearly."""
        busy = _OFFICE_DAYS * (self.end - self.begin)
        quiet = (1 - self.share) / (WEEK - busy)
        points, time, done = [(0.0, 0.0)], 0.0, 0.0
        for day in range(_OFFICE_DAYS):
            begin, end = day * 24 * _HOUR + self.begin, day * 24 * _HOUR + self.end
            done += (begin - time) * quiet
            points.append((begin, done))
            done += self.share / _OFFICE_DAYS
            points.append((end, done))
            time = end
        return (*points, (WEEK, 1.0))


@dataclass(frozen=True, slots=True)
class JobClass:
    """A class of jobs: runs of one workload.

    Attributes:
        name: Its name.
        workload: The workload that they run.
        rate: Mean number of jobs per second; 0 if they are listed or recorded.
        ranks: Numbers of ranks of an instance, and the relative share of jobs with each; empty: those of the best
            split.
        limit: The time limit of a job, seconds; ``None``: :attr:`overestimate` times its run time.
        overestimate: A job's time limit divided by its predicted run time, if no limit is stated.
        variation: Coefficient of variation of run times, which are log-normal with the prediction as mean.
        weight: Weight of a job in means.
        submitted: Submission time of each job, seconds, if listed.
    """

    name: str
    workload: str
    rate: float = 0.0
    ranks: Mapping[int, float] = field(default_factory=dict)
    limit: float | None = None
    overestimate: float = 1.0
    variation: float = 0.0
    weight: float = 1.0
    submitted: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """Jobs of an accounting file, in order of submission.

    Attributes:
        file: Its name.
        submit: Submission times since the first, seconds, shape (jobs,).
        kind: Class of each; -1: none, so it runs as recorded. Shape (jobs,).
        nodes: Recorded numbers of nodes, shape (jobs,).
        run: Recorded run times, seconds, shape (jobs,).
        limit: Time limits, seconds, shape (jobs,).
        notes: What a reader should know about it.
    """

    file: str
    submit: Doubles
    kind: Integers
    nodes: Integers
    run: Doubles
    limit: Doubles
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mix:
    """A mix of jobs, and its queue.

    Attributes:
        classes: Classes of jobs.
        policy: The scheduling policy.
        office_hours: When most jobs are submitted; ``None``: uniformly in time.
        jobs: Number of jobs of a replication.
        warm_up: Share of them, from the first, that figures leave out: the queue is empty at the beginning.
        replications: Number of replications.
        seed: Seed of the random numbers.
        sharing: Contention between jobs.
        recorded: Jobs of an accounting file.
    """

    classes: tuple[JobClass, ...]
    policy: Policy = Policy.BACKFILL
    office_hours: OfficeHours | None = None
    jobs: int = 5000
    warm_up: float = 0.1
    replications: int = 10
    seed: int = 0
    sharing: Sharing = Sharing.NONE
    recorded: Recorded | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether submission times are drawn; else they are given."""
        return self.recorded is None and not any(each.submitted for each in self.classes)
