"""Samples of a ranking: the first options again, each time with new draws of all stated noise and of the model error.

Every option runs each workload in the split chosen without noise, because a buyer decides before the noise is known. In
a sample all options share the draws of their common parts (:mod:`clue.uncertainty`), and points and weighted sums are
relative to the best of that sample. Options that are not listed, or miss a limit, count for these as in the ranking:
the options with the best rates and figures without noise are sampled for this purpose. The options that could be among
the first ones are sampled, too. These are the options whose bound reaches the worse end of the last option's interval,
if all their times are at the 10th percentile and their uncertain prices at the lower end. In dense rankings there may
be hundreds of them: at most as many as there are first options are sampled, and the others are only counted.

The budget and limits hold in every sample: an option that exceeds the budget, or misses a deadline, the runs per month
or the largest total cost in a sample is not the best in it. Uncertain prices are drawn as well, if the criterion, the
budget or a limit depends on them (:mod:`clue.purchase.prices`).

A time that a fitted model or a skeleton predicts, without a simulation, has the error of that method alone.

If only a part of a program was replayed (:mod:`clue.steady`), the error of that estimate is drawn too, independently
for each prediction.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from clue.predict.application import names_apart
from clue.predict.prediction import Task
from clue.predict.predictor import Doubles, Predictor
from clue.progress import Progress
from clue.purchase.attempts import Attempt, Cell, Choice, Run
from clue.purchase.limits import is_affordable
from clue.purchase.prices import at_best, drawn, figures_in, is_uncertain
from clue.purchase.scenario import Scenario
from clue.purchase.scores import Scores
from clue.purchase.search import Search
from clue.uncertainty import TAIL, ModelError, Sample, Sampling, Spread
from clue.uncertainty.model_error import model_of
from clue.uncertainty.order import probability_of_best, shared_positions

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class SampledOption:
    """The statistics of an option's samples.

    Attributes:
        attempt: The option.
        position: Its position, shared with options from which it is statistically indistinguishable.
        score: Distribution of its score; ``None``: it does not vary.
        makespans: Distribution of the makespan by workload; ``None``: it does not vary.
        best: The probability that it is the best, and keeps all limits.
        missed: The probability that it misses a limit, by the limit in words.
    """

    attempt: Attempt
    position: int
    score: Spread | None
    makespans: tuple[Spread | None, ...]
    best: float
    missed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Scores of options in samples.

    Attributes:
        figures: The scores, shape (options, samples).
        keep: Whether the option meets all limits in the sample, shape (options, samples).
        missed: For each option, the number of samples in which it misses each limit.
    """

    figures: Doubles
    keep: Truths
    missed: Sequence[Counter[str]]

    def judged(self, *, higher_is_better: bool) -> Doubles:
        """Return the scores, with the worst possible one where a limit is missed."""
        return np.where(self.keep, self.figures, -math.inf if higher_is_better else math.inf)


