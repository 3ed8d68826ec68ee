"""Search for the Pareto front of all options: options that cannot be on it are not simulated.

Every option has bounds that its figures cannot beat, one for each criterion. If a simulated option dominates these
bounds, it dominates the option, which is excluded. Among the others, those whose bounds no other bounds dominate are
simulated next. When none is left, the front of the simulated options is exactly that of all options.

Limits hold as in the ranking: an option that misses one is not on the front, and dominates none.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clue.purchase.attempts import Attempt
from clue.purchase.pareto import Doubles, beaten, front
from clue.purchase.scenario import Criterion
from clue.purchase.scores import Scores, twelve_digits
from clue.purchase.search import Search

#: Number of options in the first round, and largest number in later ones.
_FIRST_ROUND, _LARGEST_ROUND = 16, 512


class FrontSearch:
    """Finds the Pareto front.

    Args:
        search: Simulates its options.
        criteria: Two or three criteria, with the scores by each.
    """

    def __init__(self, search: Search, criteria: Mapping[Criterion, Scores]) -> None:
        self._search = search
        self._criteria = criteria
        self._signs = [-1.0 if scores.higher_is_better else 1.0 for scores in criteria.values()]
        self._options = search.attempts
        self._rows: Doubles = np.zeros((len(search.attempts), len(criteria)))
        self._changes = [-1] * len(search.attempts)
        #: Indices of the options that may be on the front, and of the simulated ones among them.
        self._open, self._known = list(range(len(search.attempts))), list[int]()

    def run(self) -> None:
        """Simulate until the front is certain."""
        for scores in self._criteria.values():
            if scores.need_all:
                self._search.settle_all(scores)
            self._search.find_best_rates(scores)
        size = _FIRST_ROUND
        while rivals := self._rivals():
            promising = [rivals[i] for i in front(self._rows[rivals])[:size]]
            self._search.advance(cell for i in promising for cell in self._options[i].every)
            size = min(2 * size, _LARGEST_ROUND)

    def found(self) -> list[Attempt]:
        """Return the options on the front of the simulated ones, in the scenario's order."""
        self._look()
        return [self._options[i] for i in sorted(self._front())]

    def figures(self, attempt: Attempt) -> dict[Criterion, float]:
        """Return an option's figures by the criteria."""
        return {criterion: scores.score(attempt) for criterion, scores in self._criteria.items()}

    @property
    def units(self) -> dict[Criterion, str]:
        """The unit of the figures by each criterion, in words."""
        return {criterion: scores.unit for criterion, scores in self._criteria.items()}

    def _front(self) -> list[int]:
        return [self._known[i] for i in front(self._rows[self._known])]

    def _rivals(self) -> list[int]:
        """Return the options that may be on the front but are not simulated."""
        self._look()
        left = ~beaten(self._rows[self._open], self._rows[self._front()])
        self._open = [i for i, may_be in zip(self._open, left.tolist(), strict=True) if may_be]
        return self._open

    def _look(self) -> None:
        """Update the figures of options that have changed."""
        still: list[int] = []
        for i in self._open:
            attempt = self._options[i]
            changes = attempt.changes
            if changes == self._changes[i]:  # it was not settled then, so it is not now
                still.append(i)
                continue
            self._changes[i] = changes
            figures = self.figures(attempt).values()
            self._rows[i] = [s * twelve_digits(each) for s, each in zip(self._signs, figures, strict=True)]
            # Limits are the same for all criteria.
            if not next(iter(self._criteria.values())).misses(attempt):
                (self._known if attempt.settled else still).append(i)
        self._open = still
