"""What is compared: workloads, options to buy, and what counts. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from clue.machine import Machine
from clue.predict.application import Application
from clue.skeleton.prediction import Measured
from clue.units import Money

#: Three years of use, all day: what the cost of a run is reckoned by where a scenario says nothing else.
SERVICE_LIFE = 3 * 365 * 86400.0


class Criterion(Enum):
    """What the ranking is by (see :mod:`clue.purchase.ranking`)."""

    POINTS = "points"
    MAKESPAN = "makespan"
    THROUGHPUT = "throughput"
    COST_PER_RUN = "cost_per_run"


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
    """

    name: str
    components: tuple[Component, ...]
    instances: int | None = 1
    ranks: tuple[int, ...] = (1,)
    weight: float = 1.0
    memory: Mapping[int, float] = field(default_factory=dict)
    order: str = "block"
    ranks_per_processor: int = 1

    def title(self, component: Component) -> str:
        """Return what a reader calls a component: its workload, and its own name where there are several."""
        return self.name if len(self.components) == 1 else f"{self.name}, {component.name}"


@dataclass(frozen=True, slots=True)
class Option:
    """A machine that could be bought.

    Attributes:
        name: Its name.
        machine: What it is.
        price: What it costs, or ``None`` if unknown.
        measured: By workload, what runs of skeletons on that machine say.
    """

    name: str
    machine: Machine
    price: Money | None = None
    measured: Mapping[str, Measured] = field(default_factory=dict)


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
        service_life: Seconds over which a purchase is used, for the cost of a run.
        left_out: How many generated options are not among these because the budget does not cover them.
    """

    name: str
    workloads: tuple[Workload, ...]
    options: tuple[Option, ...]
    budget: Money | None = None
    criterion: Criterion = Criterion.POINTS
    notes: tuple[str, ...] = ()
    service_life: float = SERVICE_LIFE
    left_out: int = 0
