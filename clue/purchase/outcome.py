"""The results of a comparison: the outcome of each option, and their order. Values only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from clue.display import MOST_ROWS, frame_of, html, short_repr
from clue.predict.prediction import Prediction
from clue.purchase.costs import Sheet, Source
from clue.purchase.questions.answers import Answers
from clue.purchase.queue.replications import QueueOutcome
from clue.purchase.scenario import Criterion
from clue.uncertainty import CERTAIN, LEVEL, ModelError, Sampling, Spread
from clue.units import KWH, Money, count_of, format_measure, format_probability, format_time

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True, eq=False)
class ComponentOutcome:
    """The outcome of one component of a workload on an option.

    Attributes:
        name: The component.
        makespan: Time until all instances are done, turn after turn, seconds.
        points: Its points, if the criterion counts points.
        prediction: Prediction of one turn; ``None`` in an interrupted ranking if a bound gave the makespan.
    """

    name: str
    makespan: float
    points: float | None
    prediction: Prediction | None


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadOutcome:
    """The outcome of a workload on an option, in the best allowed split.

    Attributes:
        workload: Its name.
        makespan: Time until all instances of all components are done, seconds.
        throughput: Instances finished per second.
        side_by_side: Instances that run simultaneously (high-level parallelism).
        ranks: Ranks per instance (low-level parallelism).
        turns: Number of successive batches of instances.
        idle: Number of idle processors.
        layout: Placement of ranks, in words, if there are several; else empty.
        points: Its points, if the criterion counts points.
        components: Outcome of each component.
        spread: Distribution of the makespan over samples, if there are any.
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
    layout: str = ""

    @property
    def by(self) -> str:
        """The source of the makespan, if it is not a simulation: ``"model"``, or ``"skeleton"``; otherwise empty."""
        made = (each.prediction for each in self.components)
        return " and ".join(sorted({each.engine for each in made if each is not None and not each.simulated}))

    @property
    def told(self) -> str:
        """The makespan in words, with its source if it is not a simulation: ``"5 s by skeleton"``."""
        return f"{format_time(self.makespan)}{f' by {self.by}' if self.by else ''}"

    def row(self) -> dict[str, object]:
        """Return its figures, with units in their names."""
        row: dict[str, object] = {
            "workload": self.workload,
            "instances": self.side_by_side,
            "ranks": self.ranks,
            "turns": self.turns,
            "idle processors": self.idle,
            **({"placement": self.layout} if self.layout else {}),
            "makespan (s)": self.makespan,
            **({"makespan by": self.by} if self.by else {}),
            **_ends("makespan", "s", self.spread),
            "throughput (1/s)": self.throughput,
        }
        return row if self.points is None else row | {"points": self.points}


@dataclass(frozen=True, slots=True)
class RunCost:
    """The cost of a run.

    Attributes:
        cost: Its share of the total.
        energy: Energy, joules; ``None``: no power is stated.
        carbon: Carbon dioxide, kg; ``None``: not stated.
    """

    cost: float
    energy: float | None
    carbon: float | None


