"""The form of jobs and their queue, and of criteria with keys of their own, key by key.

Pydantic models only, as in :mod:`clue.config.schema`; :mod:`clue.config.queues` checks rules over several keys.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clue.config.forms import Form, Name, OneOrList, OneOrTable
from clue.config.quantities import Duration, Number, PositiveInt, RunTime, Time, Work
from clue.config.schema import Ranks, Share

Positive = Annotated[Number, Field(gt=0)]
#: The criteria by which options may be ranked, and of which a weighted sum may consist.
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
    """A class of jobs: runs of one workload of the comparison, each with all its instances."""

    workload: Name | None = Field(
        None, description="The workload that they run; default: the one named like the class."
    )
    per_month: Positive | None = Field(
        None, description="Mean number of submissions per month; submissions are a Poisson process."
    )
    submitted: Annotated[list[Time], Field(min_length=1)] | None = Field(
        None, description="Instead of per_month: submission time of each job, from the start."
    )
    names: OneOrList[Name, Name] | None = Field(
        None,
        description="With an accounting file: names of its jobs in this class; * stands for any text. Default: "
        "the name of the class.",
    )
    ranks: OneOrTable[Ranks, Annotated[dict[PositiveInt, Positive], Field(min_length=1)]] | None = Field(
        None,
        description="Ranks of an instance, out of those that the workload allows; or several, each with its relative "
        "share of the jobs. Default: those of the best split.",
    )
    time_limit: Duration | None = Field(
        None,
        description="The time limit that users request; an option on which the predicted run time exceeds it is not "
        "ranked.",
    )
    overestimate: Annotated[Number, Field(ge=1)] | None = Field(
        None,
        description="Instead of time_limit: a job's time limit divided by its run time; default: 1, as if users knew "
        "the run times of their jobs.",
    )
    variation: Number = Field(
        0.0,
        description="Coefficient of variation of the jobs' run times: a log-normal distribution whose mean is the "
        "prediction; default: 0.",
    )
    weight: Positive = Field(1.0, description="Weight of each job in mean waiting time and slowdown.")


class OfficeHoursForm(Form):
    """When most jobs are submitted: Monday to Friday between two times of day; the others are spread over the rest."""

    begin: Time = Field(alias="from", description="Time of day, from midnight: 8 h.")
    to: Time = Field(description="Time of day, from midnight: 18 h.")
    share: Share = Field(description="Share of a week's jobs submitted then.")


class QueueForm(Form):
    """The policy of the queue, and its simulation."""

    policy: Literal["fcfs", "backfill"] = Field(
        "backfill",
        description="fcfs: first come, first served; backfill: others may start earlier if that does not delay the "
        "first, judged by time limits (EASY).",
    )
    office_hours: OfficeHoursForm | None = Field(
        None, description="When most jobs are submitted; default: uniformly in time."
    )
    accounting: Name | None = Field(
        None,
        description="Output of sacct -P -X with columns JobName, Submit, NNodes, Timelimit and Elapsed (or Start and "
        "End): the submission times and classes of jobs. Relative to the file that names it.",
    )
    others: Literal["as recorded", "left out"] | None = Field(
        None,
        description="With an accounting file, jobs that belong to no class: as recorded (nodes and run time, on every "
        "option), or left out. Required if there are such jobs beside classes; without jobs, as recorded.",
    )
    sharing: Literal["none", "copies", "mix"] = Field(
        "none",
        description="Contention between jobs on the network: none, each job runs as on an empty machine; copies, as "
        "beside copies of itself on all other nodes; mix, as beside jobs of all classes there, in proportion to their "
        "shares of the nodes' time.",
    )
    jobs: Annotated[int, Field(ge=10, le=10**7)] = Field(5000, description="Jobs per replication.")
    warm_up: Annotated[Number, Field(lt=1)] = Field(
        0.1, description="Warm-up: share of the jobs, from the first, that figures ignore, as the queue starts empty."
    )
    replications: Annotated[int, Field(ge=1, le=10_000)] = Field(
        10, description="Number of independent simulations of the queue."
    )
    seed: Annotated[int, Field(ge=0, le=2**63)] = Field(0, description="Seed of the random numbers.")


class ReferenceForm(Form):
    """A workload's run on the reference system."""

    nodes: PositiveInt = Field(description="Nodes that it uses there.")
    time: RunTime = Field(description="Its run time there, with all its instances.")
    capability: Positive = Field(1.0, description="Size of its problem in the comparison divided by the size there.")


class SsiForm(Form):
    """The system that the scalable system improvement is relative to."""

    nodes: PositiveInt = Field(description="Number of nodes of the reference system.")
    workloads: Annotated[dict[Name, ReferenceForm], Field(min_length=1)] = Field(
        description="Its run of each workload."
    )


class SspForm(Form):
    """The operations that the sustained system performance counts."""

    operations: Annotated[dict[Name, Work], Field(min_length=1)] = Field(
        description="By workload: operations of a run with all its instances, the same on any system: 3.2 Tflop."
    )
