"""The form of jobs and their queue, and of criteria that take figures of their own, key by key.

Pydantic models only, as in :mod:`clue.config.schema`; what several keys say together is checked in
:mod:`clue.config.queues`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clue.config.forms import Form, Name, OneOrList, OneOrTable
from clue.config.quantities import Duration, Number, PositiveInt, RunTime, Time, Work
from clue.config.schema import Ranks, Share

Positive = Annotated[Number, Field(gt=0)]
#: The criteria that a weighted sum may have, and by which options may be ranked.
PlainCriterionName = Literal[
    "points",
    "makespan",
    "throughput",
    "cost_per_run",
    "total_cost",
    "energy_per_run",
    "carbon_per_run",
    "waiting",
    "slowdown",
    "unused_nodes",
    "job_throughput",
    "ssp",
    "ssi",
]


class JobClassForm(Form):
    """Jobs that are alike: runs of a workload of the comparison, each with all its instances."""

    workload: Name | None = Field(None, description="The workload whose runs they are; left out: that of this name.")
    per_month: Positive | None = Field(
        None, description="How many are submitted a month, on average, independently of each other (a Poisson process)."
    )
    submitted: Annotated[list[Time], Field(min_length=1)] | None = Field(
        None, description="When each is submitted, from the beginning, instead of per_month."
    )
    names: OneOrList[Name, Name] | None = Field(
        None,
        description="With an accounting file: names of its jobs that are of this class; * stands for any text. Left "
        "out: "
        "the name of the class.",
    )
    ranks: OneOrTable[Ranks, Annotated[dict[PositiveInt, Positive], Field(min_length=1)]] | None = Field(
        None,
        description="Ranks of an instance, of those that the workload has; or several, each with how many of the jobs "
        "have "
        "so many, relative to each other. Left out: those of the split that counts.",
    )
    time_limit: Duration | None = Field(None, description="The time limit that users ask for.")
    overestimate: Annotated[Number, Field(ge=1)] | None = Field(
        None,
        description="Instead of time_limit: how many times as long as its run a job's time limit is; left out: 1, as "
        "if users knew "
        "what their jobs take.",
    )
    variation: Number = Field(
        0.0,
        description="How much run times of its jobs differ: their standard deviation relative to their mean, which is "
        "what is predicted (lognormal); left out: they are alike.",
    )
    weight: Positive = Field(1.0, description="How much one of them counts in mean waiting and slowdown.")


class OfficeHoursForm(Form):
    """When most jobs are submitted: Monday to Friday between two times of the day; the others come evenly otherwise."""

    begin: Time = Field(alias="from", description="After midnight: 8 h.")
    to: Time = Field(description="After midnight: 18 h.")
    share: Share = Field(description="Share of a week's jobs that is submitted then.")


class QueueForm(Form):
    """How jobs are queued, and how that is simulated."""

    policy: Literal["fcfs", "backfill"] = Field(
        "backfill",
        description="fcfs: first come, first served; backfill: others may start earlier where that does not delay the "
        "first, going by time limits (EASY).",
    )
    office_hours: OfficeHoursForm | None = Field(
        None, description="When most jobs are submitted; left out: at any time alike."
    )
    accounting: Name | None = Field(
        None,
        description="What sacct -P -X printed of jobs, with columns JobName, Submit, NNodes, Timelimit and Elapsed (or "
        "Start and "
        "End): when they are submitted, and which of them. Relative to the file that names it.",
    )
    others: Literal["as recorded", "left out"] | None = Field(
        None,
        description="With an accounting file, jobs of no class: taken as recorded on every option, nodes and run time, "
        "or "
        "left out. Must be said where there are any.",
    )
    sharing: Literal["none", "copies", "mix"] = Field(
        "none",
        description="What jobs slow each other on the network: none, each takes what it takes on an empty machine; "
        "copies, what it takes beside copies of itself on all other nodes; mix, beside jobs of all classes there, by "
        "the shares of the nodes' time that they hold.",
    )
    jobs: Annotated[int, Field(ge=10, le=10**7)] = Field(5000, description="Jobs of a replication.")
    warm_up: Annotated[Number, Field(lt=1)] = Field(
        0.1, description="Share of them, from the first, that figures leave out: the queue is empty at the beginning."
    )
    replications: Annotated[int, Field(ge=1, le=10_000)] = Field(
        10, description="How often the queue is simulated, each time with other draws."
    )
    seed: Annotated[int, Field(ge=0, le=2**63)] = Field(0, description="Of the draws.")


class ReferenceForm(Form):
    """What a workload takes on the reference system."""

    nodes: PositiveInt = Field(description="Nodes that it uses there.")
    time: RunTime = Field(description="What it takes there, with all its instances.")
    capability: Positive = Field(
        1.0, description="How many times as large its problem is in the comparison as it was there."
    )


class SsiForm(Form):
    """The system that the scalable system improvement is relative to."""

    nodes: PositiveInt = Field(description="All nodes of the reference system.")
    workloads: Annotated[dict[Name, ReferenceForm], Field(min_length=1)] = Field(
        description="By workload, what it takes there."
    )


class SspForm(Form):
    """What the sustained system performance counts."""

    operations: Annotated[dict[Name, Work], Field(min_length=1)] = Field(
        description="By workload, the operations of a run with all its instances, counted once on any system: 3.2 "
        "Tflop."
    )
