"""V-cycles of multigrid for Poisson's equation in a cube, with halo exchanges at every level, as in NPB's MG.

The operators are the 27-point ones of NPB's MG, with zeros on the boundary. Points 1 to n - 1 of each direction are
inside. Ranks form a square in the first two directions, so that each has one neighbour in either. A cycle goes from the
finest grid to one of four points per side and back: restrict the residual, smooth, interpolate, compute the new
residual, smooth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from mpi4py import MPI
from suite import SIDE, main, total

#: Weights of a point, its 6 neighbours across faces, 12 across edges and 8 across corners.
OPERATOR = (-8 / 3, 0.0, 1 / 6, 1 / 12)
SMOOTHER = (-3 / 8, 1 / 32, -1 / 64, 0.0)
COARSEST, SWEEPS = 4, 2
MIDDLE, LOW, HIGH = slice(1, -1), slice(None, -2), slice(2, None)


@dataclass(frozen=True, slots=True)
class Size:
    """Points per side, a power of two, and number of cycles."""

    n: int
    iterations: int


SIZES = {
    "S": lambda iterations: Size(32, iterations or 10),
    "B": lambda iterations: Size(64, iterations or 550),
}


class Grid:
    """A rank's part of a grid; fields have a frame of zeros or neighbours' values."""

    def __init__(self, comm: MPI.Intracomm, n: int) -> None:
        self.comm, self.n = comm, n
        self.place = divmod(comm.rank, SIDE)
        self.shape = n // SIDE, n // SIDE, n
        self.partners = comm.rank ^ SIDE, comm.rank ^ 1
        # The faces sent to the neighbour, and received from it, in either divided direction.
        self.ends = [(-2, -1) if place == 0 else (1, 0) for place in self.place]

    def zeros(self) -> np.ndarray:
        """Return a field of zeros."""
        return np.zeros([points + 2 for points in self.shape])

    def exchange(self, field: np.ndarray) -> None:
        """Fill the frame of a field with the neighbours' values; values on the boundary are zero."""
        for direction, (partner, (own, theirs)) in enumerate(zip(self.partners, self.ends, strict=True)):
            faces = np.moveaxis(field, direction, 0)
            if self.place[direction] == 0:
                faces[1] = 0
            received = np.empty_like(faces[theirs], order="C")
            request = self.comm.Irecv(received, partner)
            self.comm.Send(np.ascontiguousarray(faces[own]), partner)
            request.Wait()
            faces[theirs] = received
        field[:, :, 1] = 0

    def stencil(self, field: np.ndarray, weights: tuple[float, ...]) -> np.ndarray:
        """Return the weighted sums over each point and its 26 neighbours, at the inner points."""
        beside = field[LOW, MIDDLE] + field[HIGH, MIDDLE] + field[MIDDLE, LOW] + field[MIDDLE, HIGH]
        across = field[LOW, LOW] + field[LOW, HIGH] + field[HIGH, LOW] + field[HIGH, HIGH]
        own = field[MIDDLE, MIDDLE]
        sums: np.ndarray = weights[0] * own[..., MIDDLE]
        if weights[1]:
            sums += weights[1] * (beside[..., MIDDLE] + own[..., LOW] + own[..., HIGH])
        sums += weights[2] * (across[..., MIDDLE] + beside[..., LOW] + beside[..., HIGH])
        if weights[3]:
            sums += weights[3] * (across[..., LOW] + across[..., HIGH])
        return sums

    def residual(self, field: np.ndarray, right: np.ndarray, result: np.ndarray) -> None:
        """Compute the residual: the right side minus the operator applied to a field."""
        result[1:-1, 1:-1, 1:-1] = right[1:-1, 1:-1, 1:-1] - self.stencil(field, OPERATOR)
        self.exchange(result)

    def smooth(self, field: np.ndarray, residual: np.ndarray) -> None:
        """Add the smoother applied to the residual."""
        field[1:-1, 1:-1, 1:-1] += self.stencil(residual, SMOOTHER)
        self.exchange(field)

    def restrict(self, residual: np.ndarray, coarse: Grid, result: np.ndarray) -> None:
        """Restrict a residual to the coarser grid: every other point, weighted with its neighbours."""
        for direction in range(3):
            fine = np.moveaxis(residual, direction, 0)
            points = len(fine) - 2
            reduced = 0.5 * fine[1 : points + 1 : 2] + 0.25 * (fine[0:points:2] + fine[2 : points + 2 : 2])
            residual = np.moveaxis(reduced, 0, direction)
        # The operator ignores distances: those of the coarser grid are twice as long.
        result[1:-1, 1:-1, 1:-1] = 4 * residual
        coarse.exchange(result)

    def interpolated(self, coarse: np.ndarray) -> np.ndarray:
        """Return a field of the coarser grid interpolated linearly onto this grid, with its frame."""
        for direction in range(3):
            given = np.moveaxis(coarse, direction, 0)
            fine = np.empty((2 * len(given) - 2, *given.shape[1:]))
            fine[1::2] = given[1:]
            fine[0::2] = 0.5 * (given[:-1] + given[1:])
            coarse = np.moveaxis(fine, 0, direction)
        return coarse

    def norm(self, field: np.ndarray) -> float:
        """Return the root of the sum of squares over all ranks."""
        return float(np.sqrt(total(self.comm, (field[1:-1, 1:-1, 1:-1] ** 2).sum())))


