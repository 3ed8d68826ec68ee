"""Fields on a cube in multi-partition that implicit steps bring to a known steady state: the problem of BT and SP.

Each step copies faces, computes the residual of the equation, and solves one approximate factor for each direction. The
forcing is chosen so that the steady state is known; the steps begin at some distance from it.
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from multipartition import MultiPartition
from suite import total

#: Length of a time step.
STEP = 0.05


def known(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the steady state at points: five fields."""
    return np.stack([0.5 + 0.2 * np.sin(each + 2 * x + y) * np.cos(z - 0.5 * each * x) for each in range(5)], axis=-1)


class SteadyFlow:
    """The fields of a rank's cells, with frames.

    Args:
        comm: Communicator of the ranks that have the cells.
        points: Points along a side of a cell, half those along the cube's.
        width: Width of a frame, in points.
    """

    def __init__(self, comm: MPI.Intracomm, points: int, width: int) -> None:
        self.part, self.width = MultiPartition(comm, points), width
        self.distance = 1 / (2 * points + 1)
        self.fields = [known(*self.part.coordinates(cell, width)) for cell in range(len(self.part.places))]
        self.forcing = [-self.tendency(field) for field in self.fields]
        self.known = [self.inside(field).copy() for field in self.fields]
        self.changes = [np.empty_like(field) for field in self.known]
        for cell, field in enumerate(self.fields):
            x, y, z = (np.sin(np.pi * axis) for axis in self.part.coordinates(cell, 0))
            self.inside(field)[:] += 0.5 * (x * y * z)[..., None]

    def inside(self, field: np.ndarray) -> np.ndarray:
        """Return a cell's points without their frame."""
        within = slice(self.width, -self.width)
        return field[within, within, within]

    def shifted(self, field: np.ndarray, direction: int, by: int) -> np.ndarray:
        """Return the inner points shifted by a number of points in a direction."""
        within = [slice(self.width, -self.width)] * 3
        within[direction] = slice(self.width + by, by - self.width or None)
        return field[tuple(within)]

    def tendency(self, field: np.ndarray) -> np.ndarray:
        """Return the time derivative of a cell's fields without forcing, at the inner points."""
        raise NotImplementedError

    def solve(self, direction: int) -> None:
        """Solve the factor of a direction for the changes, in place."""
        raise NotImplementedError

    def step(self) -> None:
        """Take one step."""
        self.part.copy_faces(self.fields, self.width)
        for field, forcing, change in zip(self.fields, self.forcing, self.changes, strict=True):
            change[:] = STEP * (self.tendency(field) + forcing)
        for direction in range(3):
            self.solve(direction)
        for field, change in zip(self.fields, self.changes, strict=True):
            self.inside(field)[:] += change

    def off(self) -> float:
        """Return the root of the sum of squared errors of the fields of all ranks."""
        pairs = zip(self.fields, self.known, strict=True)
        return float(
            np.sqrt(total(self.part.comm, sum(((self.inside(one) - other) ** 2).sum() for one, other in pairs)))
        )

    def march(self, steps: int) -> float:
        """Take a number of steps; return the final error of the fields, relative to the initial error."""
        first = self.off()
        for _ in range(steps):
            self.step()
        return self.off() / first