@dataclass(frozen=True, slots=True, eq=False)
class OptionCost:
    """The costs of an option over the service life, at its utilisation.

    Attributes:
        sheet: The figures, as present values.
        currency: Currency of amounts.
        per_run: Cost of a run of each workload.
        parts: Number of each part in use.
        racks: Number of racks; 0 if none are described.
        rack_units: Rack units used.
        power: Largest power with the overhead of the site, watts; ``None``: not stated.
        sources: Sources of the figures.
        by_year: Years, and present value of the payments up to their end: at the start (0), after each year, and at the
            end of the life, which includes the residual value.
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

    def row(self) -> dict[str, object]:
        """Return its figures over the service life, with units in their names."""
        amounts = {"total": self.sheet.total, **self.sheet.items}
        return {
            **{f"cost {item} ({self.currency})": amount for item, amount in amounts.items()},
            "cost busy (share of the service life)": self.sheet.busy,
            "cost energy (kWh)": None if self.sheet.energy is None else self.sheet.energy / KWH,
            "cost carbon (kg)": self.sheet.carbon,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One option in a ranking.

    Attributes:
        option: Its name.
        machine: Its machine's name.
        price: Its price, if stated.
        affordable: Whether the budget covers it; ``None``: unknown, because its price is not stated.
        position: Place in the ranking from 1, or ``None`` for an option that is not known to be affordable, cannot run
            the workloads, or is not among the requested first ones. Statistically indistinguishable options share one.
        score: The criterion's figure, or ``None`` without a position.
        reason: Why it has no position; empty otherwise.
        workloads: Outcomes in the scenario's order; empty without a position.
        tried: Outcomes of all simulated splits, by workload and rising ranks per instance.
        bound: Of an option that is not among the first: the bound that its score cannot beat.
        spread: Distribution of the score over samples, if there are any.
        best: Share of the samples in which it is the best option.
        cost: Its costs over its life, if costs are stated and it has a position.
        figures: Its figures by the criteria of the Pareto front, if one is requested.
        parts: Its figures by the criteria of a weighted sum, if that is the criterion.
        queue: Its queue, if jobs are stated and it has a position.
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
    parts: Mapping[Criterion, float] = field(default_factory=dict)
    queue: QueueOutcome | None = None

    def rows(
        self,
        unit: str,
        units: Mapping[Criterion, str],
        weighted: Mapping[Criterion, tuple[float, str]],
        front: Sequence[str] | None,
    ) -> Iterator[dict[str, object]]:
        """Yield its figures, with units in their names: a row for each workload, or one row without any.

        Args:
            unit: Unit of scores.
            units: Unit of each criterion of the Pareto front.
            weighted: Weights and units of the terms of weighted scores.
            front: Options of the Pareto front; ``None``: not requested.
        """
        about: dict[str, object] = {"position": self.position, "option": self.option, "machine": self.machine}
        if self.price is not None:
            about[f"price ({self.price.currency})"] = self.price.amount
        about |= {"affordable": self.affordable, f"score ({unit})": self.score, **_ends("score", unit, self.spread)}
        if self.best is not None:
            about["best (share of samples)"] = self.best
        if self.bound is not None:
            about[f"score at best ({unit})"] = self.bound
        for criterion, figure in self.parts.items():
            about[f"weighted {criterion.value.replace('_', ' ')} ({weighted[criterion][1]})"] = figure
        about |= {} if self.cost is None else self.cost.row()
        about |= {} if self.queue is None else self.queue.row()
        if front is not None:
            for criterion, figure in self.figures.items():
                about[f"criterion {criterion.value.replace('_', ' ')} ({units[criterion]})"] = figure
            about["on the Pareto front"] = self.option in front
        about["reason"] = self.reason
        yield from (about | each.row() for each in self.workloads) if self.workloads else [about]


def _ends(name: str, unit: str, spread: Spread | None) -> dict[str, object]:
    """Return the ends of an interval, and its median."""
    if spread is None:
        return {}
    return {f"{name} {end} ({unit})": getattr(spread, end) for end in ("low", "median", "high")}


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The options in order.

    Attributes:
        scenario: Its name.
        criterion: The criterion.
        unit: Unit of the scores in words, e.g. ``"points"`` or ``"s"``.
        higher_is_better: Whether a higher score is better.
        budget: The budget.
        entries: By position; options without one come last.
        warnings: Caveats, each once.
        first: Number of requested positions; ``None``: all.
        left_out: Number of generated options that cost more than the budget; they are not among the entries.
        simulations: Number of simulations made.
        interrupted: Whether it was interrupted: then positions up to ``certain`` hold, the others only among the
            simulated options.
        certain: Number of positions that hold whatever the scores of the options that were not simulated.
        sampling: The sampling, if any.
        error: The model error that samples include in addition to stated noise.
        engine: The engine that simulated: ``"fast"``, ``"reference"``, ``"fast and reference"``, or ``"live"``; ``""``
            if nothing was simulated.
        engine_reason: The reason for that engine.
        life: The service life, seconds.
        discount_rate: Discount rate per year.
        pareto: The options of the Pareto front of all options, in the order of the ranking, those that are not among
            the first by score; ``None``: not requested.
        answers: The answers to further questions.
        weighted: Weight and unit of each criterion of a weighted sum.
        units: Unit of each criterion of the Pareto front.
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
    answers: Answers = field(default_factory=Answers)
    weighted: Mapping[Criterion, tuple[float, str]] = field(default_factory=dict)
    units: Mapping[Criterion, str] = field(default_factory=dict)

    @property
    def in_order(self) -> list[Entry]:
        """The entries by position; then those that cannot run, have no price, or cost too much."""
        return sorted(
            self.entries,
            key=lambda each: (
                each.position is None,
                (True, None, False).index(each.affordable),
                each.position or 0,
            ),
        )

    def rows(self) -> list[dict[str, object]]:
        """Return a row for each workload on each option, in order, with units in the names (``"makespan (s)"``)."""
        return [row for each in self.in_order for row in each.rows(self.unit, self.units, self.weighted, self.pareto)]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas data frame with a row for each workload on each option, in order; columns as in ``--csv``.

        Raises:
            UsageError: If pandas is not installed (``pip install "clue[pandas]"``).
        """
        return frame_of(self.rows())

    def __repr__(self) -> str:
        """Return a short form with the first option."""
        first = next((f"first {each.option}" for each in self.in_order if each.position is not None), "none ranked")
        return short_repr(self, self.scenario, count_of(len(self.entries), "option"), first)

    def _repr_html_(self) -> str:
        sampled = () if self.sampling is None else (f"score, {LEVEL:.0%} interval", "best")
        columns = ("#", "option", "price", "score", *sampled, "workload", "instances × ranks", "makespan")
        budget = "" if self.budget is None else str(self.budget)
        criterion = self.criterion.value.replace("_", " ")
        better = "higher" if self.higher_is_better else "lower"
        facts = (("ranked by", f"{criterion} ({better} is better)"), ("budget", budget))
        notes = (*self._reasons(), *self._about_samples(), *self.warnings)
        return html(self.scenario, facts, columns, list(self._cells()), notes)

    def _about_samples(self) -> Iterator[str]:
        if self.sampling is not None:
            yield (
                f"intervals and probabilities of being the best are from {count_of(self.sampling.samples, 'sample')}; "
                f"options share a position unless the first of it is better in {CERTAIN:.0%} of them"
            )

    def _reasons(self) -> Iterator[str]:
        """Yield why options have no position, of many the first; those that come later are only counted."""
        others = [each for each in self.in_order if each.reason and each.bound is None]
        yield from (f"{each.option}: {each.reason}" for each in others[:MOST_ROWS])
        if len(others) > MOST_ROWS:
            yield f"and {len(others) - MOST_ROWS:,} more"
        later = Counter(each.reason for each in self.entries if each.reason and each.bound is not None)
        yield from (f"{count_of(count, 'option')}: {reason}" for reason, count in later.items())

    def _cells(self) -> Iterator[tuple[object, ...]]:
        placed = [each for each in self.in_order if each.position is not None]
        scores = score_words(self, placed)
        for entry in placed:
            option: tuple[object, ...] = (entry.position, entry.option, entry.price, scores.get(entry.option, ""))
            if self.sampling is not None:
                ends = () if entry.spread is None else (entry.spread.low, entry.spread.high)
                best = "" if entry.best is None else format_probability(entry.best)
                option = (*option, " to ".join(format_measure(end, self.unit) for end in ends), best)
            for outcome in entry.workloads:
                split = f"{outcome.side_by_side} × {outcome.ranks}"
                yield *option, outcome.workload, split, outcome.told
                option = ("",) * len(option)


