"""The ranking: every workload in its best split on every option that the budget covers, scored by one criterion.

How scores are read stands in :mod:`clue.purchase.scores`; what is simulated for them in :mod:`clue.purchase.search`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from clue.caveats import gathered, named
from clue.errors import UsageError
from clue.predict.prediction import Prediction
from clue.predict.predictor import Predictor
from clue.progress import Progress, silent
from clue.purchase.attempts import Attempt, Choice, attempts_on
from clue.purchase.caveats import caveats_of
from clue.purchase.limits import Miss, misses_of, nobody_keeps
from clue.purchase.outcome import ComponentOutcome, Entry, Ranking, WorkloadOutcome
from clue.purchase.pareto import front
from clue.purchase.queue.replications import QueueOutcome
from clue.purchase.queueing import QUEUED, Queues
from clue.purchase.sampling import RankingSampler, SampledOption
from clue.purchase.scenario import Criterion, Option, Scenario
from clue.purchase.scores import Scores, twelve_digits
from clue.purchase.search import Search
from clue.uncertainty import NO_NOISE, ModelError, Sampling

#: Of more options than this only so many of the first are looked for where nothing else is asked for.
ALL_UP_TO, FIRST_OF_MANY = 100, 20
#: So many of the first options are queued at other loads, too, where the splits that cannot be the best are simulated.
_CURVES = 7
_NO_PRICE = (
    "no price is stated, so nobody can tell whether the budget covers it: state its price, or leave out the budget"
)


def rank_options(
    scenario: Scenario,
    predictor: Predictor,
    progress: Progress = silent,
    *,
    top: int | None = None,
    thorough: bool = False,
    sampling: Sampling | None = None,
    error: ModelError | None = None,
) -> Ranking:
    """Predict workloads on the affordable options as far as their order needs it, and put these in order.

    Ctrl-C while it predicts ends it with what is known by then (``Ranking.interrupted``).

    Args:
        scenario: What is compared.
        predictor: Tells what applications take.
        progress: Told about what is done.
        top: How many positions are wanted; ``None``: all of up to 100 options, else 20. The others are not predicted
            further than it takes to prove that they are not among the first.
        thorough: Whether to predict the splits, too, that cannot be the best; they show how a program scales.
        sampling: Which samples of what is uncertain to draw: they give intervals, to each option its probability of
            being the best, and one position to options that cannot be told apart.
        error: What is known of the model's error, which samples have beside what noise is stated.

    Raises:
        UsageError: If every option costs more than the budget, prices and budget are in different currencies, or an
            application cannot be predicted.
        ClueError: If a prediction cannot be made.
    """
    affordable = _candidates(scenario)
    barred = {option.name: misses for option in affordable if (misses := list(misses_of(option, scenario.limits)))}
    candidates = [option for option in affordable if option.name not in barred]
    scored = [o for o in scenario.options if _is_affordable(o, scenario) is not False and o.name not in barred]
    queues = Queues(scenario, progress)
    scores, *further = (
        Scores(replace(scenario, criterion=criterion), scored, queues)
        for criterion in (scenario.criterion, *scenario.pareto)
    )
    _check(scenario, predictor)
    if sampling is not None and QUEUED & {scenario.criterion, *scenario.weighted}:
        raise UsageError(
            f"{scenario.name}: samples must be of criteria without a queue, got "
            f"{', '.join(each.value for each in [scenario.criterion, *scenario.weighted] if each in QUEUED)}"
        )
    attempts = attempts_on(candidates, scenario, predictor, progress, 0 if sampling is None else sampling.samples)
    able = [attempt for attempt in attempts if attempt.cells]
    if top is None:
        top = len(able) if len(candidates) <= ALL_UP_TO else FIRST_OF_MANY
    sampled: list[SampledOption] = []
    notes: list[str] = []
    with predictor.at_work():
        search = Search(able, scores, top, predictor, progress)
        try:
            search.run(thorough=thorough)
            if sampling is not None:
                sampler = RankingSampler(search, scores, predictor, sampling, progress, error=error)
                sampled = sampler.sample() if sampler.is_worth_it else []
                notes += _about_noise(sampler) if sampling.noise else _about_parts(sampled)
                notes += _about_others(sampler)
        except KeyboardInterrupt:
            search.interrupt()
    report = _Report(
        scenario=scenario,
        scores=scores,
        search=search,
        attempts=attempts,
        engine_reason=predictor.why,
        sampled=sampled,
        sampling=sampling if sampled else None,
        error=error,
        notes=notes,
        barred=barred,
        further=further,
        thorough=thorough,
    )
    return report.ranking()


def _check(scenario: Scenario, predictor: Predictor) -> None:
    for workload in scenario.workloads:
        for component in workload.components:
            if fault := predictor.check(component.application, component.name, workload.instances):
                raise UsageError(f"{workload.name}: {fault}")


def _about_noise(sampler: RankingSampler) -> Iterator[str]:
    if not sampler.is_worth_it:
        yield f"samples: {NO_NOISE}"
    elif without := sampler.without_noise():
        yield f"{named(without)}: no noise is stated, so samples are alike and say nothing of how sure the figures are"


def _about_parts(sampled: Sequence[SampledOption]) -> Iterator[str]:
    """Say who shares a position because a part was replayed."""
    for position, group in groupby(sampled, key=lambda each: each.position):
        names = [each.attempt.option.name for each in group]
        if len(names) > 1:
            yield (
                f"{named(names)} share position {position}: a part of their iterations was replayed, which does not "
                "tell them apart; without --sampled all is replayed"
            )


def _about_others(sampler: RankingSampler) -> Iterator[str]:
    if sampler.passed_over:
        yield (
            f"samples: with the stated noise {sampler.passed_over:,} more options may come among the first; they are "
            "not sampled: ask for more of the first to have them compared (--top)"
        )


def _candidates(scenario: Scenario) -> list[Option]:
    """Return the options that the budget is known to cover."""
    affordable = [_is_affordable(option, scenario) for option in scenario.options]
    if not any(known is not False for known in affordable):
        cheapest = min((option.price for option in scenario.options if option.price), key=lambda price: price.amount)
        raise UsageError(
            f"{scenario.name}: budget must afford at least one option, got {scenario.budget}: "
            f"the cheapest costs {cheapest}"
        )
    return [option for option, known in zip(scenario.options, affordable, strict=True) if known]


def _is_affordable(option: Option, scenario: Scenario) -> bool | None:
    """Tell whether the budget covers an option; ``None`` if nobody knows, because its price is not stated."""
    if scenario.budget is None:
        return True
    if option.price is None:
        return None
    if option.price.currency != scenario.budget.currency:
        raise UsageError(
            f"{scenario.name}: price of {option.name} must be in {scenario.budget.currency} like the budget, "
            f"got {option.price}"
        )
    return option.price.amount <= scenario.budget.amount


@dataclass(frozen=True, slots=True, eq=False)
class _Report:
    """Turns what a search found into a ranking."""

    scenario: Scenario
    scores: Scores
    search: Search
    attempts: Sequence[Attempt]
    engine_reason: str
    sampled: Sequence[SampledOption] = ()
    sampling: Sampling | None = None
    error: ModelError | None = None
    notes: Sequence[str] = ()
    barred: Mapping[str, Sequence[Miss]] = field(default_factory=dict)
    further: Sequence[Scores] = ()
    thorough: bool = False

    def ranking(self) -> Ranking:
        listed = [each.attempt for each in self.sampled] or self.search.listed()
        figures = self._figures(listed) if listed else {}
        ranked = self._sampled() if self.sampled else self._placed(listed)
        placed = [replace(entry, figures=figures[entry.option]) for entry in ranked]
        return Ranking(
            scenario=self.scenario.name,
            criterion=self.scenario.criterion,
            unit=self.scores.unit,
            higher_is_better=self.scores.higher_is_better,
            budget=self.scenario.budget,
            entries=(*placed, *self._others(set(figures))),
            warnings=self._warnings(listed),
            first=self.search.first if self.search.first < len(self.search.attempts) else None,
            left_out=self.scenario.left_out,
            simulations=self.search.simulations,
            interrupted=self.search.interrupted,
            certain=self.search.certain(),
            sampling=self.sampling,
            error=self.error,
            engine=" and ".join(sorted({each.engine for each in self._predictions()})),
            engine_reason=self.engine_reason,
            life=self.scenario.service_life,
            discount_rate=self.scenario.discount_rate,
            pareto=self._front(placed) if self.further else None,
            weighted={
                criterion: (self.scenario.weighted[criterion], part.unit)
                for criterion, part in self.scores.parts.items()
            },
        )

    def _predictions(self) -> Iterator[Prediction]:
        for attempt in self.attempts:
            for cell in attempt.cells:
                for choice in cell.choices:
                    yield from choice.run.predictions

    def _figures(self, listed: Sequence[Attempt]) -> Mapping[str, Mapping[Criterion, float]]:
        """Return by option its figures by the criteria of the Pareto front."""
        settled = [attempt for attempt in self.search.attempts if attempt.settled]
        found: dict[str, dict[Criterion, float]] = {attempt.option.name: {} for attempt in listed}
        for criterion, further in zip(self.scenario.pareto, self.further, strict=True):
            scores = further
            if further.need_best_rates or further.need_all:
                same = self.scores.criterion is criterion
                scores = self.scores if same else further.relative_to(settled)
            for attempt in listed:
                found[attempt.option.name][criterion] = scores.score(attempt)
        return found

    def _front(self, placed: Sequence[Entry]) -> tuple[str, ...]:
        signs = [-1 if each.higher_is_better else 1 for each in self.further]
        rows = [
            [sign * twelve_digits(each.figures[by]) for sign, by in zip(signs, self.scenario.pareto, strict=True)]
            for each in placed
        ]
        return tuple(placed[i].option for i in front(rows))

    def _placed(self, listed: Sequence[Attempt]) -> Iterator[Entry]:
        position, before = 0, None
        for place, attempt in enumerate(listed, start=1):
            score = self.scores.score(attempt)
            # Options that cannot be told apart share a position.
            position = position if score == before else place
            before = score
            yield self._entry(attempt, position)

    def _sampled(self) -> Iterator[Entry]:
        for each in self.sampled:
            entry = self._entry(each.attempt, each.position)
            workloads = zip(entry.workloads, each.makespans, strict=True)
            yield replace(
                entry,
                spread=each.score,
                best=each.best,
                workloads=tuple(replace(workload, spread=spread) for workload, spread in workloads),
            )

    def _entry(self, attempt: Attempt, position: int) -> Entry:
        return replace(
            _entry(attempt.option, ""),
            position=position,
            score=self.scores.score(attempt),
            workloads=tuple(self._counted(attempt)),
            cost=self.scores.accounts.told(attempt),
            parts={criterion: part.score(attempt) for criterion, part in self.scores.parts.items()},
            queue=self._queue(attempt, position),
            tried=tuple(self._tried(attempt)),
        )

    def _queue(self, attempt: Attempt, position: int) -> QueueOutcome | None:
        if self.scenario.queue is None:
            return None
        queues = self.scores.queues
        return queues.with_curve(attempt) if self.thorough and position <= _CURVES else queues.of(attempt)

    def _others(self, listed: set[str]) -> Iterator[Entry]:
        """Yield the options without a position: later, missing a limit, unable to run, without a price, too dear."""
        tried = {attempt.option.name: attempt for attempt in self.attempts if attempt.option.name not in listed}
        able = sorted((self.scores.key(attempt), attempt) for attempt in tried.values() if attempt.cells)
        why = "not simulated" if self.search.interrupted else f"not among the first {self.search.first}"
        for _, attempt in able:
            if misses := self.scores.misses(attempt):
                yield _entry(attempt.option, "; ".join(map(str, misses)))
            else:
                yield replace(_entry(attempt.option, why), bound=self.scores.score(attempt))
        for option in self.scenario.options:
            if option.name in self.barred:
                yield _entry(option, "; ".join(map(str, self.barred[option.name])))
        for attempt in tried.values():
            if not attempt.cells:
                yield _entry(attempt.option, attempt.reason)
        for known, reason in ((None, _NO_PRICE), (False, "costs more than the budget")):
            for option in self.scenario.options:
                if _is_affordable(option, self.scenario) is known:
                    yield replace(_entry(option, reason), affordable=known)

    def _counted(self, attempt: Attempt) -> Iterator[WorkloadOutcome]:
        """Yield the outcome that counts of each workload."""
        for w, cell in enumerate(attempt.cells):
            points = self.scores.points(attempt, w) if self.scenario.criterion is Criterion.POINTS else None
            yield self._outcome(w, cell.possible[0], points)

    def _tried(self, attempt: Attempt) -> Iterator[WorkloadOutcome]:
        for w, cell in enumerate(attempt.cells):
            for choice in sorted(cell.choices, key=lambda choice: choice.split.ranks):
                if choice.run.predictions:
                    yield self._outcome(w, choice, None)

    def _outcome(self, w: int, choice: Choice, points: Sequence[float] | None) -> WorkloadOutcome:
        workload, split = self.scenario.workloads[w], choice.split
        nothing = (None,) * len(workload.components)
        return WorkloadOutcome(
            workload=workload.name,
            makespan=choice.makespan,
            throughput=choice.throughput,
            side_by_side=split.side_by_side,
            ranks=split.ranks,
            turns=split.turns,
            idle=split.idle,
            points=None if points is None else sum(points),
            components=tuple(
                ComponentOutcome(component.name, seconds * split.turns, earned, prediction)
                for component, seconds, earned, prediction in zip(
                    workload.components,
                    choice.run.seconds,
                    points or nothing,
                    choice.run.predictions or nothing,
                    strict=True,
                )
            ),
        )

    # --- what a reader must know ---

    def _warnings(self, listed: Sequence[Attempt]) -> tuple[str, ...]:
        missed = {} if listed else self._missed()
        said = [*nobody_keeps(missed), *self.scenario.notes, *self.notes, *self._about_front()]
        return tuple(dict.fromkeys([*said, *caveats_of(self.scenario, listed), *self._about_queues(listed)]))

    def _about_queues(self, listed: Sequence[Attempt]) -> Iterator[str]:
        said = [each for attempt in listed for each in self.scores.queues.said(attempt)]
        recorded = None if self.scenario.queue is None else self.scenario.queue.recorded
        yield from recorded.notes if recorded is not None else ()
        yield from gathered(said, [attempt.option.name for attempt in listed], "options")

    def _missed(self) -> Mapping[str, Sequence[Miss]]:
        """Return what options miss where all are judged by the same limits: those in use, if any got so far."""
        in_use = {each.option.name: self.scores.misses(each) for each in self.attempts if each.cells}
        return in_use if self.attempts else self.barred

    def _about_front(self) -> Iterator[str]:
        later = len(self.search.attempts) - self.search.first
        if self.further and later > 0:
            yield (
                f"Pareto front: it is of the first {self.search.first} options alone; {later:,} more are not compared "
                "with them: --top asks for more"
            )


def _entry(option: Option, reason: str) -> Entry:
    return Entry(
        option=option.name,
        machine=option.machine.name,
        price=option.price,
        affordable=True,
        position=None,
        score=None,
        reason=reason,
        workloads=(),
    )
