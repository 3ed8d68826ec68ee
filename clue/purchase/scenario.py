"""A comparison: workloads, options to buy, and the criterion. Values only."""

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

#: Tolerance for rounding errors in a sum of prices, relative to the sum.
_ROUNDING = 1e-9
#: Default service life, seconds: three years of continuous use.
SERVICE_LIFE = 3 * 365 * 86400.0


class Criterion(Enum):
    """The criterion of the ranking (see :mod:`clue.purchase.ranking`)."""

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


#: Criteria in money.
IN_MONEY = frozenset({Criterion.COST_PER_RUN, Criterion.TOTAL_COST})
#: Criteria that depend on how much an option is used.
COSTS = IN_MONEY | {Criterion.ENERGY_PER_RUN, Criterion.CARBON_PER_RUN}


@dataclass(frozen=True, slots=True)
class Component:
    """One application of a workload; scenarios call it a kernel.

    Attributes:
        name: Its name in tables.
        application: The application.
        share: Its share of the workload's points; the shares of a workload add up to 1.
    """

    name: str
    application: Application
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Layout:
    """A placement of ranks on nodes.

    Attributes:
        order: ``"block"``: node after node; ``"cyclic"``: round-robin over the nodes.
        ranks_per_processor: Largest number of ranks that share a processor.
        ranks_per_node: Largest number of ranks on a node; ``None``: as many as its processors take.
        backwards: Whether nodes are filled from the last to the first: with two kinds of nodes, the other kind first.
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
        """Return the number of ranks that a node with a number of processors takes."""
        room = processors * self.ranks_per_processor
        return room if self.ranks_per_node is None else min(room, self.ranks_per_node)


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload, and how it may be split.

    Attributes:
        name: Its name.
        components: Applications that run one after another; most workloads have one.
        instances: Number of independent copies to run (the paper's high-level parallelism); ``None``: as many as fit on
            the machine.
        ranks: Allowed ranks per instance (low-level parallelism).
        weight: Share of the whole score.
        memory: Memory per rank, bytes, by ranks per instance, if stated; else the peak recorded in the traces counts.
        order: ``"block"`` or ``"cyclic"`` placement.
        ranks_per_processor: Largest number of ranks that share a processor.
        deadline: Largest allowed run time, seconds.
        demand: Mean number of required runs per second; ``None``: as many as there is time for.
        layouts: The placements of ranks; each option uses the best one; empty: ``order`` only.
        layouts_searched: Whether all distinct placements on a machine are tried (:mod:`.splits`).
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
        """The stated placements of ranks."""
        return self.layouts or (Layout(self.order, self.ranks_per_processor),)

    @property
    def most_per_processor(self) -> int:
        """The largest number of ranks that share a processor."""
        return max(each.ranks_per_processor for each in self.stated_layouts)

    @property
    def places_in_several_ways(self) -> bool:
        """Whether there is more than one placement."""
        return bool(self.layouts) or self.layouts_searched

    def title(self, component: Component) -> str:
        """Return the title of a component: its workload, and its own name if there are several."""
        return self.name if len(self.components) == 1 else f"{self.name}, {component.name}"


#: A generated kind of node: names of node, processor and memory; empty if there is no choice.
Kind = tuple[str, str, str]


def name_of(kind: Kind) -> str:
    """Return the name of a kind of node."""
    return " ".join(filter(None, kind))


@dataclass(frozen=True, slots=True)
class Built:
    """The parts of a generated option.

    Attributes:
        family: Index of the list of parts from which it is generated.
        nodes: Number of nodes by kind.
        network: Name of the network.
        topology: Name of the topology; empty: that of the network.
    """

    family: int
    nodes: Mapping[Kind, int]
    network: str
    topology: str = ""

    @property
    def total(self) -> int:
        """Number of nodes of all kinds."""
        return sum(self.nodes.values())


def nodes_of(built: Built) -> Mapping[str, int]:
    """Return the number of nodes of each type of a generated option, and of each part; under "" of all nodes."""
    counted = Counter({"": built.total})
    for kind, number in built.nodes.items():
        for name in {name_of(kind), *filter(None, kind)}:
            counted[name] += number
    return counted


@dataclass(frozen=True, slots=True)
class Option:
    """A machine that could be bought.

    Attributes:
        name: Its name.
        machine: Its machine.
        price: Its purchase price, all parts included, or ``None`` if unknown.
        costs: Its further costs; ``None``: not stated.
        measured: Runs of skeletons on that machine, by workload.
        built: Its parts, if it was generated.
        stated: The figures whose sum is its price, besides the prices in its costs; empty: it is one figure.
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
        """The number of nodes of each type.

        In generated options the names of parts count as well, and "" has the number of all nodes.
        """
        return Counter(node.name for node in self.machine.nodes) if self.built is None else nodes_of(self.built)

    @property
    def is_rented(self) -> bool:
        """Whether its nodes are those of a cloud."""
        return self.costs is not None and self.costs.cloud is not None


def most_within(amount: float) -> float:
    """Return the largest price that an amount covers: rounding errors of a sum of prices do not count."""
    return amount * (1 + _ROUNDING)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of an option besides the budget; ``None``: no limit.

    Attributes:
        power: Largest power with the overhead of the site, watts.
        cooling: Largest heat, watts: the power of the parts.
        rack_units: Largest number of rack units.
        nodes: Largest number of nodes that can be delivered.
        memory_per_core: Smallest memory per core of every node, bytes.
        total_cost: Largest total cost over the service life.
        waiting: Largest mean waiting time of jobs in the queue, seconds.
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
        budget: The budget, or ``None`` for no limit.
        workloads: The workloads.
        options: The options.
        criterion: The criterion.
        notes: What a reader of the ranking should know.
        service_life: Service life, seconds.
        discount_rate: Discount rate per year: 0.03 for 3 %.
        limits: Limits of options besides the budget.
        pareto: Criteria of the requested Pareto front; empty: none.
        weighted: Weight of each criterion in a weighted sum.
        queue: The submitted jobs and their queue, which determine the utilisation of options; ``None``: not stated.
        operations: Operations of a run, as counted by the SSP, by workload.
        reference: The reference system of the SSI.
        next_amount: Additional money to spend; ``None``: not requested.
        next_from: The option that it is spent on; empty: the first of the ranking.
        beyond: Generated options that the budget covers only with the additional money.
        left_out: Number of generated options that are left out because the budget does not cover them.
        place: Where a file states the options, ``FILE:LINE:COLUMN``; empty if unknown.
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
    place: str = ""

    @property
    def life(self) -> Life:
        """The service life and the discount rate."""
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
        """Return a pandas data frame with a row for each option.

        Raises:
            UsageError: If pandas is not installed (``pip install "clue[pandas]"``).
        """
        return frame_of(self.rows())

    def __repr__(self) -> str:
        """Return a short form of the comparison."""
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
