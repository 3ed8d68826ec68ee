"""Implicit steps for five coupled fields, lines of 5 x 5 blocks solved in each direction, as in NPB's BT.

Diffusion, advection that mixes the fields, and a reaction: u_t = sum_d (nu u_dd - A_d u_d) - u - u (u.u) + f. The
factor of each direction is a block-tridiagonal system along every line of a cube in multi-partition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from mpi4py import MPI
from multipartition import lines, put_back
from steady import STEP, SteadyFlow
from suite import main

NU = 0.1
#: How the flow in each direction mixes the five fields.
FLOWS = [0.1 * strength * (np.eye(5) + 0.5 * (np.eye(5, k=1) + np.eye(5, k=-1))) for strength in (1.0, 0.7, 0.4)]


@dataclass(frozen=True, slots=True)
class Size:
    """Points along a side of a cell (half those along the cube's), and number of steps."""

    points: int
    iterations: int


SIZES = {
    "S": lambda iterations: Size(4, iterations or 20),
    "B": lambda iterations: Size(10, iterations or 450),
}


class BlockFlow(SteadyFlow):  # type: ignore[misc] # lies beside it
    """The equation, and the solution of its block systems by Thomas' algorithm."""

    def __init__(self, comm: MPI.Intracomm, points: int) -> None:
        super().__init__(comm, points, 1)
        self.factors = [np.empty((points, points**2, 5, 6)) for _ in self.fields]

    def tendency(self, field: np.ndarray) -> np.ndarray:
        """Return the time derivative without forcing, at the inner points."""
        inner = self.inside(field)
        result: np.ndarray = -inner * (1 + (inner**2).sum(axis=-1, keepdims=True))
        for direction, mixing in enumerate(FLOWS):
            before, after = (self.shifted(field, direction, by) for by in (-1, 1))
            result += NU / self.distance**2 * (before - 2 * inner + after)
            result -= (after - before) @ (mixing / (2 * self.distance))
        return result

    def solve(self, direction: int) -> None:
        """Solve the factor of a direction for the changes, in place."""
        spread = STEP * NU / self.distance**2 * np.eye(5)
        flow = STEP / (2 * self.distance) * FLOWS[direction]
        lower, upper = -spread - flow, flow - spread
        own = np.eye(5) * (1 + STEP / 3) + 2 * spread

        def forward(cell: int, given: np.ndarray | None) -> np.ndarray:
            right, state = lines(self.changes[cell], direction), lines(self.inside(self.fields[cell]), direction)
            above, value = np.zeros((right.shape[1], 5, 5)), np.zeros((right.shape[1], 5))
            if given is not None:
                above, value = given[:, :25].reshape(above.shape), given[:, 25:]
            wanted = np.empty((right.shape[1], 5, 6))
            wanted[..., :5] = upper
            for here, u, factors in zip(right, state, self.factors[cell], strict=True):
                block = own + STEP / 3 * u[:, :, None] * u[:, None, :] - lower @ above
                wanted[..., 5] = here - value @ lower.T
                factors[:] = np.linalg.solve(block, wanted)
                above, value = factors[..., :5], factors[..., 5]
            return np.concatenate([above.reshape(-1, 25), value], axis=1)

        def back(cell: int, given: np.ndarray | None) -> np.ndarray:
            factors = self.factors[cell]
            solved = np.empty(factors.shape[:3])
            following = np.zeros(solved.shape[1:]) if given is None else given
            for k in range(len(factors) - 1, -1, -1):
                following = factors[k, ..., 5] - (factors[k, ..., :5] @ following[..., None])[..., 0]
                solved[k] = following
            put_back(self.changes[cell], direction, solved)
            return following

        self.part.sweep(direction, forward, back, (30, 5))


def solve(comm: MPI.Intracomm, size: Size) -> tuple[float, float]:
    """Return the final error of the fields, relative to the initial error."""
    return BlockFlow(comm, size.points).march(size.iterations), max(0.9**size.iterations, 1e-10)


if __name__ == "__main__":
    main(__file__, SIZES, solve)
