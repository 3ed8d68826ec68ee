"""Search, in one dimension for each parameter, for the cost that brings predictions nearest to measured times.

A makespan is nearly a broken line over the cost of a parameter (without contention exactly one, and convex: it is the
largest of sums along paths). So a few simulations of each case determine the values between them. A convex line lies
between the chord of two neighbouring points and the continuations of the chords beside it: the cost is simulated next
at which these are farthest apart, until they agree everywhere. Then the search simulates the best cost of the
interpolation, and repeats until that converges. Where a makespan jumps, as it may where messages change their order,
the intervals on both sides of the best cost are halved until the interpolation holds. All parameters are searched in
step, so that their simulations run together.
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
#: Maximum relative error of linear interpolation beside the best cost, and anywhere.
_STRAIGHT, _NEARLY_STRAIGHT = 1e-4, 1e-3
#: Minimum length of halved intervals.
_SHORT = 1e-3
_GRID = 481


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Makespan of a case over the cost of a parameter.

    Attributes:
        costs: Simulated costs, ascending, shape (costs,), at least three; 1 is among them.
        makespans: Seconds, shape (costs,).
    """

    costs: Doubles
    makespans: Doubles

    def with_simulated(self, cost: float, makespan: float) -> Line:
        """Return the line with one more cost simulated."""
        i = int(np.searchsorted(self.costs, cost))
        return Line(np.insert(self.costs, i, cost), np.insert(self.makespans, i, makespan))

    def unknown(self, i: int) -> tuple[float, float]:
        """Return the error that interpolation may have after cost ``i``, relative to the makespan, and where it is.

        That is how far the chord lies above the continuations of its neighbours, which a convex line never falls
        below; before the first cost, the line is taken as flat, as no makespan falls with a cost.
        """
        (c, d), (low, high) = self.costs[i : i + 2], self.makespans[i : i + 2]
        slopes = np.diff(self.makespans) / np.diff(self.costs)
        before = slopes[i - 1] if i else 0.0
        after = slopes[i + 1] if i + 1 < len(slopes) else math.inf
        at = math.sqrt(c * d)
        if before < after < math.inf:
            meet = (low - high + after * d - before * c) / (after - before)
            at = meet if c < meet < d else at  # they meet elsewhere if the line is not convex
        chord = low + slopes[i] * (at - c)
        off = abs(chord - max(low + before * (at - c), high - after * (d - at)))
        return float(off / chord) if chord > 0 else 0.0, float(at)

    @property
    def next_cost(self) -> float | None:
        """The cost at which least is known of the makespan; ``None`` if interpolation holds everywhere."""
        lengths = self.costs[1:] / self.costs[:-1]
        known = [self.unknown(i) for i in range(len(lengths)) if lengths[i] > 1 + _SHORT]
        off, at = max(known, default=(0.0, 0.0))
        return at if off > _NEARLY_STRAIGHT else None

    def next_beside(self, cost: float) -> float | None:
        """Return the cost to simulate next so that interpolation holds at a cost; ``None`` if it does."""
        i = int(np.argmin(np.abs(self.costs / cost - 1)))
        if abs(self.costs[i] / cost - 1) > _CLOSE:
            return cost
        lengths = self.costs[1:] / self.costs[:-1]
        beside = [k for k in (i - 1, i) if 0 <= k < len(lengths) and lengths[k] > 1 + _SHORT]
        unsure = [k for k in beside if self.unknown(k)[0] > _STRAIGHT]
        if not unsure:
            return None
        k = max(unsure, key=lengths.__getitem__)
        return math.sqrt(self.costs[k] * self.costs[k + 1])


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """Response of predictions to the cost of a parameter.

    Attributes:
        parameter: The parameter.
        lines: Of each case.
    """

    parameter: Parameter
    lines: tuple[Line, ...]

    @property
    def costs(self) -> Doubles:
        """All simulated costs, ascending."""
        return np.unique(np.concatenate([line.costs for line in self.lines]))

    def at(self, costs: Doubles) -> Doubles:
        """Return the makespans at other costs by linear interpolation, shape (costs, cases)."""
        return np.stack([np.interp(costs, line.costs, line.makespans) for line in self.lines], axis=1)

    def with_simulated(self, found: Sequence[tuple[int, float, float]]) -> Response:
        """Return the response with more simulated: a case, a cost, and its makespan."""
        lines = list(self.lines)
        for case, cost, makespan in found:
            lines[case] = lines[case].with_simulated(cost, makespan)
        return Response(self.parameter, tuple(lines))

    def of_cases(self, kept: npt.NDArray[np.bool_]) -> Response:
        """Return the response of some cases."""
        lines = (line for line, is_kept in zip(self.lines, kept, strict=True) if is_kept)
        return Response(self.parameter, tuple(lines))

    def next_anywhere(self) -> list[tuple[int, float]]:
        """Return the cost to simulate next of each case whose makespans are not known everywhere."""
        return [(case, cost) for case, line in enumerate(self.lines) if (cost := line.next_cost) is not None]

    def next_at_best(self, measured: Doubles) -> list[tuple[int, float]]:
        """Return the cost to simulate next of each case whose makespan at the best cost is not known."""
        best = self.best(measured)
        return [(case, cost) for case, line in enumerate(self.lines) if (cost := line.next_beside(best)) is not None]

    def best(self, measured: Doubles) -> float:
        """Return the cost at which makespans are nearest to measured ones, shape (cases,)."""
        low, high, known = LEAST, MOST, self.costs
        # Two passes of a grid: its spacing after the second is below a millionth.
        for _ in range(3):
            grid = np.union1d(np.geomspace(low, high, _GRID), known[(known >= low) & (known <= high)])
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
    costs = np.array(sorted([*_FIRST, 1.0]))
    found = [
        Response(each, tuple(Line(costs, np.full(len(costs), seconds)) for seconds in predicted)) for each in parameters
    ]
    wanted = [[(case, cost) for case in range(len(cases)) for cost in _FIRST] for _ in parameters]
    for response, simulated in zip(found, _simulated(cases, found, wanted, makespans), strict=True):
        for case, cost, makespan in simulated:
            response.lines[case].makespans[costs == cost] = makespan
    steps: list[Callable[[Response], list[tuple[int, float]]]] = [
        Response.next_anywhere,
        lambda response: response.next_at_best(measured),
    ]
    for following in steps:
        for _ in range(_STEPS):
            wanted = [following(response) for response in found]
            if not any(wanted):
                break
            more = _simulated(cases, found, wanted, makespans)
            found = [response.with_simulated(each) for response, each in zip(found, more, strict=True)]
    return found


def _simulated(
    cases: Sequence[Case],
    responses: Sequence[Response],
    wanted: Sequence[Sequence[tuple[int, float]]],
    makespans: Makespans,
) -> list[list[tuple[int, float, float]]]:
    """Return the makespan of some cases at some costs of each parameter, with the case and the cost."""
    machines = [
        (case, response.parameter.change(cases[case].where.machine, cost))
        for response, some in zip(responses, wanted, strict=True)
        for case, cost in some
    ]
    found = iter(makespans(machines))
    return [[(case, cost, next(found)) for case, cost in some] for some in wanted]