def charges(grid: Grid) -> np.ndarray:
    """Return the right side: ten points of 1, and ten of -1."""
    field = grid.zeros()
    first = [place * points for place, points in zip(grid.place, grid.shape, strict=False)]
    random = np.random.default_rng(271828)
    for charge, (x, y, z) in enumerate(random.integers(1, grid.n, (20, 3))):
        x, y = x - first[0], y - first[1]  # noqa: PLW2901 - among the points of this rank
        if 0 <= x < grid.shape[0] and 0 <= y < grid.shape[1]:
            field[1 + x, 1 + y, 1 + z] = 1 - charge % 2 * 2
    return field


def cycle(grids: list[Grid], fields: list[np.ndarray], residuals: list[np.ndarray], right: np.ndarray) -> None:
    """Improve the field of the finest grid, which is the last one, and compute its new residual."""
    for level in range(len(grids) - 1, 0, -1):
        grids[level].restrict(residuals[level], grids[level - 1], residuals[level - 1])
    coarsest = residuals[0].copy()
    fields[0][:] = 0
    for _ in range(SWEEPS):
        grids[0].smooth(fields[0], residuals[0])
        grids[0].residual(fields[0], coarsest, residuals[0])
    finest = len(grids) - 1
    for level in range(1, finest + 1):
        grid, better = grids[level], grids[level].interpolated(fields[level - 1])
        if level == finest:
            fields[level] += better
        else:
            fields[level] = better
        grid.residual(fields[level], right if level == finest else residuals[level], residuals[level])
        grid.smooth(fields[level], residuals[level])
    grids[finest].residual(fields[finest], right, residuals[finest])


def solve(comm: MPI.Intracomm, size: Size) -> tuple[float, float]:
    """Return the final residual, relative to the first one."""
    sides = [COARSEST << level for level in range((size.n // COARSEST).bit_length())]
    grids = [Grid(comm, side) for side in sides]
    fields, residuals = ([grid.zeros() for grid in grids] for _ in range(2))
    right = charges(grids[-1])
    grids[-1].residual(fields[-1], right, residuals[-1])
    first = grids[-1].norm(residuals[-1])
    for _ in range(size.iterations):
        cycle(grids, fields, residuals, right)
    return grids[-1].norm(residuals[-1]) / first, max(0.5**size.iterations, 1e-10)


if __name__ == "__main__":
    main(__file__, SIZES, solve)
