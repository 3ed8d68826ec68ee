"""What is submitted to a machine, and how it is queued. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.purchase.queue.jobs import Doubles, Integers

_HOUR = 3600.0
#: Days of a week with office hours.
_OFFICE_DAYS = 5
#: Seconds of a week, which begins on a Monday at 0:00.
WEEK = 7 * 24 * _HOUR


class Policy(Enum):
    """Who is started next.

    FCFS: the first in the queue, once it has its nodes; nobody overtakes.
    BACKFILL: the same, but others may start before the first one where this does not delay it, going by time limits:
    EASY backfilling (D. Lifka, *The ANL/IBM SP Scheduling System*, JSSPP 1995).
    """

    FCFS = "fcfs"
    BACKFILL = "backfill"


class Sharing(Enum):
    """What jobs slow each other on the network.

    NONE: Nothing: a job takes what it takes on an empty machine.
    COPIES: A job takes what it takes beside copies of itself on all nodes that it leaves.
    MIX: It takes what it takes beside other jobs of the mix there (:mod:`clue.purchase.neighbours`).
    """

    NONE = "none"
    COPIES = "copies"
    MIX = "mix"


@dataclass(frozen=True, slots=True)
class OfficeHours:
    """When most jobs are submitted: Monday to Friday between two times of the day.

    A simulation begins on a Monday at 0:00.

    Attributes:
        begin: Seconds after midnight.
        end: Seconds after midnight, later.
        share: Share of a week's jobs that is submitted then.
    """

    begin: float
    end: float
    share: float

    @property
    def knots(self) -> tuple[tuple[float, float], ...]:
        """Points (seconds since Monday 0:00, share of a week's jobs submitted by then), with straight lines between."""
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
    """Jobs that are alike: runs of a workload.

    Attributes:
        name: Its name.
        workload: The workload whose runs they are.
        rate: Jobs a second, on average; 0 where they are listed or recorded.
        ranks: Ranks of an instance, and how many of the jobs have so many, relative to each other; empty: that of the
            split that counts.
        limit: The time limit of a job, seconds; ``None``: :attr:`overestimate` times what it takes.
        overestimate: How many times as long as its prediction a job's time limit is, where that is not stated.
        variation: Standard deviation of run times, relative to their mean, which is what is predicted; lognormal.
        weight: How much a job counts in means.
        submitted: When each job is submitted, seconds, where that is listed.
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
    """Jobs that an accounting file tells of, in the order in which they were submitted.

    Attributes:
        file: Its name.
        submit: Seconds since the first, shape (jobs,).
        kind: Of which class each is; -1: of none, so it takes what was recorded. Shape (jobs,).
        nodes: What was recorded, shape (jobs,).
        run: Seconds, shape (jobs,).
        limit: Seconds, shape (jobs,).
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
    """What is submitted, and how it is queued.

    Attributes:
        classes: Classes of jobs.
        policy: Who is started next.
        office_hours: When most jobs are submitted; ``None``: at any time alike.
        jobs: Jobs of a replication.
        warm_up: Share of them, from the first, that figures leave out: the queue is empty at the beginning.
        replications: How often it is done with other draws.
        seed: Of the draws.
        sharing: What jobs slow each other.
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
        """Whether times of submission are drawn; else they are given."""
        return self.recorded is None and not any(each.submitted for each in self.classes)
