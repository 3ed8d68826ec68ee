"""Symmetric Gauss-Seidel on a grid of columns of a cube, a wavefront through its planes, as in NPB's LU.

Five unknowns at each point, coupled there and with their six neighbours. Ranks are a square in x and y. A sweep takes
the planes one by one: each rank waits for the edges of its neighbours before it, sweeps its part of the plane along
diagonals, and sends its own edges to those behind it, which work on the plane while it continues with the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from mpi4py import MPI
from suite import SIDE, main, total

#: The term added to the diagonal of the Laplacian, and the coupling of the five unknowns at a point.
MASS = 1.0
COUPLING = 0.1 * (np.eye(5, k=1) + np.eye(5, k=-1))


@dataclass(frozen=True, slots=True)
class Size:
    """Points along a side in x and y, planes, and iterations."""

    n: int
    planes: int
    iterations: int


SIZES = {
    "S": lambda iterations: Size(12, 12, iterations or 12),
    "B": lambda iterations: Size(28, 24, iterations or 250),
}


class Part:
    """A rank's columns of the cube; fields have a frame of zeros or neighbours' values: (planes, x, y, 5)."""

    def __init__(self, comm: MPI.Intracomm, size: Size) -> None:
        self.comm, self.n, self.planes = comm, size.n // SIDE, size.planes
        row, column = divmod(comm.rank, SIDE)
        self.begin = row * self.n, column * self.n
        self.north = comm.rank - SIDE if row else MPI.PROC_NULL
        self.south = comm.rank + SIDE if row + 1 < SIDE else MPI.PROC_NULL
        self.west = comm.rank - 1 if column else MPI.PROC_NULL
        self.east = comm.rank + 1 if column + 1 < SIDE else MPI.PROC_NULL
        self.block = (6 + MASS) * np.eye(5) + COUPLING
        self.inverse = np.linalg.inv(self.block)
        width = self.width = self.n + 2
        inside = range(1, self.n + 1)
        # Positions of the points of each diagonal within a plane.
        self.diagonals = [
            np.array([x * width + along - x for x in inside if along - x in inside])
            for along in range(2, 2 * self.n + 1)
        ]
        self.edges = np.zeros((2, self.n, 5))

    def zeros(self) -> np.ndarray:
        """Return a field of zeros."""
        return np.zeros((self.planes + 2, self.width, self.width, 5))

    def exchange(self, field: np.ndarray) -> None:
        """Fill the frame of a field with the neighbours' values: whole faces, one direction after the other."""
        across = np.moveaxis(field, 2, 1)
        faces = (
            (self.south, self.north, field[:, -2], field[:, 0]),
            (self.north, self.south, field[:, 1], field[:, -1]),
            (self.east, self.west, across[:, -2], across[:, 0]),
            (self.west, self.east, across[:, 1], across[:, -1]),
        )
        for there, whence, sent, taken in faces:
            received = np.empty(taken.shape)
            request = None if whence == MPI.PROC_NULL else self.comm.Irecv(received, whence)
            if there != MPI.PROC_NULL:
                self.comm.Send(np.ascontiguousarray(sent), there)
            if request is not None:
                request.Wait()
                taken[:] = received

    def applied(self, field: np.ndarray) -> np.ndarray:
        """Return the operator applied to a field, at the inner points."""
        self.exchange(field)
        inner = field[1:-1, 1:-1, 1:-1]
        product: np.ndarray = inner @ self.block
        for near in (field[:-2, 1:-1, 1:-1], field[2:, 1:-1, 1:-1], field[1:-1, :-2, 1:-1], field[1:-1, 2:, 1:-1]):
            product -= near
        product -= field[1:-1, 1:-1, :-2]
        product -= field[1:-1, 1:-1, 2:]
        return product

    def lower(self, field: np.ndarray) -> None:
        """Solve (D + L) v = field in place, starting from the first plane."""
        for k in range(1, self.planes + 1):
            plane = field[k]
            self._take(self.north, plane[0], self.west, plane[:, 0])
            plane[1:-1, 1:-1] += field[k - 1, 1:-1, 1:-1]
            points = plane.reshape(-1, 5)
            for at in self.diagonals:
                points[at] = (points[at] + points[at - self.width] + points[at - 1]) @ self.inverse
            self._give(self.south, plane[-2], self.east, plane[:, -2])

    def upper(self, field: np.ndarray) -> None:
        """Solve (D + U) z = D field in place, starting from the last plane."""
        for k in range(self.planes, 0, -1):
            plane, beyond = field[k], field[k + 1].reshape(-1, 5)
            self._take(self.south, plane[-1], self.east, plane[:, -1])
            points = plane.reshape(-1, 5)
            for at in reversed(self.diagonals):
                points[at] += (beyond[at] + points[at + self.width] + points[at + 1]) @ self.inverse
            self._give(self.north, plane[1], self.west, plane[:, 1])

    def _take(self, first: int, row: np.ndarray, second: int, column: np.ndarray) -> None:
        for whence, edge, taken in ((first, self.edges[0], row), (second, self.edges[1], column)):
            if whence != MPI.PROC_NULL:
                self.comm.Recv(edge, whence)
                taken[1:-1] = edge

    def _give(self, first: int, row: np.ndarray, second: int, column: np.ndarray) -> None:
        for there, given in ((first, row), (second, column)):
            if there != MPI.PROC_NULL:
                self.comm.Send(np.ascontiguousarray(given[1:-1]), there)


def exact(part: Part) -> np.ndarray:
    """Return the exact solution: waves of a different length for each of the five unknowns."""
    field = part.zeros()
    z, x, y = (np.arange(count) for count in (part.planes, part.n, part.n))
    place = z[:, None, None] / part.planes + (part.begin[0] + x[:, None]) / 7 + (part.begin[1] + y) / 11
    for each in range(5):
        field[1:-1, 1:-1, 1:-1, each] = np.sin((1 + each) * place + each)
    return field


def solve(comm: MPI.Intracomm, size: Size) -> tuple[float, float]:
    """Return the final error of the solution, relative to that of the initial guess, zero."""
    part = Part(comm, size)
    wanted = exact(part)
    right = part.applied(wanted)
    found, correction = part.zeros(), part.zeros()
    inner = slice(1, -1), slice(1, -1), slice(1, -1)
    for _ in range(size.iterations):
        correction[:] = 0
        correction[inner] = right - part.applied(found)
        part.lower(correction)
        for frame in (correction[:, 0], correction[:, -1], correction[:, :, 0], correction[:, :, -1]):
            frame[:] = 0
        part.upper(correction)
        found[inner] += correction[inner]
    off = total(comm, ((found - wanted)[inner] ** 2).sum()) / total(comm, (wanted[inner] ** 2).sum())
    return float(np.sqrt(off)), max(0.6**size.iterations, 1e-12)


if __name__ == "__main__":
    main(__file__, SIZES, solve)
