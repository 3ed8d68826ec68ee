"""Search, in one dimension for each parameter, for the cost that brings predictions nearest to measured times.

A makespan is nearly a broken line over the cost of a parameter (without contention exactly one, and convex: it is the
largest of sums along paths). So a few simulations determine the values between them: the search interpolates linearly
between simulated costs, simulates the best cost of the interpolation, and repeats until that converges. Where a
makespan jumps, as it may where messages change their order, the intervals on both sides of the best cost are halved
until the interpolation holds. All parameters are searched in step, so that their simulations run together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.machine import Machine, Parameter
from clue.validation.cases import Case

Doubles = npt.NDArray[np.float64]
#: Returns the makespans of cases, given by index, each on a machine.
Makespans = Callable[[Sequence[tuple[int, Machine]]], Sequence[float]]

#: Range of the search, as factors of the stated cost.
LEAST, MOST = 1 / 16, 16.0
#: Factors that are simulated first: the ends, a tenth and a factor of two.
_FIRST = (LEAST, 0.5, 0.9, 1.1, 2.0, MOST)
#: Threshold of Huber's loss, of the logarithm (10 %): smaller errors count by their square, larger ones linearly, so
#: that a single outlier does not decide. P. J. Huber, Robust estimation of a location parameter, Ann. Math. Statist. 35
#: (1964).
_HUBER = 0.1
_STEPS = 24
#: Convergence: maximum relative change of the best cost.
_CLOSE = 1e-6
#: Maximum relative error of linear interpolation in the middle of an interval; and minimum length of halved intervals.
_STRAIGHT, _SHORT = 1e-4, 1e-3
_GRID = 481


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """Response of predictions to the cost of a parameter.

    Attributes:
        parameter: The parameter.
        costs: Simulated costs, ascending, shape (costs,); 1 is among them.
        makespans: Seconds, shape (costs, cases).
        straight: Whether linear interpolation between one cost and the next was confirmed, shape (costs - 1,).
    """

    parameter: Parameter
    costs: Doubles
    makespans: Doubles
    straight: npt.NDArray[np.bool_]

    def at(self, costs: Doubles) -> Doubles:
        """Return the makespans at other costs by linear interpolation, shape (costs, cases)."""
        return np.stack([np.interp(costs, self.costs, column) for column in self.makespans.T], axis=1)

    def with_simulated(self, cost: float, makespans: Sequence[float]) -> Response:
        """Return the response with one more cost simulated."""
        i = int(np.searchsorted(self.costs, cost))
        off = np.abs(self.at(np.array([cost]))[0] / makespans - 1).max()
        costs, rows = np.insert(self.costs, i, cost), np.insert(self.makespans, i, makespans, axis=0)
        straight = np.insert(self.straight, i, False)
        straight[i - 1 : i + 1] = off <= _STRAIGHT
        return Response(self.parameter, costs, rows, straight)

    def of_cases(self, kept: npt.NDArray[np.bool_]) -> Response:
        """Return the response of some cases."""
        return Response(self.parameter, self.costs, self.makespans[:, kept], self.straight)

    def next_cost(self, measured: Doubles) -> float | None:
        """Return the cost to simulate next, or ``None`` if the best cost is known."""
        best = self.best(measured)
        i = int(np.argmin(np.abs(self.costs / best - 1)))
        if abs(self.costs[i] / best - 1) > _CLOSE:
            return best
        beside = [
            (self.costs[k], self.costs[k + 1])
            for k in (i - 1, i)
            if 0 <= k < len(self.straight) and not self.straight[k]
        ]
        low, high = max(beside, key=lambda each: each[1] / each[0], default=(1.0, 1.0))
        return math.sqrt(low * high) if high / low > 1 + _SHORT else None

    def best(self, measured: Doubles) -> float:
        """Return the cost at which makespans are nearest to measured ones, shape (cases,)."""
        low, high = LEAST, MOST
        # Two passes of a grid: its spacing after the second is below a millionth.
        for _ in range(3):
            grid = np.union1d(np.geomspace(low, high, _GRID), self.costs[(self.costs >= low) & (self.costs <= high)])
            lost = losses(self.at(grid), measured)
            # Among equally good costs, the one nearest to 1.
            i = min(np.flatnonzero(lost <= lost.min() * (1 + 1e-12)), key=lambda k: abs(float(np.log(grid[k]))))
            low, high = float(grid[max(i - 1, 0)]), float(grid[min(i + 1, len(grid) - 1)])
        return float(grid[i])


def losses(makespans: Doubles, measured: Doubles) -> Doubles:
    """Return Huber's loss of the logarithm of predicted over measured, summed over cases (the last axis)."""
    off = np.abs(np.log(makespans / measured))
    loss = np.where(off <= _HUBER, off * off, _HUBER * (2 * off - _HUBER))
    summed: Doubles = loss.sum(axis=-1)
    return summed


def respond(
    cases: Sequence[Case], predicted: Sequence[float], parameters: Sequence[Parameter], makespans: Makespans
) -> list[Response]:
    """Find the best cost of each parameter, with simulations in its neighbourhood.

    Args:
        cases: All cases.
        predicted: Makespans with unchanged parameters.
        parameters: Parameters to scale.
        makespans: Simulates.
    """
    measured = np.array([case.measured for case in cases])
    costs = [list(_FIRST)] * len(parameters)
    first = np.array(sorted([*_FIRST, 1.0]))
    found = [
        Response(each, first, _rows(rows, predicted), np.zeros(len(first) - 1, bool))
        for each, rows in zip(parameters, _simulated(cases, parameters, costs, makespans), strict=True)
    ]
    for _ in range(_STEPS):
        following = {i: cost for i, each in enumerate(found) if (cost := each.next_cost(measured)) is not None}
        if not following:
            break
        rows = _simulated(cases, [parameters[i] for i in following], [[cost] for cost in following.values()], makespans)
        for (i, cost), (row,) in zip(following.items(), rows, strict=True):
            found[i] = found[i].with_simulated(cost, row)
    return found


def _rows(rows: Sequence[Sequence[float]], predicted: Sequence[float]) -> Doubles:
    """Insert the unchanged makespans between those of the first costs."""
    middle = sum(cost < 1 for cost in _FIRST)
    return np.array([*rows[:middle], predicted, *rows[middle:]])


def _simulated(
    cases: Sequence[Case], parameters: Sequence[Parameter], costs: Sequence[Sequence[float]], makespans: Makespans
) -> list[list[list[float]]]:
    """Return the makespan of each case at some costs of each parameter."""
    wanted = [
        (k, each.change(case.where.machine, cost))
        for each, some in zip(parameters, costs, strict=True)
        for cost in some
        for k, case in enumerate(cases)
    ]
    found = iter(makespans(wanted))
    return [[[next(found) for _ in cases] for _ in some] for some in costs]
