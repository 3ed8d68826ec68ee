"""Parallel routines on grids of processors, by the algorithms of the FAST paper (section 5): pdgemm and pdtrsm.

``grids.py ROUTINE N REPEATS LARGEST`` runs the routine on all grids that have at most as many processors as there are
ranks. It prints a line of JSON: the median seconds by grid, and of a ping-pong between two ranks, with an empty message
and with one of LARGEST bytes. Results are checked. As in ScaLAPACK, buffers are allocated before the run, because fresh
memory costs page faults.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from mpi4py import MPI
from scipy.linalg import blas

BLOCK = 64
#: Messages of a ping-pong, and the size of an empty one, bytes.
TRIPS, EMPTY = 20, 8


class Grid:
    """A grid of p rows and q columns of ranks, row by row."""

    def __init__(self, comm: MPI.Comm, p: int, q: int) -> None:
        self.comm, self.p, self.q = comm, p, q
        self.row, self.column = divmod(comm.rank, q)
        self.along, self.down = comm.Split(self.row), comm.Split(self.column)

    def free(self) -> None:
        """Free the communicators."""
        self.along.Free()
        self.down.Free()


def own(size: int, part: int, parts: int) -> np.ndarray:
    """Return the indices of a part in a block-cyclic distribution."""
    return np.flatnonzero(np.arange(size) // BLOCK % parts == part)


def pdgemm(grid: Grid, a: np.ndarray, b: np.ndarray) -> tuple[Callable[[], None], Callable[[], float]]:
    """Return a function that computes C = A B, and one that returns the error of its result."""
    n = len(a)
    rows, columns = own(n, grid.row, grid.p), own(n, grid.column, grid.q)
    mine_a = np.asfortranarray(a[np.ix_(rows, own(n, grid.column, grid.q))])
    # Rows of blocks are stored contiguously, like columns of blocks, so that both are sent without copying.
    mine_b = [np.asfortranarray(b[i : i + BLOCK, columns]) for i in range(grid.row * BLOCK, n, grid.p * BLOCK)]
    got_a, got_b = np.zeros((len(rows), BLOCK), order="F"), np.zeros((BLOCK, len(columns)), order="F")
    c = np.zeros((len(rows), len(columns)), order="F")

    def run() -> None:
        c[:] = 0.0
        for step in range(n // BLOCK):
            panel_a, panel_b = got_a, got_b
            if step % grid.q == grid.column:
                at = step // grid.q * BLOCK
                panel_a = mine_a[:, at : at + BLOCK]
            if step % grid.p == grid.row:
                panel_b = mine_b[step // grid.p]
            grid.along.Bcast(panel_a, root=step % grid.q)
            grid.down.Bcast(panel_b, root=step % grid.p)
            blas.dgemm(1.0, panel_a, panel_b, 1.0, c, overwrite_c=1)

    return run, lambda: float(np.abs(c[:1] - a[rows[:1]] @ b[:, columns]).max())


def pdtrsm(grid: Grid, a: np.ndarray, b: np.ndarray) -> tuple[Callable[[], None], Callable[[], float]]:
    """Return a function that solves X A = B, and one that returns the error of its result.

    B is a block row, and A is upper triangular. Each row of the grid adds up the contributions of its blocks of A. The
    sums of the columns that are solved next go around the rows, each of which adds its own sum.
    """
    n, (p, q) = len(a), (grid.p, grid.q)
    columns = own(n, grid.column, q)
    upper = np.triu(a) + n * np.eye(n)
    mine = [np.asfortranarray(upper[i : i + BLOCK, columns]) for i in range(0, n, BLOCK)]
    corner = [np.asfortranarray(upper[i : i + BLOCK, i : i + BLOCK]) for i in range(0, n, BLOCK)]
    whole = np.asfortranarray(b[:BLOCK])
    solved = np.zeros((BLOCK, n), order="F")
    below, above = (grid.row + 1) % p, (grid.row - 1) % p
    # All of B starts in the first row of the grid; the sums of the other rows start at zero.
    begin = whole[:, columns] if grid.row == 0 else np.zeros((BLOCK, len(columns)))
    sums, got = np.zeros_like(begin, order="F"), np.zeros((BLOCK, max(1, (p - 1) * BLOCK)), order="F")
    x = np.zeros((BLOCK, BLOCK), order="F")

    steps = [_Step.of(i, columns, p) for i in range(n // BLOCK)]
    # Views are made before the run: in a compiled program they cost nothing.
    now, later = ([_parts(each, sums, mine[i]) for i, each in enumerate(of)] for of in zip(*steps, strict=True))
    blocks = [sums[:, each.now.start - BLOCK : each.now.start] for each in steps]
    arrived = [got[:, : each.now.stop - each.now.start] for each in steps]
    places = [solved[:, i : i + BLOCK] for i in range(0, n, BLOCK)]

    def run() -> None:
        sums[:] = begin
        for i, (next_sums, next_a) in enumerate(now):
            if i % p == grid.row:
                if i % q == grid.column:
                    x[:] = blocks[i]
                    blas.dtrsm(1.0, corner[i], x, side=1, overwrite_b=1)
                    places[i][:] = x
                _around(grid, x, i % q)
                if next_sums.size:
                    blas.dgemm(-1.0, x, next_a, 1.0, next_sums, overwrite_c=1)
                if p > 1:
                    grid.down.Send(next_sums, below)
                    next_sums[:] = 0.0
                rest, rest_a = later[i]
                if rest.size:
                    blas.dgemm(-1.0, x, rest_a, 1.0, rest, overwrite_c=1)
            elif i % p == above:
                grid.down.Recv(arrived[i], above)
                np.add(next_sums, arrived[i], out=next_sums)

    def off() -> float:
        every = np.zeros_like(solved)
        grid.comm.Allreduce(solved, every)
        return float(np.abs(every @ upper - whole).max())

    return run, off


def _around(grid: Grid, x: np.ndarray, root: int) -> None:
    """Send a block around a row: each receiver forwards it."""
    if grid.q > 1:
        place = (grid.column - root) % grid.q
        if place > 0:
            grid.along.Recv(x, (grid.column - 1) % grid.q)
        if place < grid.q - 1:
            grid.along.Send(x, (grid.column + 1) % grid.q)


class _Step(NamedTuple):
    """The own columns still to be solved after a step of pdtrsm: those that are solved next, and the others."""

    now: slice
    later: slice

    @classmethod
    def of(cls, step: int, columns: np.ndarray, p: int) -> _Step:
        """Return the columns for a step, on p rows of the grid."""
        done = int(np.searchsorted(columns, (step + 1) * BLOCK))
        left = len(columns) - done
        until = done + (left if p == 1 else min((p - 1) * BLOCK, left))
        return cls(slice(done, until), slice(until, len(columns)))


def _parts(at: slice, sums: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return some columns of the sums, and the columns of A that contribute to them."""
    return sums[:, at], a[:, at]


