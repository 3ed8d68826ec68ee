"""What is known of cells, as columns: thousands of options are looked through at once, the few that matter one by one.

Columns only say who need not be looked at. What counts is what the scores of an option itself say
(:mod:`clue.purchase.scores`): sums that are added in another order may differ in their last digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]
#: Scores that differ by no more, relative to the larger, may be in either order.
_ROUNDING = 1e-9


class Known(Protocol):
    """What columns ask of a cell (:class:`clue.purchase.attempts.Cell`)."""

    @property
    def settled(self) -> bool: ...  # noqa: D102 - as there

    @property
    def makespan(self) -> float: ...  # noqa: D102

    @property
    def throughput(self) -> float: ...  # noqa: D102

    @property
    def rates(self) -> tuple[float, ...]: ...  # noqa: D102

    @property
    def watchers(self) -> list[list[Any]]: ...  # noqa: D102


class Columns:
    """The cells of a plan.

    Attributes:
        settled: Whether it is known which split counts.
        makespan: Seconds in that, or at least.
        throughput: Instances finished per second in it, or at most.
        rates: By component, instances finished per second in it, or at most; shape (cells, components).
    """

    def __init__(self) -> None:
        self._cells: list[Known] = []
        self._places: dict[Known, int] = {}
        self._changed: list[Known] = []
        self.settled: Truths = np.empty(0, np.bool_)
        self.makespan: Doubles = np.empty(0)
        self.throughput: Doubles = np.empty(0)
        self.rates: Doubles = np.empty((0, 0))

    def places(self, cells: Sequence[Known]) -> list[int]:
        """Return where cells stand; those that are new come last."""
        known = self._places
        for cell in cells:
            if cell not in known:
                known[cell] = len(self._cells)
                self._cells.append(cell)
                self._changed.append(cell)
                cell.watchers.append(self._changed)
        return [known[cell] for cell in cells]

    def rows(self, options: Sequence[Sequence[Known]]) -> Places:
        """Return where the cells of options stand, shape (options, workloads)."""
        cells = [cell for of_option in options for cell in of_option]
        wide = len(cells) // len(options) if options else 0
        return np.array(self.places(cells), np.int64).reshape(len(options), wide)

    def look(self) -> None:
        """Take down what has become known of cells."""
        if not self._changed:
            return
        changed = list(dict.fromkeys(self._changed))
        self._changed.clear()
        self._make_room(max((len(cell.rates) for cell in changed), default=0))
        at = [self._places[cell] for cell in changed]
        self.settled[at] = [cell.settled for cell in changed]
        self.makespan[at] = [cell.makespan for cell in changed]
        self.throughput[at] = [cell.throughput for cell in changed]
        most = self.rates.shape[1]
        self.rates[at] = [(*cell.rates, *(0.0,) * (most - len(cell.rates))) for cell in changed]

    def _make_room(self, components: int) -> None:
        more, wider = len(self._cells) - len(self.settled), max(0, components - self.rates.shape[1])
        if not more and not wider:
            return
        self.settled = np.pad(self.settled, (0, more))
        self.makespan, self.throughput = (np.pad(each, (0, more)) for each in (self.makespan, self.throughput))
        self.rates = np.pad(self.rates, ((0, more), (0, wider)))


def near_least(figures: Doubles, number: int) -> Places:
    """Return where the least figures stand, at least so many: with all that rounding may put among them."""
    if len(figures) <= number:
        return np.arange(len(figures))
    return not_above(figures, float(np.partition(figures, number - 1)[number - 1]))


def not_above(figures: Doubles, most: float) -> Places:
    """Return where figures stand that are no larger than one, or are so but for rounding."""
    return np.flatnonzero(figures <= (most + _ROUNDING * abs(most) if math.isfinite(most) else most))