class RankingSampler:
    """Draws samples of the first options of a search.

    Args:
        search: The search without noise.
        scores: The scores of options.
        predictor: Predicts applications in samples.
        sampling: The sampling.
        progress: Called with the progress.
        scenario: The comparison.
        error: The model error.
    """

    def __init__(
        self,
        search: Search,
        scores: Scores,
        predictor: Predictor,
        sampling: Sampling,
        progress: Progress,
        *,
        scenario: Scenario,
        error: ModelError | None = None,
    ) -> None:
        self._search = search
        self._scores = scores
        self._low = scores.with_other_options()
        self._predictor = predictor
        self._sampling = sampling
        self._progress = progress
        self._error = error
        self._scenario = scenario
        self._names = names_apart(each.application.file for of in scenario.workloads for each in of.components)
        self._seconds: dict[Run, Doubles] = {}  # shape (components, samples)
        self._deviations: dict[Run, float] = {}
        #: Number of further options that may be among the first, but are not sampled.
        self.passed_over = 0

    @property
    def is_worth_it(self) -> bool:
        """Whether one of the first options has noise; or there are first options, and some price is uncertain."""
        listed = self._search.listed()
        uncertain = any(map(self._has_uncertain_prices, self._search.attempts))
        return any(map(self._has_noise, listed)) or (bool(listed) and uncertain)

    def without_noise(self) -> list[str]:
        """Return the names of the first options without any noise."""
        return [attempt.option.name for attempt in self._search.listed() if not self._has_noise(attempt)]

    def sample(self) -> list[SampledOption]:
        """Return the first options in the order without noise, and those that share the position of the last."""
        listed = self._search.listed()
        self._simulate(listed)
        rivals = self._rivals(listed)
        self._simulate(rivals)
        everybody = sorted([*listed, *rivals], key=self._scores.key)
        scores = self._scores_of(everybody)
        higher = self._scores.higher_is_better
        judged = scores.judged(higher_is_better=higher)
        positions = shared_positions(judged, higher_is_better=higher)
        best = probability_of_best(judged, higher_is_better=higher).tolist()
        return [
            SampledOption(
                attempt=attempt,
                position=position,
                score=_spread(row, self._scores.score(attempt)),
                makespans=self._makespans(attempt),
                best=share,
                missed={limit: number / self._sampling.samples for limit, number in missed.items()},
            )
            for attempt, position, row, share, missed in zip(
                everybody, positions, scores.figures, best, scores.missed, strict=True
            )
            if position <= len(listed)
        ]

    # --- further options ---

    def _rivals(self, listed: Sequence[Attempt]) -> list[Attempt]:
        """Return the options that may be among the first in some samples, simulated without noise."""
        able = [attempt for attempt in self._search.attempts if not self._scores.misses(attempt)]
        others = [attempt for attempt in able if attempt not in listed]
        if not others or not listed:
            return []
        last = Spread.of(self._scores_of(listed).figures[-1])
        reached = last.low if self._scores.higher_is_better else last.high
        near = [each for each in others if self._may_reach(each, reached)]
        self._search.refine(near)
        near = sorted((each for each in near if self._may_reach(each, reached)), key=self._scores.key)
        taken = near[: len(listed)]
        self.passed_over = len(near) - len(taken)
        self._search.settle(taken)
        return [attempt for attempt in taken if self._may_reach(attempt, reached)]

    def _may_reach(self, attempt: Attempt, reached: float) -> bool:
        cells = tuple(map(self._at_best, attempt.cells))
        score = self._low.score(replace(attempt, cells=cells, option=at_best(attempt.option)))
        return score >= reached if self._scores.higher_is_better else score <= reached

    def _at_best(self, cell: Cell) -> Cell:
        """Return a cell with every time at the lower end of its interval, as if all its noise were fully correlated."""
        runs = [
            (choice, [seconds * math.exp(-TAIL * self._deviation(choice.run)) for seconds in choice.run.seconds])
            for choice in cell.possible
        ]
        return _fixed([_with_seconds(choice, seconds) for choice, seconds in runs], cell)

    def _deviation(self, run: Run) -> float:
        if run not in self._deviations:
            noise = max(self._noise(task) or 0.0 for task in run.tasks)
            part = max((each.reach for each in run.predictions), default=0.0) / TAIL
            off = 0.0 if self._error is None or not any(_are_simulated(run)) else self._error.most
            self._deviations[run] = math.hypot(noise, part, off)
        return self._deviations[run]

    def _has_noise(self, attempt: Attempt) -> bool:
        if self._error is not None or self._has_uncertain_prices(attempt):
            return True
        runs = [_run(cell) for cell in attempt.cells]
        return any(self._noise(task) is not None for run in runs for task in run.tasks) or any(
            prediction.reach for run in runs for prediction in run.predictions
        )

    def _has_uncertain_prices(self, attempt: Attempt) -> bool:
        if not self._sampling.noise or not is_uncertain(attempt.option):
            return False
        return any(each.deviation for each in figures_in(self._scenario, attempt.option).values())

    def _noise(self, task: Task) -> float | None:
        """Return the standard deviation of a task's noise, if it is drawn."""
        return self._predictor.deviation(task) if self._sampling.noise else None

    # --- samples ---

    def _scores_of(self, attempts: Sequence[Attempt]) -> _Scores:
        """Return the scores of options in all samples."""
        others = self._scores.leaders([each for each in self._search.attempts if each not in attempts])
        self._search.settle(others)
        self._simulate(others)
        everybody = [*attempts, *others]
        found: Doubles = np.empty((len(attempts), self._sampling.samples))
        keep: Truths = np.ones(found.shape, np.bool_)
        missed = [Counter[str]() for _ in attempts]
        uncertain = any(map(self._has_uncertain_prices, everybody))
        for sample in self._sampling.each():
            self._progress("scores of samples", sample.number, self._sampling.samples)
            sampled = [replace(a, cells=tuple(self._in(cell, sample) for cell in a.cells)) for a in everybody]
            scores = self._scores
            if uncertain:
                sampled = [replace(each, option=drawn(each.option, sample)) for each in sampled]
                scores = scores.with_other_options()
            scores = scores.relative_to(sampled)
            for i, each in enumerate(sampled[: len(attempts)]):
                found[i, sample.number] = scores.score(each)
                limits = {miss.limit for miss in scores.misses(each)}
                if is_affordable(each.option, self._scenario) is False:
                    limits.add(f"price must be at most the budget of {self._scenario.budget}")
                keep[i, sample.number] = not limits
                missed[i].update(limits)
        return _Scores(found, keep, missed)

    def _in(self, cell: Cell, sample: Sample) -> Cell:
        choice = cell.possible[0]
        return _fixed([_with_seconds(choice, self._seconds[choice.run][:, sample.number].tolist())], cell)

    def _makespans(self, attempt: Attempt) -> tuple[Spread | None, ...]:
        choices = [(cell, cell.possible[0].split.turns, self._seconds[_run(cell)]) for cell in attempt.cells]
        return tuple(_spread(n * seconds.sum(axis=0), cell.makespan) for cell, n, seconds in choices)

    def _simulate(self, attempts: Iterable[Attempt]) -> None:
        """Predict samples of the chosen splits of options, each run once."""
        runs = {_run(cell): None for attempt in attempts for cell in attempt.cells}
        new = [run for run in runs if run not in self._seconds]
        for run in new:
            self._seconds[run] = np.tile(np.array(run.seconds)[:, None], self._sampling.samples)
        places = [(run, k) for run in new for k, task in enumerate(run.tasks) if self._noise(task) is not None]
        drawn = self._predictor.samples([run.tasks[k] for run, k in places], self._sampling, self._progress)
        for (run, k), seconds in zip(places, drawn, strict=True):
            self._seconds[run][k] = seconds
        for run in new:
            for k, prediction in enumerate(run.predictions):
                self._seconds[run][k] *= self._in_part(run.tasks[k], prediction.reach)
            if self._error is not None:
                self._seconds[run] *= self._off(run, self._error)

    def _in_part(self, task: Task, reach: float) -> Doubles:
        """Return the error factors of a partial replay, independent of other replays, shape (samples,) or (1,)."""
        if not reach:
            return np.ones(1)
        (application, ranks), where = task.key, task.where
        of_task = ("part", self._names[application.file], ranks, where.instances, len(set(where.placement.nodes)))
        thing = (*of_task, *model_of(where))
        drawn = [sample.generator(*thing).standard_normal() for sample in self._sampling.each()]
        return np.exp(reach / TAIL * np.array(drawn))

    def _off(self, run: Run, error: ModelError) -> Doubles:
        """Return the factors of the model error, shape (components, samples); 1 for what was not simulated."""
        found: Doubles = np.ones((len(run.tasks), self._sampling.samples))
        told = zip(run.tasks, run.seconds, _are_simulated(run), strict=True)
        for k, (task, makespan, is_simulated) in enumerate(told):
            if is_simulated:
                expected = error.of(self._predictor.character(task, makespan))
                found[k] = expected.multipliers(self._sampling, self._names[task.key[0].file], task.where)
        return found


def _are_simulated(run: Run) -> list[bool]:
    """Tell for each component whether its time is that of a simulation; bounds without a prediction are."""
    return [each.simulated for each in run.predictions] or [True] * len(run.tasks)


def _spread(figures: Doubles, without: float) -> Spread | None:
    """Return the distribution of a figure around its value without noise."""
    return Spread.of(figures).holding(without) if np.ptp(figures) > 0 else None


def _run(cell: Cell) -> Run:
    """Return the run of a settled workload's chosen split."""
    return cell.possible[0].run


def _with_seconds(choice: Choice, seconds: Sequence[float]) -> Choice:
    run = Run(choice.run.tasks, choice.run.workload, tuple(seconds), known=True)
    return Choice(choice.split, run, choice.instances)


def _fixed(choices: Sequence[Choice], cell: Cell) -> Cell:
    """Return a cell with known choices, of which the same rules choose."""
    fixed = Cell(tuple(choices), cell.deadline, cell.price)
    fixed.narrow()
    return fixed
