"""Search for the first options of a ranking: options that cannot be among them are not simulated.

Every option has a bound that its score cannot beat (:mod:`clue.purchase.scores`). Options are simulated in the order of
their bounds until the bound of every other one is worse than the last requested score: the first positions are then
exactly those of the whole ranking. Points need the best rate of each component first, which is found in the same way.

Bounds come in two qualities. A rough one, from computation only, costs next to nothing; of many options, only those
that it does not exclude get the better one, from messages without contention. Bounds only get tighter as more is known,
so an excluded option stays excluded.

Simulations are made in rounds. The contents of a round depend only on the results of earlier rounds, never on the
number of processes or on which finishes first, so the ranking does not depend on them either.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from clue.predict.predictor import Predictor
from clue.progress import Progress, silent
from clue.purchase.attempts import Attempt, Cell, Run, predicted, refine
from clue.purchase.columns import Columns, Doubles, Truths, near_least, not_above
from clue.purchase.scenario import Option
from clue.purchase.scores import Key, Scores

#: Number of options in the first round, and largest number in later ones: few simulations are wasted, and many
#: processes are kept busy.
_FIRST_ROUND, _LARGEST_ROUND = 16, 512
#: Cost of a simulation in better bounds: rounds of bounds have that many times the options.
_CHEAPER = 16
#: Number of runs up to which all are bounded at once.
_FEW_RUNS = 2000


class Search:
    """Finds the first options.

    Attributes:
        attempts: The options that can run the workloads.
        first: Number of requested positions.
        simulations: Number of simulations made so far.
        interrupted: Whether it was interrupted before the first positions were certain.

    Args:
        attempts: The options that can run the workloads.
        scores: How they are scored.
        first: Number of requested positions.
        predictor: Predicts applications.
        progress: Called with the progress.
        columns: Figures of cells that are kept from one search to the next; left out: none are.
    """

    def __init__(  # noqa: PLR0917 - what is searched, and by whom
        self,
        attempts: Sequence[Attempt],
        scores: Scores,
        first: int,
        predictor: Predictor,
        progress: Progress,
        columns: Columns | None = None,
    ) -> None:
        self.attempts = attempts
        self.first = min(first, len(attempts))
        self.simulations = 0
        self.interrupted = False
        self._scores = scores
        self.columns = columns or Columns()
        self._keys = _Keys(attempts, scores, self.columns)
        # Cells by workload; options with the same prediction share them.
        self._cells = [list(dict.fromkeys(each.cells[w] for each in attempts)) for w in range(len(scores.best))]
        self._places = [np.array(self.columns.places(cells), np.int64) for cells in self._cells]
        self._few_bounded = False
        self._predictor = predictor
        self._progress = progress
        self._compared = self._told = self._bounded = 0
        #: Indices of the options that may be among the first but are not known, and the keys of the known first ones;
        #: kept if options are looked at one by one.
        self._open: list[int] = []
        self._best: list[Key] = []

    def run(self, *, thorough: bool = False) -> None:
        """Simulate until the first positions are certain, and their chosen splits are simulated.

        Args:
            thorough: Whether to simulate all splits of the first options.
        """
        self.bound_few()
        if thorough and self._all_wanted:
            self._simulate(choice.run for attempt in self.attempts for cell in attempt.cells for choice in cell.choices)
        if self._scores.need_all:
            self.settle_all(self._scores)
        if not self._all_wanted:
            self.find_best_rates()
        self._find_first()
        self.find_best_rates()
        first = [cell for attempt in self.listed() for cell in attempt.cells]
        # A bound may equal the makespan, but only a simulation gives the other figures.
        counting = (choice.run for cell in first for choice in (cell.choices if thorough else cell.possible))
        self._simulate(run for run in counting if not run.predictions)

    def settle(self, attempts: Sequence[Attempt]) -> None:
        """Simulate options that are not among the first until their chosen splits are known."""
        cells = [cell for attempt in attempts for cell in attempt.every]
        while left := [cell for cell in cells if not cell.settled]:
            self.advance(left)
        self._simulate(run for cell in cells if not (run := cell.possible[0].run).predictions)

    def advance(self, cells: Iterable[Cell], options: int = 0) -> None:
        """Advance cells that are not settled: by a better bound if there is none yet, else by a simulation.

        Args:
            cells: The cells; settled ones are skipped.
            options: Number of options for which this is all that was to be done, for the progress.
        """
        left = [cell for cell in dict.fromkeys(cells) if not cell.settled]
        if rough := _rough(left):
            self._refine(rough)
        else:
            self._simulate((cell.next_run() for cell in left), options)

    def refine(self, attempts: Iterable[Attempt]) -> None:
        """Compute the better bounds of options."""
        choices = (choice for attempt in attempts for cell in attempt.every for choice in cell.possible)
        self._refine([choice.run for choice in choices if not choice.run.refined])

    def interrupt(self, *further: Scores) -> None:
        """Accept the current knowledge as final, for these scores and for further ones."""
        self.interrupted = True
        for scores in (self._scores, *further):
            scores.learn([attempt for attempt in self.attempts if attempt.settled])
            for w, k in self._components(scores):
                self._rate_rivals(scores, w, k)
        self._keys.forget()

    def settle_all(self, scores: Scores) -> None:
        """Simulate all options: these scores are relative to the best figures of all."""
        while left := [attempt for attempt in self.attempts if not attempt.settled]:
            self._compared = len(self.attempts) - len(left)
            self.advance((cell for attempt in left for cell in attempt.every), len(left))
        scores.learn(self.attempts)
        if scores is self._scores:
            self._keys.forget()

    @property
    def _all_wanted(self) -> bool:
        return self.first == len(self.attempts)

    def _find_first(self) -> None:
        size = _FIRST_ROUND
        self._open, self._best = list(range(len(self.attempts))), []
        while rivals := self._rivals():
            self._compared = max(self._compared, len(self.attempts) - len(rivals))
            # If all positions are requested, all options have to be simulated, in any order.
            if self._all_wanted:
                self.advance((cell for attempt in rivals for cell in attempt.every), len(rivals))
            else:
                size = self._advance_first([attempt.every for attempt in rivals], size)

    def _advance_first(self, rivals: Sequence[Sequence[Cell]], size: int) -> int:
        """Advance the most promising options: bound them, or simulate the first; return the next round's size."""
        near = [cell for cells in rivals[: _CHEAPER * size] for cell in cells]
        if rough := _rough(near):
            self._refine(rough)
            return size
        self.advance((cell for cells in rivals[:size] for cell in cells), min(size, len(rivals)))
        return min(2 * size, _LARGEST_ROUND)

    # --- bounds and simulations ---

    def bound_few(self) -> None:
        """Bound all options if that takes little work, or if all positions are requested."""
        if self._few_bounded:
            return
        self._few_bounded = True
        cells = (cell for cells in self._cells for cell in cells if not cell.refined)
        choices = (choice for cell in cells for choice in cell.choices)
        rough = list(dict.fromkeys(choice.run for choice in choices if not choice.run.refined))
        if rough and (self._all_wanted or len(rough) <= _FEW_RUNS):
            refine(rough, self._predictor, self._progress)

    def _refine(self, runs: Iterable[Run]) -> None:
        each = list(dict.fromkeys(runs))
        if each:
            refine(each, self._predictor, silent)
            self._bounded += len(each)
            self._tell()

    def _simulate(self, runs: Iterable[Run], options: int = 0) -> None:
        """Simulate runs, each once, which is nearly all that a number of options needs."""
        each = list(dict.fromkeys(runs))
        for done, run in enumerate(predicted(each, self._predictor), start=1):
            self.simulations += len(run.tasks)
            # A round may exclude fewer options than it looked at; reported progress never falls.
            compared = min(self._compared + options * done // len(each), len(self.attempts))
            self._told = max(self._told, compared)
            self._tell()

    def _tell(self) -> None:
        bounds = f"{self._bounded:,} bounds, " if self._bounded else ""
        what = f"{bounds}{self.simulations:,} simulations, options compared:"
        self._progress(what, self._told, len(self.attempts))

    # --- certain positions ---

    def listed(self) -> list[Attempt]:
        """Return the first options whose scores are known, in order, without those that miss a limit."""
        return [self.attempts[i] for _, i in self._keys.first(self.first)]

    def certain(self) -> int:
        """Return the number of listed options whose positions are certain."""
        if not all(self._best_is_known(w, k) for w, k in self._components(self._scores)):
            return 0
        listed = self._keys.first(self.first)
        rival = self._keys.best_bound()
        return sum(rival is None or key < rival for key, _ in listed)

    def scores_of_all(self) -> list[float]:
        """Return the score of each option, or a bound that it cannot beat."""
        found = self._keys.scores()
        return list(map(self._scores.score, self.attempts)) if found is None else found.tolist()

    def _rivals(self) -> list[Attempt]:
        """Return the options that may still be among the first but are not known, the most promising first."""
        if not self._all_wanted and self._keys.scores() is not None:
            best = self._keys.first(self.first)
            last = best[-1][0] if len(best) == self.first else None
            return [self.attempts[i] for _, i in sorted(self._keys.bounds(last))]
        keyed = [(self._keys.of(i), i) for i in self._open]
        known = [key for key, i in keyed if not key[0] and self.attempts[i].settled]
        self._best = heapq.nsmallest(self.first, [*self._best, *known])
        rivals = [(key, i) for key, i in keyed if not self.attempts[i].settled]
        if not self._all_wanted:
            last = self._best[-1] if len(self._best) == self.first else None
            rivals = [(key, i) for key, i in rivals if not key[0] and (last is None or key < last)]
        # Bounds only get worse, and the last requested score only better: excluded options stay excluded.
        self._open = [i for _, i in sorted(rivals)]
        return [self.attempts[i] for i in self._open]

    # --- the best rates, to which points are relative ---

    def find_best_rates(self, scores: Scores | None = None) -> None:
        """Simulate until the best rates of some scores are certain; default: the scores of the ranking."""
        scores, size = scores or self._scores, _FIRST_ROUND
        while True:
            rivals = [self._rate_rivals(scores, w, k) for w, k in self._components(scores)]
            if not any(rivals):
                break
            if rough := _rough(cell for cells in rivals for cell in cells[: _CHEAPER * size]):
                self._refine(rough)
                continue
            self.advance(cell for cells in rivals for cell in cells[:size])
            size = min(2 * size, _LARGEST_ROUND)

    def _components(self, scores: Scores) -> Iterator[tuple[int, int]]:
        """Yield workload and component of the needed best rates."""
        if scores.need_best_rates:
            yield from ((w, k) for w, rates in enumerate(scores.best) for k in range(len(rates)))

    def _rate_rivals(self, scores: Scores, w: int, k: int) -> list[Cell]:
        """Return the cells that may still have the best rate, the most promising first."""
        columns, places = self.columns, self._places[w]
        columns.look()
        if not len(places):
            return []
        rates, settled = columns.rates[places, k], columns.settled[places]
        best = float(rates[settled].max(initial=0.0))
        if best != scores.best[w][k]:
            scores.best[w][k] = best
            if scores is self._scores:
                self._keys.forget()
        rivals = np.flatnonzero(~settled & (rates > best))
        order = np.argsort(-rates[rivals], kind="stable")
        return [self._cells[w][i] for i in rivals[order].tolist()]

    def _best_is_known(self, w: int, k: int) -> bool:
        return not self._rate_rivals(self._scores, w, k)


def _rough(cells: Iterable[Cell]) -> list[Run]:
    """Return the runs that might be simulated next and have no better bound yet."""
    return [run for cell in dict.fromkeys(cells) if not cell.settled for run in cell.rough_runs()]


def _prices(options: Sequence[Option]) -> Doubles | None:
    """Return the prices of options, shape (options,); ``None`` if any has no price, or further costs."""
    found = [option.price.amount for option in options if option.price is not None and option.costs is None]
    return np.array(found) if len(found) == len(options) else None


class _Keys:
    """Sort keys of options, recomputed only after changes.

    If columns show that an option cannot be among the requested ones, its key is not computed at all.
    """

    def __init__(self, attempts: Sequence[Attempt], scores: Scores, columns: Columns) -> None:
        self._attempts = attempts
        self._scores = scores
        self._columns = columns
        self._rows = columns.rows([attempt.cells for attempt in attempts])
        self._prices = _prices([attempt.option for attempt in attempts])
        self._known: dict[int, tuple[int, Key]] = {}

    def forget(self) -> None:
        """Discard all keys."""
        self._known.clear()

    def of(self, i: int) -> Key:
        """Return the key of an option."""
        changes = self._attempts[i].changes
        known = self._known.get(i)
        if known is None or known[0] != changes:
            known = self._known[i] = changes, self._scores.key(self._attempts[i])
        return known[1]

    def scores(self) -> Doubles | None:
        """Return the scores of all options, or bounds of them; ``None`` if they must be scored one by one."""
        self._columns.look()
        return self._scores.by_columns(self._columns, self._rows, self._prices)

    def first(self, number: int) -> list[tuple[Key, int]]:
        """Return this number of least keys of settled options that meet all limits, with their indices."""
        rough = self._rough()
        if rough is None:
            near: Iterable[int] = range(len(self._attempts))
        else:
            settled = np.flatnonzero(self._settled())
            near = settled[near_least(rough[settled], number)].tolist() if number else ()
        keyed = ((self.of(i), i) for i in near if self._attempts[i].settled)
        return heapq.nsmallest(number, ((key, i) for key, i in keyed if not key[0]))

    def bounds(self, below: Key | None) -> list[tuple[Key, int]]:
        """Return the keys of options that are not settled, with their indices; below a key, or all."""
        rough = self._rough()
        if rough is None:
            near: Iterable[int] = range(len(self._attempts))
        else:
            left = np.flatnonzero(~self._settled())
            near = (left if below is None else left[not_above(rough[left], below[1])]).tolist()
        keyed = ((self.of(i), i) for i in near if not self._attempts[i].settled)
        return [(key, i) for key, i in keyed if below is None or key < below]

    def best_bound(self) -> Key | None:
        """Return the least key of an option that is not settled; ``None``: all are."""
        rough = self._rough()
        if rough is None:
            return min((key for key, _ in self.bounds(None)), default=None)
        left = np.flatnonzero(~self._settled())
        return min((self.of(i) for i in left[near_least(rough[left], 1)].tolist()), default=None)

    def _rough(self) -> Doubles | None:
        """Return scores so that less is better."""
        scores = self.scores()
        return -scores if scores is not None and self._scores.higher_is_better else scores

    def _settled(self) -> Truths:
        settled: Truths = np.all(self._columns.settled[self._rows], axis=1)
        return settled
