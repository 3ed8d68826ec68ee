"""What a comparison yields: how each option did, and their order. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clue.predict.prediction import Prediction
from clue.purchase.costs import Sheet, Source
from clue.purchase.scenario import Criterion
from clue.uncertainty import ModelError, Sampling, Spread
from clue.units import Money


@dataclass(frozen=True, slots=True, eq=False)
class ComponentOutcome:
    """How one component of a workload ran on an option.

    Attributes:
        name: The component.
        makespan: Seconds until all instances are done, turn after turn.
        points: Points it earned, if the criterion counts points.
        prediction: Of one turn; ``None`` in an interrupted ranking where a bound gave the makespan.
    """

    name: str
    makespan: float
    points: float | None
    prediction: Prediction | None


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadOutcome:
    """How a workload ran on an option, in the best allowed split.

    Attributes:
        workload: Its name.
        makespan: Seconds until all instances of all components are done.
        throughput: Instances finished per second.
        side_by_side: Instances that run at a time (high-level parallelism).
        ranks: Ranks per instance (low-level parallelism).
        turns: How many times in turn instances have to be started.
        idle: Processors left idle.
        points: Points it earned, if the criterion counts points.
        components: By component.
        spread: How the makespan is spread over samples, if there are any.
    """

    workload: str
    makespan: float
    throughput: float
    side_by_side: int
    ranks: int
    turns: int
    idle: int
    points: float | None
    components: tuple[ComponentOutcome, ...]
    spread: Spread | None = None


@dataclass(frozen=True, slots=True)
class RunCost:
    """What a run costs.

    Attributes:
        cost: Its share of the total.
        energy: Joules; ``None``: no power is stated.
        carbon: Kilograms of carbon dioxide; ``None``: not stated.
    """

    cost: float
    energy: float | None
    carbon: float | None


@dataclass(frozen=True, slots=True, eq=False)
class OptionCost:
    """What an option costs over the service life, as it is used.

    Attributes:
        sheet: The figures; values today.
        currency: Of amounts.
        per_run: By workload, what a run costs.
        parts: How many of each part are in use.
        racks: How many it takes; 0 where none are described.
        rack_units: That it takes.
        power: Watts at most, those of the site included; ``None``: not stated.
        sources: Where the figures come from.
        by_year: Years, and what is paid up to their end, as values today: at once (0), after each year, and at the end
            of the life, where what is left of the purchase counts.
    """

    sheet: Sheet
    currency: str
    per_run: Mapping[str, RunCost]
    parts: Mapping[str, int]
    racks: int
    rack_units: float
    power: float | None
    sources: tuple[Source, ...]
    by_year: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One option in a ranking.

    Attributes:
        option: Its name.
        machine: Its machine's name.
        price: Its price, if stated.
        affordable: Whether the budget covers it; ``None``: nobody knows, because its price is not stated.
        position: Place in the ranking from 1, or ``None`` for an option that is not known to be affordable, cannot run
            the workloads, or is not among the first that were asked for. Options that cannot be told apart share one.
        score: The criterion's figure, or ``None`` without a position.
        reason: Why it has no position; empty otherwise.
        workloads: Outcomes in the scenario's order; empty for what has no position.
        tried: Outcomes of all splits that were simulated, by workload and rising ranks per instance.
        bound: Of an option that is not among the first: what its score cannot be better than.
        spread: How the score is spread over samples, if there are any.
        best: The share of the samples in which it is the best option.
        cost: What it costs over its life, where costs are stated and it has a position.
        figures: By the criteria of the Pareto front, if one is wanted, what it has.
    """

    option: str
    machine: str
    price: Money | None
    affordable: bool | None
    position: int | None
    score: float | None
    reason: str
    workloads: tuple[WorkloadOutcome, ...]
    tried: tuple[WorkloadOutcome, ...] = ()
    bound: float | None = None
    spread: Spread | None = None
    best: float | None = None
    cost: OptionCost | None = None
    figures: Mapping[Criterion, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The options in order.

    Attributes:
        scenario: Its name.
        criterion: What counts.
        unit: Unit of the scores in words, e.g. ``"points"`` or ``"s"``.
        higher_is_better: How scores are read.
        budget: What may be spent.
        entries: By position; options without one come last.
        warnings: What a reader must know beside the figures, each once.
        first: How many positions were asked for; ``None``: all.
        left_out: Generated options that cost more than the budget; they are not among the entries.
        simulations: How many simulations it took.
        interrupted: Whether it was interrupted: then positions up to ``certain`` hold, the others among those
            options that were simulated.
        certain: How many positions hold whatever the options that were not simulated would give.
        sampling: Which samples there are, if any.
        error: What is known of the model's error, which samples have beside the noise that is stated.
        engine: Which engine simulated: ``"fast"``, ``"reference"``, ``"fast and reference"``, or ``"live"``; ``""`` if
            nothing was simulated.
        engine_reason: Why that one.
        life: Seconds over which costs are counted.
        discount_rate: What money costs a year.
        pareto: The options of the Pareto front in the order of the ranking; ``None``: none was asked for.
    """

    scenario: str
    criterion: Criterion
    unit: str
    higher_is_better: bool
    budget: Money | None
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...]
    first: int | None = None
    left_out: int = 0
    simulations: int = 0
    interrupted: bool = False
    certain: int = 0
    sampling: Sampling | None = None
    error: ModelError | None = None
    engine: str = ""
    engine_reason: str = ""
    life: float = 0.0
    discount_rate: float = 0.0
    pareto: tuple[str, ...] | None = None
