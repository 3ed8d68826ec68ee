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
from clue.purchase.costs import Costs, Life, Stated
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


#: Criteria that depend on how much an option is used.
COSTS = frozenset({Criterion.COST_PER_RUN, Criterion.TOTAL_COST, Criterion.ENERGY_PER_RUN, Criterion.CARBON_PER_RUN})


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
class Layout:
    """A way to place ranks on nodes.

    Attributes:
        order: ``"block"``: node after node; ``"cyclic"``: dealt out to the nodes in turn.
        ranks_per_processor: How many ranks may share a processor.
        ranks_per_node: How many ranks a node takes at most; ``None``: as many as its processors do.
        backwards: Whether nodes come from the last to the first: of a machine of two kinds the other kind first.
    """

    order: str = "block"
    ranks_per_processor: int = 1
    ranks_per_node: int | None = None
    backwards: bool = False

    def __str__(self) -> str:
        processor = f", {self.ranks_per_processor} a processor" if self.ranks_per_processor > 1 else ""
        node = f", {self.ranks_per_node} a node" if self.ranks_per_node is not None else ""
        return f"{self.order}{processor}{node}{', last nodes first' if self.backwards else ''}"

    def seats(self, processors: int) -> int:
        """Return how many ranks a node of so many processors takes."""
        room = processors * self.ranks_per_processor
        return room if self.ranks_per_node is None else min(room, self.ranks_per_node)


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
        layouts: The ways to place ranks, of which on each option the best counts; empty: ``order`` alone.
        layouts_searched: Whether all ways to place ranks are tried that differ on a machine (:mod:`.splits`).
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
    layouts: tuple[Layout, ...] = ()
    layouts_searched: bool = False

    @property
    def stated_layouts(self) -> tuple[Layout, ...]:
        """The ways to place ranks that are stated."""
        return self.layouts or (Layout(self.order, self.ranks_per_processor),)

    @property
    def most_per_processor(self) -> int:
        """How many ranks may share a processor at most."""
        return max(each.ranks_per_processor for each in self.stated_layouts)

    @property
    def places_in_several_ways(self) -> bool:
        """Whether there is more than one way to place ranks."""
        return bool(self.layouts) or self.layouts_searched

    def title(self, component: Component) -> str:
        """Return what a reader calls a component: its workload, and its own name where there are several."""
        return self.name if len(self.components) == 1 else f"{self.name}, {component.name}"


#: A kind of node that was put together: node, processor and memory by name; empty where there is no choice.
Kind = tuple[str, str, str]


def name_of(kind: Kind) -> str:
    """Return what a kind of node is called."""
    return " ".join(filter(None, kind))


@dataclass(frozen=True, slots=True)
class Built:
    """What a generated option is made of.

    Attributes:
        family: Which of the lists of parts it is made of.
        nodes: By kind of node, how many there are.
        network: By name.
        topology: By name; empty: that of the network.
    """

    family: int
    nodes: Mapping[Kind, int]
    network: str
    topology: str = ""

    @property
    def total(self) -> int:
        """Number of nodes of all kinds."""
        return sum(self.nodes.values())


@dataclass(frozen=True, slots=True)
class Option:
    """A machine that could be bought.

    Attributes:
        name: Its name.
        machine: What it is.
        price: What has to be paid for it at first, all parts included, or ``None`` if unknown.
        costs: What else it costs, and when; ``None``: nothing is stated.
        measured: By workload, what runs of skeletons on that machine say.
        built: What it is made of, if it was generated.
        stated: The figures that its price is the sum of, beside the prices in its costs; empty: it is one figure.
    """

    name: str
    machine: Machine
    price: Money | None = None
    costs: Costs | None = None
    measured: Mapping[str, Measured] = field(default_factory=dict)
    built: Built | None = None
    stated: tuple[Stated, ...] = ()

    @property
    def nodes(self) -> Mapping[str, int]:
        """How many nodes of each type it has.

        Where nodes were put together, parts count by their names as well, and the number of all nodes stands under "".
        """
        if self.built is None:
            return Counter(node.name for node in self.machine.nodes)
        counted = Counter({"": self.built.total})
        for kind, number in self.built.nodes.items():
            for name in {name_of(kind), *filter(None, kind)}:
                counted[name] += number
        return counted

    @property
    def is_rented(self) -> bool:
        """Whether its nodes are those of a cloud."""
        return self.costs is not None and self.costs.cloud is not None


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
        queue: What jobs are submitted, which then say how much options are used; ``None``: nothing is known of that.
        operations: By workload, the operations of a run, as the SSP counts them.
        reference: The system that the SSI is relative to.
        next_amount: More money of which is asked what it gains; ``None``: nobody asks.
        next_from: The option that it is spent on; empty: the first of the ranking.
        beyond: Generated options that the budget does not cover, but with that money would.
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
    next_amount: Money | None = None
    next_from: str = ""
    beyond: tuple[Option, ...] = ()

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
