"""Figures of cells as columns: thousands of options are searched at once, and only the few that matter one by one.

Columns only exclude options. The ranking uses the scores of each remaining option itself
(:mod:`clue.purchase.scores`), because sums that are added in another order may differ in their last digits.
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
#: Relative difference up to which rounding may exchange the order of two scores.
_ROUNDING = 1e-9


class Known(Protocol):
    """The attributes of a cell that columns use (:class:`clue.purchase.attempts.Cell`)."""

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
        settled: Whether the chosen split is known.
        makespan: Makespan in the chosen split, or a lower bound, seconds.
        throughput: Instances finished per second in it, or an upper bound.
        rates: Instances of each component finished per second in it, or upper bounds; shape (cells, components).
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
        """Return the rows of cells; new cells get the last rows."""
        known = self._places
        for cell in cells:
            if cell not in known:
                known[cell] = len(self._cells)
                self._cells.append(cell)
                self._changed.append(cell)
                cell.watchers.append(self._changed)
        return [known[cell] for cell in cells]

    def rows(self, options: Sequence[Sequence[Known]]) -> Places:
        """Return the rows of the cells of options, shape (options, workloads)."""
        cells = [cell for of_option in options for cell in of_option]
        wide = len(cells) // len(options) if options else 0
        return np.array(self.places(cells), np.int64).reshape(len(options), wide)

    def look(self) -> None:
        """Copy the changed figures of cells."""
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
    """Return the indices of at least this number of least figures, with all that rounding may put among them."""
    if len(figures) <= number:
        return np.arange(len(figures))
    return not_above(figures, float(np.partition(figures, number - 1)[number - 1]))


def not_above(figures: Doubles, most: float) -> Places:
    """Return the indices of figures that are at most a limit, up to rounding."""
    return np.flatnonzero(figures <= (most + _ROUNDING * abs(most) if math.isfinite(most) else most))
