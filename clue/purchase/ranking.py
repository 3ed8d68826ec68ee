"""The ranking: every workload in its best split on every option that the budget covers, scored by one criterion.

:mod:`clue.purchase.scores` defines the scores, :mod:`clue.purchase.search` decides what is simulated for them, and
:mod:`clue.purchase.front_search` for the Pareto front; :mod:`clue.purchase.questions` answers further questions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import groupby

from clue.caveats import gathered, named
from clue.errors import UsageError, written_at
from clue.predict.predictor import Predictor
from clue.progress import Progress, silent
from clue.purchase.accounts import Accounts
from clue.purchase.attempts import Attempt, Choice, KnownRuns, attempts_on
from clue.purchase.caveats import caveats_of
from clue.purchase.front_search import FrontSearch
from clue.purchase.limits import Miss, is_affordable, misses_of, nobody_keeps, unpriced_nodes
from clue.purchase.outcome import ComponentOutcome, Entry, Ranking, WorkloadOutcome
from clue.purchase.prices import drawn, is_uncertain
from clue.purchase.questions.answers import Answers, Steps
from clue.purchase.questions.break_even import break_evens
from clue.purchase.questions.cheapest import cheapest_in_time, is_asked
from clue.purchase.questions.steps import steps_from
from clue.purchase.queue.replications import QueueOutcome
from clue.purchase.queueing import QUEUED, Queues
from clue.purchase.sampling import RankingSampler, SampledOption
from clue.purchase.scenario import COSTS, Criterion, Limits, Option, Scenario
from clue.purchase.scores import Scores, twelve_digits
from clue.purchase.search import Search
from clue.uncertainty import NO_NOISE, ModelError, Sampling
from clue.uncertainty.spread import about_few
from clue.units import format_probability, is_count

#: By default, up to the first number of options all are ranked; of more options, the second number.
ALL_UP_TO, FIRST_OF_MANY = 100, 20
#: Number of first options whose queues are also simulated at other loads, if all splits are simulated.
_CURVES = 7


def rank_options(
    scenario: Scenario,
    predictor: Predictor,
    progress: Progress = silent,
    *,
    top: int | None = None,
    thorough: bool = False,
    sampling: Sampling | None = None,
    error: ModelError | None = None,
    known: KnownRuns | None = None,
) -> Ranking:
    """Rank the affordable options; predict workloads only as far as the order requires it.

    Ctrl-C during the predictions ends it with the results so far (``Ranking.interrupted``).

    Args:
        scenario: The comparison.
        predictor: Predicts applications.
        progress: Called with the progress.
        top: Number of requested positions; ``None``: all of up to 100 options, else 20. Other options are predicted
            only as far as it takes to prove that they are not among the first.
        thorough: Whether to predict also splits that cannot be the best; they show how a program scales.
        sampling: Sampling of the uncertainty: gives intervals, each option's probability of being the best, and a
            shared position to statistically indistinguishable options.
        error: The model error that samples include in addition to stated noise.
        known: Results of rankings of the same machines and workloads, which this one adds to.

    Raises:
        UsageError: If the scenario is no comparison, no position is requested, every option costs more than the budget,
            prices and budget are in different currencies, or an application cannot be predicted.
        ClueError: If a prediction cannot be made.
    """
    _check(scenario, predictor, sampling, top)
    known = known or KnownRuns()
    known.begin(scenario)
    affordable = _affordable(scenario)
    queues = Queues(scenario, progress, known.queues)
    accounts = Accounts(scenario, queues.of)
    covered = [option for option, is_covered in zip(scenario.options, affordable, strict=True) if is_covered]
    barred = _barred(covered, scenario, accounts)
    candidates = [option for option in covered if option.name not in barred]
    unknown = [option for option, is_covered in zip(scenario.options, affordable, strict=True) if is_covered is None]
    scored = [*candidates, *unknown]
    scores = Scores(scenario, scored, accounts, queues)
    criteria = {criterion: _by(criterion, scenario, scored, scores) for criterion in scenario.pareto}
    draws = 0 if sampling is None else sampling.samples
    attempts = attempts_on(candidates, scenario, predictor, progress, draws, rough=True, known=known)
    able = [attempt for attempt in attempts if attempt.cells]
    if top is None:
        top = len(able) if len(candidates) <= ALL_UP_TO else FIRST_OF_MANY
    sampled: list[SampledOption] = []
    notes: list[str] = []
    with predictor.at_work():
        search = Search(able, scores, top, predictor, progress, known.columns)
        pareto = FrontSearch(search, criteria) if criteria else None
        answers = Answers()
        search.bound_few()
        try:
            search.run(thorough=thorough)
            if pareto is not None:
                pareto.run()
                search.settle(pareto.found())
            answers = _answers(scenario, search, scored, scores, predictor, progress)
            if sampling is not None and search.listed():
                sampler = RankingSampler(search, scores, predictor, sampling, progress, scenario=scenario, error=error)
                sampled = sampler.sample() if sampler.is_worth_it else []
                notes += _about_noise(sampler) if sampling.noise else _about_parts(sampled)
                notes += about_few(sampling, "intervals, probabilities and shared positions") if sampled else ()
                notes += (*_about_others(sampler), *_about_limits(sampled))
                notes += _about_queue(scenario)
        except KeyboardInterrupt:
            search.interrupt(*criteria.values())
        report = _Report(
            scenario=scenario,
            scores=scores,
            search=search,
            attempts=attempts,
            affordable=affordable,
            engines=known.engines,
            engine_reason=predictor.why,
            sampled=sampled,
            sampling=sampling if sampled else None,
            asked=sampling,
            error=error,
            notes=notes,
            barred=barred,
            front=pareto,
            thorough=thorough,
        )
        ranking = replace(report.ranking(), answers=answers)
        if scenario.next_amount is not None and not ranking.interrupted:
            try:
                steps = _steps(ranking, scenario, search, scores, predictor, progress)
                ranking = replace(
                    ranking,
                    answers=replace(answers, steps=steps),
                    warnings=(*ranking.warnings, *_about_steps(steps, scenario)),
                )
            except KeyboardInterrupt:  # the ranking is complete, and is returned
                warnings = (*ranking.warnings, "interrupted: the best use of more money is left out")
                ranking = replace(ranking, warnings=warnings)
    return ranking


def _by(criterion: Criterion, scenario: Scenario, options: Sequence[Option], scores: Scores) -> Scores:
    """Return the scores by a criterion of the Pareto front."""
    if criterion is scenario.criterion:
        return scores
    return Scores(replace(scenario, criterion=criterion), options, scores.accounts, scores.queues)


def _answers(  # noqa: PLR0917 - all results
    scenario: Scenario,
    search: Search,
    options: Sequence[Option],
    scores: Scores,
    predictor: Predictor,
    progress: Progress,
) -> Answers:
    cheapest = None
    if is_asked(scenario):
        priced = [option for option in options if option.price is not None]
        by_cost = _by(Criterion.TOTAL_COST, scenario, priced, scores)
        cheapest = cheapest_in_time(search, scenario, by_cost, predictor, progress)
    return Answers(cheapest, break_even=tuple(break_evens(search.listed(), scores.accounts)))


def _steps(  # noqa: PLR0917 - all results
    ranking: Ranking, scenario: Scenario, search: Search, scores: Scores, predictor: Predictor, progress: Progress
) -> Steps | None:
    """Find the best use of more money on the first option, or on the named one; ``None`` if unknown."""
    first = min((e for e in ranking.entries if e.position), key=lambda e: e.position or 0, default=None)
    if first is None and not scenario.next_from:
        return None
    settled = [attempt for attempt in search.attempts if attempt.settled]
    return steps_from("" if first is None else first.option, scenario, settled, scores, predictor, progress)


def _about_steps(steps: Steps | None, scenario: Scenario) -> Iterator[str]:
    if steps is None:
        lacking = f"{scenario.next_from} has no score" if scenario.next_from else "no option has a position"
        yield f"the best use of more money is left out: {lacking}"


def check_samples(scenario: Scenario) -> None:
    """Check that samples can be drawn by the criteria of a comparison.

    Raises:
        UsageError: If one of them is about a queue.
    """
    wanted = [scenario.criterion, *scenario.weighted]
    if got := ", ".join(each.value for each in wanted if each in QUEUED):
        raise UsageError(f"{scenario.name}: samples must be of criteria without a queue, got {got}")


def _check(scenario: Scenario, predictor: Predictor, sampling: Sampling | None, top: int | None) -> None:
    if not isinstance(scenario, Scenario):
        raise UsageError(f"scenario must be a comparison, got a {type(scenario).__name__}")
    if isinstance(predictor, type) or not hasattr(predictor, "predict"):
        raise UsageError(f"predictor must be one such as clue.ReplayPredictor(traces), got {predictor!r}")
    if top is not None and not is_count(top):
        raise UsageError(f"top must be a whole number of at least 1, got {top!r}")
    if sampling is not None:
        check_samples(scenario)
    _check_use(scenario)
    for workload in scenario.workloads:
        for component in workload.components:
            if fault := predictor.check(component.application, component.name, workload.instances):
                with written_at(component.application.place):
                    raise UsageError(f"{workload.name}: {fault}")


def _check_use(scenario: Scenario) -> None:
    """Check that the utilisation of options is stated only once."""
    if scenario.queue is None:
        return
    for workload in scenario.workloads:
        if workload.demand is not None:
            raise UsageError(f"{scenario.name}: runs a month of {workload.name} must be left out with jobs, got both")
    for option in scenario.options:
        if option.costs is not None and option.costs.utilisation != 1:
            got = f"got both (jobs and {option.costs.utilisation:g})"
            raise UsageError(f"{scenario.name}: utilisation of {option.name} must be left out with jobs, {got}")


def _about_noise(sampler: RankingSampler) -> Iterator[str]:
    if not sampler.is_worth_it:
        yield f"samples: {NO_NOISE}"
    elif without := sampler.without_noise():
        yield f"{named(without)}: no noise is stated, so samples are identical and say nothing about uncertainty"


def _about_parts(sampled: Sequence[SampledOption]) -> Iterator[str]:
    """Report the options that share a position because only a part was replayed."""
    for position, group in groupby(sampled, key=lambda each: each.position):
        names = [each.attempt.option.name for each in group]
        if len(names) > 1:
            yield (
                f"{named(names)} share position {position}: only a part of their iterations was replayed, which does "
                "not distinguish them; without --sampled everything is replayed"
            )


def _about_others(sampler: RankingSampler) -> Iterator[str]:
    if sampler.passed_over:
        yield (
            f"samples: with the stated noise {sampler.passed_over:,} more options may be among the first; they "
            "are not sampled, so the others are the best in fewer samples than shown: ask for more of the first to "
            "have them compared (--top)"
        )


def _about_limits(sampled: Sequence[SampledOption]) -> Iterator[str]:
    """Report which options miss which limits in how many samples."""
    missed: dict[str, list[str]] = {}
    for each in sampled:
        for limit, share in each.missed.items():
            missed.setdefault(limit, []).append(f"{each.attempt.option.name} in {format_probability(share, 1)}")
    for limit, options in missed.items():
        yield f"samples: {limit}: missed by {named(options)} of them, where these do not count as the best"


def _about_queue(scenario: Scenario) -> Iterator[str]:
    if scenario.queue is not None and COSTS & {scenario.criterion, *scenario.weighted}:
        yield "samples: prices are drawn, but options are as busy as in the queue of typical runs"


def _affordable(scenario: Scenario) -> list[bool | None]:
    """Return for each option whether the budget covers it; ``None``: unknown."""
    affordable = [is_affordable(option, scenario) for option in scenario.options]
    if not any(known is not False for known in affordable):
        cheapest = min((option.price for option in scenario.options if option.price), key=lambda price: price.amount)
        raise UsageError(
            f"{scenario.name}: budget must afford at least one option, got {scenario.budget}: "
            f"the cheapest costs {cheapest}"
        )
    return affordable


def _barred(options: Sequence[Option], scenario: Scenario, accounts: Accounts) -> dict[str, list[Miss]]:
    """Return the limits that options miss whatever runs on them, by option."""
    if scenario.limits == Limits():
        options = [option for option in options if option.costs is not None]
    missed = ((option.name, list(misses_of(option, scenario.limits, accounts))) for option in options)
    return {name: misses for name, misses in missed if misses}


@dataclass(frozen=True, slots=True, eq=False)
class _Report:
    """Turns the results of a search into a ranking."""

    scenario: Scenario
    scores: Scores
    search: Search
    attempts: Sequence[Attempt]
    affordable: Sequence[bool | None]
    engines: Set[str]
    engine_reason: str
    sampled: Sequence[SampledOption] = ()
    sampling: Sampling | None = None
    asked: Sampling | None = None
    error: ModelError | None = None
    notes: Sequence[str] = ()
    barred: Mapping[str, Sequence[Miss]] = field(default_factory=dict)
    front: FrontSearch | None = None
    thorough: bool = False

    def ranking(self) -> Ranking:
        listed = [each.attempt for each in self.sampled] or self.search.listed()
        placed = list(self._sampled() if self.sampled else self._placed(listed))
        names = {attempt.option.name for attempt in listed}
        found = {} if self.front is None else {attempt.option.name: attempt for attempt in self.front.found()}
        later = sorted((each for name, each in found.items() if name not in names), key=self.scores.key)
        front = [entry.option for entry in placed if entry.option in found]
        front += [attempt.option.name for attempt in later]
        return Ranking(
            scenario=self.scenario.name,
            criterion=self.scenario.criterion,
            unit=self.scores.unit,
            higher_is_better=self.scores.higher_is_better,
            budget=self.scenario.budget,
            entries=(*placed, *map(self._unplaced, later), *self._others(names | found.keys())),
            warnings=self._warnings(listed),
            first=self.search.first if self.search.first < len(self.search.attempts) else None,
            left_out=self.scenario.left_out,
            simulations=self.search.simulations,
            interrupted=self.search.interrupted,
            certain=self.search.certain(),
            sampling=self.sampling,
            error=self.error,
            engine=" and ".join(sorted(self.engines)),
            engine_reason=self.engine_reason,
            life=self.scenario.service_life,
            discount_rate=self.scenario.discount_rate,
            pareto=None if self.front is None else tuple(front),
            units={} if self.front is None else self.front.units,
            weighted={
                criterion: (self.scenario.weighted[criterion], part.unit)
                for criterion, part in self.scores.parts.items()
            },
        )

    def _placed(self, listed: Sequence[Attempt]) -> Iterator[Entry]:
        position, before = 0, None
        for place, attempt in enumerate(listed, start=1):
            score = twelve_digits(self.scores.score(attempt))
            # Indistinguishable options share a position.
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
            figures={} if self.front is None else self.front.figures(attempt),
        )

    def _queue(self, attempt: Attempt, position: int) -> QueueOutcome | None:
        if self.scenario.queue is None:
            return None
        queues = self.scores.queues
        return queues.with_curve(attempt) if self.thorough and position <= _CURVES else queues.of(attempt)

    def _unplaced(self, attempt: Attempt) -> Entry:
        """Return an option of the Pareto front that is not among the first."""
        known = replace(self._entry(attempt, 0), position=None, score=None, bound=self.scores.score(attempt))
        return replace(known, reason=f"on the Pareto front, but {self._later}")

    @property
    def _later(self) -> str:
        return "not simulated" if self.search.interrupted else f"not among the first {self.search.first}"

    def _others(self, told: set[str]) -> Iterator[Entry]:
        """Yield the options without a position: later, missing a limit, unable to run, unpriced, too expensive."""
        later, sign = self._later, -1.0 if self.scores.higher_is_better else 1.0
        bounds = zip(self.search.scores_of_all(), self.search.attempts, strict=True)
        others = [
            (sign * bound, _amount(attempt.option), attempt.order, attempt)
            for bound, attempt in bounds
            if attempt.option.name not in told
        ]
        missed = {}
        for bound, _, _, attempt in sorted(others):
            if misses := self.scores.misses(attempt):
                missed[attempt] = misses
            else:
                yield _entry(attempt.option, later, bound=sign * bound)
        for attempt, misses in missed.items():
            yield _entry(attempt.option, "; ".join(map(str, misses)))
        if self.barred:
            for option in self.scenario.options:
                if option.name in self.barred:
                    yield _entry(option, "; ".join(map(str, self.barred[option.name])))
        for attempt in self.attempts:
            if not attempt.cells:
                yield _entry(attempt.option, attempt.reason)
        for known in (None, False):
            for option, is_covered in zip(self.scenario.options, self.affordable, strict=True):
                if is_covered is known:
                    reason = _no_price(option) if known is None else self._too_expensive(option)
                    yield _entry(option, reason, affordable=known)

    def _too_expensive(self, option: Option) -> str:
        """Return why an option is not ranked, and how often its uncertain price is within the budget after all."""
        reason, asked = "costs more than the budget", self.asked
        if asked is None or not asked.noise or not is_uncertain(option):
            return reason
        within = sum(bool(is_affordable(drawn(option, sample), self.scenario)) for sample in asked.each())
        if not within:
            return reason
        share = format_probability(within / asked.samples, 1)
        more = "with a budget of the stated price or more, it is compared, too"
        return f"{reason}, but in {share} of the samples its price is within it: {more}"

    def _counted(self, attempt: Attempt) -> Iterator[WorkloadOutcome]:
        """Yield the outcome of each workload in its chosen split."""
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
            layout=str(split.layout) if workload.places_in_several_ways else "",
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

    # --- caveats ---

    def _warnings(self, listed: Sequence[Attempt]) -> tuple[str, ...]:
        missed = {} if listed else self._missed()
        said = [*nobody_keeps(missed), *self.scenario.notes, *self.notes]
        return tuple(
            dict.fromkeys(
                [*said, *caveats_of(self.scenario, listed, self.scores.accounts), *self._about_queues(listed)]
            )
        )

    def _about_queues(self, listed: Sequence[Attempt]) -> Iterator[str]:
        said = [each for attempt in listed for each in self.scores.queues.said(attempt)]
        recorded = None if self.scenario.queue is None else self.scenario.queue.recorded
        yield from recorded.notes if recorded is not None else ()
        yield from gathered(said, [attempt.option.name for attempt in listed], "options")

    def _missed(self) -> Mapping[str, Sequence[Miss]]:
        """Return the limits that options miss, judged alike for all: limits in use, if any option got that far."""
        in_use = {each.option.name: self.scores.misses(each) for each in self.attempts if each.cells}
        return in_use if self.attempts else self.barred


def _no_price(option: Option) -> str:
    """Return why it is unknown whether the budget covers an option."""
    lacking = unpriced_nodes(option)
    of = f" for some of its nodes ({named(lacking)})" if lacking else ""
    unknown = f"no price is stated{of}, so it is unknown whether the budget covers it"
    return f"{unknown}: state its price, or leave out the budget"


def _amount(option: Option) -> float:
    return math.inf if option.price is None else option.price.amount


def _entry(option: Option, reason: str, affordable: bool | None = True, bound: float | None = None) -> Entry:
    return Entry(
        option=option.name,
        machine=option.machine.name,
        price=option.price,
        affordable=affordable,
        position=None,
        score=None,
        reason=reason,
        workloads=(),
        bound=bound,
    )
