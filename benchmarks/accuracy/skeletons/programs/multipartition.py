"""A cube in cells; each rank has one cell in every slab of each direction: the multi-partition of NPB's BT and SP.

With q² ranks there are q³ cells; rank (i, j) has the cells (c, i + c, j + c), modulo q. So lines can be solved slab by
slab in any direction while all ranks work all the time, and the next cell in a direction always belongs to the same
other rank.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mpi4py import MPI
from suite import SIDE

#: A stage of a sweep. It receives from the previous stage, and returns, an array; None at an end of the lines.
Stage = Callable[[int, "np.ndarray | None"], np.ndarray]


class MultiPartition:
    """A rank's cells.

    Attributes:
        points: Points of a cell's side.
        places: Place of each cell among the slabs, by direction.
    """

    def __init__(self, comm: MPI.Intracomm, points: int) -> None:
        self.comm, self.points = comm, points
        i, j = divmod(comm.rank, SIDE)
        self.places = [(cell, (i + cell) % SIDE, (j + cell) % SIDE) for cell in range(SIDE)]
        steps = (-1, -1), (1, 0), (0, 1)
        self.after = [(i + di) % SIDE * SIDE + (j + dj) % SIDE for di, dj in steps]
        self.before = [(i - di) % SIDE * SIDE + (j - dj) % SIDE for di, dj in steps]

    def cell(self, direction: int, slab: int) -> int:
        """Return the index of the own cell that lies in a slab."""
        return next(cell for cell, place in enumerate(self.places) if place[direction] == slab)

    def coordinates(self, cell: int, width: int) -> list[np.ndarray]:
        """Return the coordinates of a cell's points in the unit cube, with a frame: one array per direction."""
        inside = np.arange(-width, self.points + width)
        distance = 1 / (SIDE * self.points + 1)
        axes = [(1 + inside + slab * self.points) * distance for slab in self.places[cell]]
        return list(np.meshgrid(*axes, indexing="ij", sparse=True))

    def copy_faces(self, fields: list[np.ndarray], width: int) -> None:
        """Fill the frames of all cells with the outer points of their neighbours, in all six directions at once."""
        requests, taken = [], []
        for direction in range(3):
            # First all slabs but the last send, and all but the first receive; then the other way round.
            for to, whence, own, theirs, last, first in (
                (self.after, self.before, slice(-2 * width, -width), slice(None, width), SIDE - 1, 0),
                (self.before, self.after, slice(width, 2 * width), slice(-width, None), 0, SIDE - 1),
            ):
                tag = 2 * direction + (last == 0)
                sent = np.array([np.moveaxis(fields[cell], direction, 0)[own] for cell in self._but(direction, last)])
                faces = [np.moveaxis(fields[cell], direction, 0)[theirs] for cell in self._but(direction, first)]
                received = np.empty((len(faces), *faces[0].shape))
                requests.append(self.comm.Irecv(received, whence[direction], tag))
                requests.append(self.comm.Isend(sent, to[direction], tag))
                taken.append((faces, received))
        MPI.Request.Waitall(requests)
        for faces, received in taken:
            for face, values in zip(faces, received, strict=True):
                face[:] = values

    def _but(self, direction: int, slab: int) -> list[int]:
        """Return the cells of all slabs except one, in order."""
        return [self.cell(direction, each) for each in range(SIDE) if each != slab]

    def sweep(self, direction: int, forward: Stage, back: Stage, lengths: tuple[int, int]) -> None:
        """Solve all lines of a direction slab by slab, forward and then back.

        Args:
            direction: The direction.
            forward: Processes a cell with the array passed on by the previous slab; returns the array to pass on.
            back: The same on the way back.
            lengths: Numbers per line that are passed on, forward and back.
        """
        slabs, ends = range(SIDE), (self.before[direction], self.after[direction])
        self._along(slabs, direction, forward, lengths[0], ends)
        self._along(slabs[::-1], direction, back, lengths[1], ends[::-1])

    def _along(self, slabs: range, direction: int, work: Stage, length: int, ends: tuple[int, ...]) -> None:
        (whence, to), given, sending = ends, None, None
        for slab in slabs:
            if slab != slabs[0]:
                given = np.empty((self.points**2, length))
                self.comm.Irecv(given, whence).Wait()
            handed = work(self.cell(direction, slab), given)
            if sending is not None:
                sending.Wait()
            sending = self.comm.Isend(handed, to) if slab != slabs[-1] else None
        if sending is not None:
            sending.Wait()


def lines(field: np.ndarray, direction: int) -> np.ndarray:
    """Return a copy of a cell's points by lines: (points of a line, lines, unknowns)."""
    moved = np.moveaxis(field, direction, 0)
    return np.ascontiguousarray(moved).reshape(len(moved), -1, field.shape[-1])


def put_back(field: np.ndarray, direction: int, solved: np.ndarray) -> None:
    """Put lines back where they were taken from."""
    moved = np.moveaxis(field, direction, 0)
    moved[:] = solved.reshape(moved.shape)
