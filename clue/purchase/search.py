"""The search for the first options of a ranking: what cannot be among them is not simulated.

Every option has a bound that its score cannot beat (:mod:`clue.purchase.scores`). Options are simulated in the order of
their bounds until the bound of every other one is worse than the last score that is wanted: the first positions are
then those of the whole ranking, exactly. Points need the best rate of each component first, found in the same way.

Simulations are made in rounds. What a round holds depends only on what earlier rounds gave, never on how many processes
there are or which is done first: so the ranking does not depend on them either.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence

from clue.predict.predictor import Predictor
from clue.progress import Progress
from clue.purchase.attempts import Attempt, Cell, Run, predicted
from clue.purchase.scores import Scores

#: A round takes so many options at first, later more: few are simulated in vain, and many processes have enough to do.
_FIRST_ROUND, _LARGEST_ROUND = 16, 512


class Search:
    """Finds the first options.

    Attributes:
        attempts: The options that can run the workloads.
        first: How many positions are wanted.
        simulations: How many simulations have been made.
        interrupted: Whether it was ended before the first positions were certain.
    """

    def __init__(
        self, attempts: Sequence[Attempt], scores: Scores, first: int, predictor: Predictor, progress: Progress
    ) -> None:
        self.attempts = attempts
        self.first = min(first, len(attempts))
        self.simulations = 0
        self.interrupted = False
        self._scores = scores
        self._predictor = predictor
        self._progress = progress
        self._compared = self._told = 0

    def run(self, *, thorough: bool = False) -> None:
        """Simulate until the first positions are certain, and what counts in them is simulated.

        Args:
            thorough: Whether to simulate all splits of the first.
        """
        if thorough and self._all_wanted:
            self._simulate(choice.run for attempt in self.attempts for cell in attempt.cells for choice in cell.choices)
        if self._scores.need_all:
            self._settle_all()
        if not self._all_wanted:
            self._find_best_rates()
        self._find_first()
        self._find_best_rates()
        first = [cell for attempt in self.listed() for cell in attempt.cells]
        # A bound that is the makespan itself has no simulation behind it, which tells more.
        counting = (choice.run for cell in first for choice in (cell.choices if thorough else cell.possible))
        self._simulate(run for run in counting if not run.predictions)

    def settle(self, attempts: Sequence[Attempt]) -> None:
        """Simulate options that are not among the first until it is known which of their splits count."""
        cells = [cell for attempt in attempts for cell in attempt.every]
        while left := [cell for cell in cells if not cell.settled]:
            self._simulate(cell.next_run() for cell in left)
        self._simulate(run for cell in cells if not (run := cell.possible[0].run).predictions)

    def interrupt(self) -> None:
        """Take what is known for all there is."""
        self.interrupted = True
        self._scores.learn([attempt for attempt in self.attempts if attempt.settled])
        for w, k in self._components():
            self._rate_rivals(w, k)

    def _settle_all(self) -> None:
        """Simulate all options: their scores are relative to the best figures of all."""
        while left := [attempt for attempt in self.attempts if not attempt.settled]:
            cells = [cell for attempt in left for cell in attempt.every if not cell.settled]
            self._compared = len(self.attempts) - len(left)
            self._simulate((cell.next_run() for cell in cells), len(left))
        self._scores.learn(self.attempts)

    @property
    def _all_wanted(self) -> bool:
        return self.first == len(self.attempts)

    def _find_first(self) -> None:
        size = _FIRST_ROUND
        while rivals := self._rivals():
            # Where all positions are wanted, all options have to be simulated: there is no order to keep.
            wanted = rivals if self._all_wanted else rivals[:size]
            cells = [cell for attempt in wanted for cell in attempt.every if not cell.settled]
            self._compared = max(self._compared, len(self.attempts) - len(rivals))
            self._simulate((cell.next_run() for cell in cells), len(wanted))
            size = min(2 * size, _LARGEST_ROUND)

    def _simulate(self, runs: Iterable[Run], options: int = 0) -> None:
        """Simulate runs, each once, which is about all that so many options need."""
        each = list(dict.fromkeys(runs))
        for done, run in enumerate(predicted(each, self._predictor), start=1):
            self.simulations += len(run.tasks)
            # A round may rule out fewer than it looked at; what has been told is not taken back.
            compared = min(self._compared + options * done // len(each), len(self.attempts))
            self._told = max(self._told, compared)
            self._progress(f"{self.simulations:,} simulations, options compared:", self._told, len(self.attempts))

    # --- what is certain ---

    def listed(self) -> list[Attempt]:
        """Return the first options whose scores are known, in order; those that miss a limit are not among them."""
        settled = [(self._scores.key(attempt), attempt) for attempt in self.attempts if attempt.settled]
        within = [(key, attempt) for key, attempt in settled if not key[0]]
        return [attempt for _, attempt in heapq.nsmallest(self.first, within)]

    def certain(self) -> int:
        """Return how many of the listed options are certain to be where they are."""
        if not all(self._best_is_known(w, k) for w, k in self._components()):
            return 0
        rivals = min((self._scores.key(attempt) for attempt in self.attempts if not attempt.settled), default=None)
        return sum(rivals is None or self._scores.key(attempt) < rivals for attempt in self.listed())

    def _rivals(self) -> list[Attempt]:
        """Return the options that may still be among the first but are not known, the most promising first."""
        rivals = [(self._scores.key(attempt), attempt) for attempt in self.attempts if not attempt.settled]
        if not self._all_wanted:
            listed = self.listed()
            last = self._scores.key(listed[-1]) if len(listed) == self.first else None
            rivals = [(key, each) for key, each in rivals if not key[0] and (last is None or key < last)]
        return [attempt for _, attempt in sorted(rivals)]

    # --- the best rates, which points are relative to ---

    def _find_best_rates(self) -> None:
        size = _FIRST_ROUND
        while rivals := [cell for w, k in self._components() for cell in self._rate_rivals(w, k)[:size]]:
            self._simulate(cell.next_run() for cell in rivals)
            size = min(2 * size, _LARGEST_ROUND)

    def _components(self) -> Iterator[tuple[int, int]]:
        """Yield workload and component of the best rates that are needed."""
        if self._scores.need_best_rates:
            yield from ((w, k) for w, rates in enumerate(self._scores.best) for k in range(len(rates)))

    def _rate_rivals(self, w: int, k: int) -> list[Cell]:
        """Return the cells that may still have the best rate, the most promising first."""
        cells = [attempt.cells[w] for attempt in self.attempts]
        best = max((cell.rates[k] for cell in cells if cell.settled), default=0.0)
        self._scores.best[w][k] = best
        return sorted((c for c in cells if not c.settled and c.rates[k] > best), key=lambda cell: -cell.rates[k])

    def _best_is_known(self, w: int, k: int) -> bool:
        return not self._rate_rivals(w, k)
