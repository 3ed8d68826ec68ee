"""Samples of a ranking: the first options once more, with another draw of all stated noise each time.

Every option runs each workload in the split that counts without noise: who buys decides before knowing. In a sample
all options have the draws of what they have in common (:mod:`clue.uncertainty`), and points are relative to the best of
that sample. Beside the first options those are sampled that could come among them: whose bound, made better by all that
the stated noise may do at the 10th percentile, reaches the worse end of the last one's interval. Of dense rankings that
may be hundreds: as many more as there are first options are sampled, the rest is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from clue.kernel import Candidate, contention_free
from clue.progress import Progress
from clue.purchase.executors import Crew
from clue.purchase.library import Key, Library
from clue.purchase.runs import Attempt, Cell, Choice, Run
from clue.purchase.scores import Scores
from clue.purchase.search import Search
from clue.uncertainty import LEVEL, Sample, Sampling, Spread, is_uncertain
from clue.uncertainty.makespans import Known, deviation_bound, draw_candidate, parts
from clue.uncertainty.order import probability_of_best, shared_positions

Doubles = npt.NDArray[np.float64]
#: So far below its median a log-normal variable is at the lower end of an interval, in deviations of its logarithm.
_TAIL = NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class SampledOption:
    """What samples say of an option.

    Attributes:
        attempt: The option.
        position: Its position, which it shares with those that it cannot be told apart from.
        score: How its score is spread; ``None``: not at all.
        makespans: By workload, how the makespan is spread; ``None``: nothing of it has noise.
        best: The probability that it is the best.
    """

    attempt: Attempt
    position: int
    score: Spread | None
    makespans: tuple[Spread | None, ...]
    best: float


class RankingSampler:
    """Draws samples of the first options of a search.

    Args:
        search: What was found without noise.
        scores: How options are scored.
        library: The programs.
        sampling: Which samples.
        crew: Who simulates what has to be simulated one by one.
        progress: Is told about samples.
        engine: Which engine simulates.
        workers: Number of threads for many machines at once.
    """

    def __init__(
        self,
        search: Search,
        scores: Scores,
        library: Library,
        sampling: Sampling,
        *,
        crew: Crew,
        progress: Progress,
        engine: str,
        workers: int,
    ) -> None:
        self._search = search
        self._scores = scores
        self._library = library
        self._samples = sampling.each()
        self._crew = crew
        self._progress = progress
        self._engine = engine
        self._workers = workers
        self._seconds: dict[Run, Doubles] = {}  # of each kernel in each sample
        self._deviations: dict[Run, float] = {}
        #: Options that may come among the first, too, but are not sampled.
        self.passed_over = 0

    @property
    def is_worth_it(self) -> bool:
        """Whether any of the first options has noise."""
        return any(self._has_noise(_run(cell)) for attempt in self._search.listed() for cell in attempt.cells)

    def without_noise(self) -> list[str]:
        """Return the names of the first options of which nothing has noise."""
        return [
            attempt.option.name
            for attempt in self._search.listed()
            if not any(self._has_noise(_run(cell)) for cell in attempt.cells)
        ]

    def sample(self) -> list[SampledOption]:
        """Return the first options in the order without noise, and those that share the position of the last."""
        listed = self._search.listed()
        self._simulate(listed)
        rivals = self._rivals(listed)
        self._simulate(rivals)
        everybody = sorted([*listed, *rivals], key=self._scores.key)
        scores = self._scores_of(everybody)
        higher = self._scores.higher_is_better
        positions = shared_positions(scores, higher_is_better=higher)
        best = probability_of_best(scores, higher_is_better=higher).tolist()
        return [
            SampledOption(attempt, position, _spread(row), self._makespans(attempt), share)
            for attempt, position, row, share in zip(everybody, positions, scores, best, strict=True)
            if position <= len(listed)
        ]

    # --- who else ---

    def _rivals(self, listed: Sequence[Attempt]) -> list[Attempt]:
        """Return the options that may come among the first in some samples, simulated without noise."""
        others = [attempt for attempt in self._search.attempts if attempt not in listed]
        if not others or not listed:
            return []
        last = Spread.of(self._scores_of(listed)[-1])
        reached = last.low if self._scores.higher_is_better else last.high
        near = sorted((each for each in others if self._may_reach(each, reached)), key=self._scores.key)
        taken = near[: len(listed)]
        self.passed_over = len(near) - len(taken)
        self._search.settle(taken)
        return [attempt for attempt in taken if self._may_reach(attempt, reached)]

    def _may_reach(self, attempt: Attempt, reached: float) -> bool:
        score = self._scores.score(replace(attempt, cells=tuple(map(self._at_best, attempt.cells))))
        return score >= reached if self._scores.higher_is_better else score <= reached

    def _at_best(self, cell: Cell) -> Cell:
        """Return a workload whose every time is at the lower end of its interval, as if all its noise went together."""
        runs = [
            (choice, [seconds * math.exp(-_TAIL * self._deviation(choice.run)) for seconds in choice.run.seconds])
            for choice in cell.possible
        ]
        return _fixed([_with_seconds(choice, seconds) for choice, seconds in runs])

    def _deviation(self, run: Run) -> float:
        if run not in self._deviations:
            noises = [self._library[key].noise for key in run.job.kernels]
            self._deviations[run] = max(deviation_bound(run.job.machine, noise) for noise in noises)
        return self._deviations[run]

    def _has_noise(self, run: Run) -> bool:
        return any(is_uncertain(run.job.machine, self._library[key].noise) for key in run.job.kernels)

    # --- samples ---

    def _scores_of(self, attempts: Sequence[Attempt]) -> Doubles:
        """Return scores, shape (attempts, samples)."""
        found: Doubles = np.empty((len(attempts), len(self._samples)))
        for sample in self._samples:
            drawn = [replace(a, cells=tuple(self._in(cell, sample) for cell in a.cells)) for a in attempts]
            scores = self._scores.relative_to(drawn)
            found[:, sample.number] = [scores.score(each) for each in drawn]
        return found

    def _in(self, cell: Cell, sample: Sample) -> Cell:
        choice = cell.possible[0]
        return _fixed([_with_seconds(choice, self._seconds[choice.run][:, sample.number].tolist())])

    def _makespans(self, attempt: Attempt) -> tuple[Spread | None, ...]:
        turns = [(cell.possible[0].split.turns, self._seconds[_run(cell)]) for cell in attempt.cells]
        return tuple(_spread(n * seconds.sum(axis=0)) for n, seconds in turns)

    def _simulate(self, attempts: Iterable[Attempt]) -> None:
        """Simulate samples of all that counts in options, each run once."""
        runs = list(dict.fromkeys(_run(cell) for attempt in attempts for cell in attempt.cells))
        new = [run for run in runs if run not in self._seconds]
        for run in new:
            self._seconds[run] = np.full((len(run.job.kernels), len(self._samples)), np.nan)
            if not self._has_noise(run):
                self._seconds[run][:] = np.array(run.seconds)[:, None]
        total = sum(int(np.isnan(self._seconds[run]).sum()) for run in new)
        told = _Told(self._progress, total)
        self._sweep(new, told)
        self._replay(new, told)

    def _sweep(self, runs: Sequence[Run], told: _Told) -> None:
        """Simulate many samples at once, where messages alone couple the ranks."""
        for key, places in self._sweepable(runs).items():
            program, noise = self._library[key].program, self._library[key].noise
            for part in parts(self._samples, program.ops * len(places)):
                known: Known = {}
                candidates = [
                    draw_candidate(program, where, sample, noise, known) for where, _, _ in places for sample in part
                ]
                tell = told.further(len(candidates))
                seconds, exact = contention_free(program, candidates, tell, engine=self._engine, workers=self._workers)
                table = np.where(exact, seconds, np.nan).reshape(len(places), len(part))
                for (_, run, k), row in zip(places, table, strict=True):
                    self._seconds[run][k, part[0].number : part[-1].number + 1] = row

    def _sweepable(self, runs: Sequence[Run]) -> Mapping[Key, list[tuple[Candidate, Run, int]]]:
        """Return by program where it runs with nothing but messages coupling its ranks: of which run, which kernel."""
        found: dict[Key, list[tuple[Candidate, Run, int]]] = {}
        for run in runs:
            where = Candidate(run.job.machine, run.job.placement, run.job.instances)
            if np.isnan(self._seconds[run]).any() and where.coupled_by_messages_alone:
                for k, key in enumerate(run.job.kernels):
                    found.setdefault(key, []).append((where, run, k))
        return found

    def _replay(self, runs: Sequence[Run], told: _Told) -> None:
        """Simulate the samples that are left, one by one."""
        left = [
            (run, sample)
            for run in runs
            for sample in self._samples
            if np.isnan(self._seconds[run][:, sample.number]).any()
        ]
        for i, summaries in self._crew.perform([replace(run.job, sample=sample) for run, sample in left]):
            run, sample = left[i]
            self._seconds[run][:, sample.number] = [summary.makespan for summary in summaries]
            told.add(len(summaries))


class _Told:
    """Counts samples that are simulated, and tells of them."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def add(self, done: int) -> None:
        """Tell that so many more are done."""
        self._done += done
        self._progress("samples of the noise", self._done, self._total)

    def further(self, more: int) -> Callable[[int], None]:
        """Return what is told how many of so many more are done."""
        before, self._done = self._done, self._done + more
        return lambda done: self._progress("samples of the noise", before + done, self._total)


def _spread(figures: Doubles) -> Spread | None:
    return Spread.of(figures) if np.ptp(figures) > 0 else None


def _run(cell: Cell) -> Run:
    """Return the run that counts of a settled workload."""
    return cell.possible[0].run


def _with_seconds(choice: Choice, seconds: Sequence[float]) -> Choice:
    run = Run(choice.run.job, choice.run.workload, tuple(seconds), known=True)
    return Choice(choice.split, run, choice.instances)


def _fixed(choices: Sequence[Choice]) -> Cell:
    cell = Cell(tuple(choices))
    cell.narrow()
    return cell