def grids(processors: int) -> Iterator[tuple[int, int]]:
    """Yield all grids of up to the given number of processors."""
    yield from ((p, q) for p in range(1, processors + 1) for q in range(1, processors // p + 1))


def ping_pong(comm: MPI.Intracomm, largest: int) -> dict[str, float]:
    """Return the time of a message from one rank to the next in seconds, by message size."""
    found = {}
    for size in (EMPTY, largest):
        buffer, times = np.zeros(size, np.int8), []
        comm.Barrier()
        if comm.rank < 2:
            for _ in range(TRIPS):
                begin = MPI.Wtime()
                if comm.rank == 0:
                    comm.Send(buffer, 1)
                    comm.Recv(buffer, 1)
                else:
                    comm.Recv(buffer, 0)
                    comm.Send(buffer, 0)
                times.append((MPI.Wtime() - begin) / 2)
            found[str(size)] = statistics.median(times)
        comm.Barrier()
    return found


def measured(comm: MPI.Intracomm, routine: str, n: int, repeats: int) -> dict[str, float]:
    """Return the median seconds by grid, on rank 0."""
    random = np.random.default_rng(1)
    a, b = random.random((n, n)), random.random((n, n))
    found: dict[str, float] = {}
    for p, q in grids(comm.size):
        part = comm.Split(comm.rank < p * q)
        if comm.rank < p * q:
            grid = Grid(part, p, q)
            run, off = (pdgemm if routine == "pdgemm" else pdtrsm)(grid, a, b)
            times = []
            for _ in range(repeats + 1):
                part.Barrier()
                begin = MPI.Wtime()
                run()
                times.append(part.allreduce(MPI.Wtime() - begin, MPI.MAX))
            worst = part.allreduce(off(), MPI.MAX)
            if worst > 1e-8 * n:
                sys.exit(f"{routine} on {p}x{q}: result must be within {1e-8 * n:g}, got {worst:g}")
            # The first run is a warm-up.
            found[f"{p}x{q}"] = statistics.median(times[1:])
            grid.free()
        part.Free()
    return found


def main() -> None:
    """Run a routine on all grids."""
    comm, routine, (n, repeats, largest) = MPI.COMM_WORLD, sys.argv[1], map(int, sys.argv[2:5])
    if n % BLOCK:
        sys.exit(f"n must be a multiple of {BLOCK}, got {n}")
    # Recorded figures are of the section between two barriers.
    comm.Barrier()
    times = measured(comm, routine, n, repeats)
    messages = ping_pong(comm, largest) if comm.size > 1 else {}
    comm.Barrier()
    if comm.rank == 0:
        print(json.dumps({"program": routine, "n": n, "grids": times, "messages": messages}), flush=True)


if __name__ == "__main__":
    main()
