"""What is compared: workloads, options to buy, and what counts. Values only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from clue.display import frame_of, html, short_repr
from clue.machine import Machine
from clue.predict.application import Application
from clue.purchase.costs import Costs, Life
from clue.purchase.queue.mix import Mix
from clue.purchase.sustained import ReferenceSystem
from clue.skeleton.prediction import Measured
from clue.units import Money, count_of

if TYPE_CHECKING:
    import pandas

#: Three years of use, all day: what the cost of a run is reckoned by where a scenario says nothing else.
SERVICE_LIFE = 3 * 365 * 86400.0


class Criterion(Enum):
    """What the ranking is by (see :mod:`clue.purchase.ranking`)."""

    POINTS = "points"
    MAKESPAN = "makespan"
    THROUGHPUT = "throughput"
    COST_PER_RUN = "cost_per_run"
    TOTAL_COST = "total_cost"
    ENERGY_PER_RUN = "energy_per_run"
    CARBON_PER_RUN = "carbon_per_run"
    WAITING = "waiting"
    SLOWDOWN = "slowdown"
    UNUSED_NODES = "unused_nodes"
    JOB_THROUGHPUT = "job_throughput"
    SSP = "ssp"
    SSI = "ssi"
    WEIGHTED = "weighted"


@dataclass(frozen=True, slots=True)
class Component:
    """One application of a workload; scenarios call it a kernel.

    Attributes:
        name: Its name in tables.
        application: What runs.
        share: Its share of the workload's points; the shares of a workload add up to 1.
    """

    name: str
    application: Application
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Workload:
    """What has to be run, and how it may be split.

    Attributes:
        name: Its name.
        components: What runs one after the other; most workloads have one.
        instances: Independent copies to run (the paper's high-level parallelism); ``None``: as many as fill
            the machine.
        ranks: Allowed ranks per instance (low-level parallelism).
        weight: Share of the whole score.
        memory: Bytes per rank, by ranks per instance, where stated; else the traces' measured peak counts.
        order: ``"block"`` or ``"cyclic"`` placement.
        ranks_per_processor: How many ranks may share a processor.
        deadline: Seconds within which a run has to end, from its own start.
        demand: Runs a second, on average, that have to be done; ``None``: as many as there is time for.
    """

    name: str
    components: tuple[Component, ...]
    instances: int | None = 1
    ranks: tuple[int, ...] = (1,)
    weight: float = 1.0
    memory: Mapping[int, float] = field(default_factory=dict)
    order: str = "block"
    ranks_per_processor: int = 1
    deadline: float = math.inf
    demand: float | None = None

    def title(self, component: Component) -> str:
        """Return what a reader calls a component: its workload, and its own name where there are several."""
        return self.name if len(self.components) == 1 else f"{self.name}, {component.name}"


@dataclass(frozen=True, slots=True)
class Option:
    """A machine that could be bought.

    Attributes:
        name: Its name.
        machine: What it is.
        price: What has to be paid for it at first, all parts included, or ``None`` if unknown.
        costs: What else it costs, and when; ``None``: nothing is stated.
        measured: By workload, what runs of skeletons on that machine say.
    """

    name: str
    machine: Machine
    price: Money | None = None
    costs: Costs | None = None
    measured: Mapping[str, Measured] = field(default_factory=dict)

    @property
    def nodes(self) -> Mapping[str, int]:
        """How many nodes of each type it has."""
        return Counter(node.name for node in self.machine.nodes)


@dataclass(frozen=True, slots=True)
class Limits:
    """What an option has to keep beside the budget; ``None``: no limit.

    Attributes:
        power: Watts at most, those of the site included.
        cooling: Watts of heat at most: the power of the parts.
        rack_units: At most.
        nodes: At most, as can be delivered.
        memory_per_core: Bytes at least, of every node.
        total_cost: At most, over the life.
        waiting: Mean seconds that a job waits in the queue, at most.
    """

    power: float | None = None
    cooling: float | None = None
    rack_units: float | None = None
    nodes: int | None = None
    memory_per_core: float | None = None
    total_cost: Money | None = None
    waiting: float | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole comparison.

    Attributes:
        name: Its name.
        budget: What may be spent, or ``None`` for no limit.
        workloads: What has to run.
        options: What could be bought.
        criterion: What counts.
        notes: What a reader of the ranking should know.
        service_life: Seconds over which a purchase is used.
        discount_rate: What money costs a year: 0.03 for 3 %.
        limits: What an option has to keep beside the budget.
        pareto: Criteria by which the Pareto front is wanted; empty: none is.
        weighted: By criterion, how much it counts in a weighted sum.
        queue: What jobs are submitted; ``None``: nothing is known of that.
        operations: By workload, the operations of a run, as the SSP counts them.
        reference: The system that the SSI is relative to.
        left_out: How many generated options are not among these because the budget does not cover them.
    """

    name: str
    workloads: tuple[Workload, ...]
    options: tuple[Option, ...]
    budget: Money | None = None
    criterion: Criterion = Criterion.POINTS
    notes: tuple[str, ...] = ()
    service_life: float = SERVICE_LIFE
    discount_rate: float = 0.0
    limits: Limits = Limits()
    pareto: tuple[Criterion, ...] = ()
    weighted: Mapping[Criterion, float] = field(default_factory=dict)
    queue: Mix | None = None
    operations: Mapping[str, float] = field(default_factory=dict)
    reference: ReferenceSystem | None = None
    left_out: int = 0

    @property
    def life(self) -> Life:
        """How long a purchase is used, and what money costs meanwhile."""
        return Life(self.service_life, self.discount_rate)

    def rows(self) -> list[dict[str, object]]:
        """Return a row for each option: its machine, nodes, processors and price (``None``: not stated)."""
        return [
            {
                "option": each.name,
                "machine": each.machine.name,
                "nodes": len(each.machine.nodes),
                "processors": each.machine.processors,
                "price": None if each.price is None else str(each.price),
            }
            for each in self.options
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame of pandas: a row for each option.

        Raises:
            UsageError: If pandas is not installed (``pip install "clue[pandas]"``).
        """
        return frame_of(self.rows())

    def __repr__(self) -> str:
        """Tell what is compared."""
        return short_repr(
            self, self.name, count_of(len(self.workloads), "workload"), count_of(len(self.options), "option")
        )

    def _repr_html_(self) -> str:
        facts = (
            ("criterion", self.criterion.value.replace("_", " ")),
            ("budget", "" if self.budget is None else str(self.budget)),
            ("workloads", ", ".join(each.name for each in self.workloads)),
        )
        columns = ("option", "machine", "nodes", "processors", "price")
        return html(self.name, facts, columns, [tuple(row.values()) for row in self.rows()], self.notes)