#: Numbers of digits of scores: as a rule, and at most, with which all scores at different positions differ.
_DIGITS, _MOST_DIGITS = 4, 12


def score_words(ranking: Ranking, entries: Iterable[Entry]) -> dict[str, str]:
    """Return the scores of the options that have a position, in their unit.

    Scores at neighbouring positions have as many digits as distinguish them, so that no two options look equal and are
    ranked apart. Samples, and not digits, tell options apart if there are any.

    Args:
        ranking: The ranking.
        entries: The options that are shown, by position.
    """
    placed = [(each, each.score) for each in entries if each.position is not None and each.score is not None]
    digits: dict[int | None, int] = {}
    for (one, score), (other, next_score) in pairwise(placed):
        if one.position != other.position and ranking.sampling is None:
            needed = _digits_apart(score, next_score, ranking.unit)
            for position in (one.position, other.position):
                digits[position] = max(digits.get(position, _DIGITS), needed)
    return {
        each.option: format_measure(score, ranking.unit, digits.get(each.position, _DIGITS)) for each, score in placed
    }


def _digits_apart(one: float, other: float, unit: str) -> int:
    """Return the least number of digits with which two scores look different."""
    enough = (
        digits
        for digits in range(_DIGITS, _MOST_DIGITS)
        if format_measure(one, unit, digits) != format_measure(other, unit, digits)
    )
    return next(enough, _MOST_DIGITS)
