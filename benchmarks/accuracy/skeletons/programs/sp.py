"""Implicit steps for five fields, scalar pentadiagonal lines solved in each direction, as in NPB's SP.

Diffusion to fourth order, advection and a reaction, each field by itself: u_t = sum_d (nu u_dd - a_d u_d) - u - u³ + f.
The factor of each direction is a pentadiagonal system for each characteristic field along every line of a cube in
multi-partition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from mpi4py import MPI
from multipartition import lines, put_back
from steady import STEP, SteadyFlow
from suite import main

NU = 0.1
FLOWS = (0.1, 0.07, 0.04)
#: Weights of the second derivative, times the squared distance: of a point, its neighbours, and their neighbours.
CENTRE, NEAR, FAR = 30 / 12, 16 / 12, 1 / 12


@dataclass(frozen=True, slots=True)
class Size:
    """Points along a side of a cell (half those along the cube's), and number of steps."""

    points: int
    iterations: int


SIZES = {
    "S": lambda iterations: Size(6, iterations or 20),
    "B": lambda iterations: Size(28, iterations or 90),
}


class ScalarFlow(SteadyFlow):  # type: ignore[misc] # lies beside it
    """The equation, and the solution of its lines by Gaussian elimination."""

    def __init__(self, comm: MPI.Intracomm, points: int) -> None:
        super().__init__(comm, points, 2)
        # For each point on a line, and two before it: the factors of its two followers, and its value without them.
        self.factors = [np.zeros((3, points + 2, points**2, 5)) for _ in self.fields]

    def tendency(self, field: np.ndarray) -> np.ndarray:
        """Return the time derivative without forcing, at the inner points."""
        inner, spread = self.inside(field), NU / self.distance**2
        result: np.ndarray = -inner * (1 + 3 * CENTRE * spread + inner**2)
        for direction, speed in enumerate(FLOWS):
            first, before, after, last = (self.shifted(field, direction, by) for by in (-2, -1, 1, 2))
            result += spread * (NEAR * (before + after) - FAR * (first + last))
            result -= speed / (2 * self.distance) * (after - before)
        return result

    def solve(self, direction: int) -> None:
        """Solve the factor of a direction for the changes, in place."""
        spread, flow = STEP * NU / self.distance**2, STEP * FLOWS[direction] / (2 * self.distance)
        far, before, after = FAR * spread, -NEAR * spread - flow, flow - NEAR * spread

        def forward(cell: int, given: np.ndarray | None) -> np.ndarray:
            right, state = lines(self.changes[cell], direction), lines(self.inside(self.fields[cell]), direction)
            factors = self.factors[cell]
            factors[:, :2] = 0 if given is None else given.reshape(-1, 3, 2, 5).transpose(1, 2, 0, 3)
            near, second, value = factors
            own = 1 + CENTRE * spread + STEP / 3 * (1 + state**2)
            for k, (here, centre) in enumerate(zip(right, own, strict=True)):
                first = before - far * near[k]
                pivot = 1 / (centre - far * second[k] - first * near[k + 1])
                value[k + 2] = (here - far * value[k] - first * value[k + 1]) * pivot
                near[k + 2] = (after - first * second[k + 1]) * pivot
                second[k + 2] = far * pivot
            return np.ascontiguousarray(factors[:, -2:].transpose(2, 0, 1, 3)).reshape(-1, 30)

        def back(cell: int, given: np.ndarray | None) -> np.ndarray:
            near, second, value = self.factors[cell]
            solved = np.zeros_like(value)
            if given is not None:
                solved[-2:] = given.reshape(-1, 2, 5).transpose(1, 0, 2)
            for k in range(len(solved) - 3, -1, -1):
                solved[k] = value[k + 2] - near[k + 2] * solved[k + 1] - second[k + 2] * solved[k + 2]
            put_back(self.changes[cell], direction, solved[:-2])
            return np.ascontiguousarray(solved[:2].transpose(1, 0, 2)).reshape(-1, 10)

        self.reflect(direction)
        self.part.sweep(direction, forward, back, (30, 10))
        self.reflect(direction)

    def reflect(self, direction: int) -> None:
        """Transform changes to the characteristic fields of a direction, or back; the local state determines how."""
        for field, change in zip(self.fields, self.changes, strict=True):
            normal = self.inside(field).copy()
            normal[..., direction] += 1
            share = (normal * change).sum(axis=-1, keepdims=True) / (normal**2).sum(axis=-1, keepdims=True)
            np.subtract(change, 2 * share * normal, out=change)


def solve(comm: MPI.Intracomm, size: Size) -> tuple[float, float]:
    """Return the final error of the fields, relative to the initial error."""
    return ScalarFlow(comm, size.points).march(size.iterations), max(0.9**size.iterations, 1e-10)


if __name__ == "__main__":
    main(__file__, SIZES, solve)
