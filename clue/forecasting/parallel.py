"""What parallel routines take on grids of equal processors: pdgemm and pdtrsm (FAST paper, section 5).

Sequential parts are asked of a forecaster or of any function; between processors λ is the latency, and τ the time of an
element: its size over the bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from clue.errors import ForecastError, UsageError
from clue.forecasting.routes import Route
from clue.forecasting.routines import check_size
from clue.forecasting.shipped import OPERATIONS
from clue.machine import SpeedCurve
from clue.units import count_of, format_size

#: Bytes of an element, a number in double precision.
ELEMENT = 8
#: Most processors of a grid.
_MOST = 1 << 16


class Sequential(Protocol):
    """Returns what a sequential routine takes, in seconds."""

    def __call__(self, routine: str, /, **sizes: int) -> float:
        """Return seconds."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of processors.

    Attributes:
        rows: p.
        columns: q.
    """

    rows: int
    columns: int

    @property
    def processors(self) -> int:
        """How many there are."""
        return self.rows * self.columns

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a parallel routine takes on a grid.

    Attributes:
        grid: The grid.
        seconds: All of it.
        compute: What of that sequential parts take.
        communicate: What messages take, and waits for them.
        memory: Bytes of each processor's data, at most.
    """

    grid: Grid
    seconds: float
    compute: float
    communicate: float
    memory: int


@dataclass(frozen=True, slots=True)
class Pdgemm:
    """C = A B: an m × k by a k × n matrix, distributed in turn by blocks of R × R over the grid.

    At each of ⌈k/R⌉ steps a block column of A and a block row of B go along the rows and columns of the grid, by trees,
    and every processor multiplies what it got (equations 1 to 4):

        ⌈k/R⌉ dgemm(⌈m/p⌉, R, ⌈n/q⌉) + (⌈log2 q⌉ m k / p + ⌈log2 p⌉ k n / q) τ + ⌈k/R⌉ (⌈log2 q⌉ + ⌈log2 p⌉) λ

    The broadcast's inverse bandwidth is ⌈log2 q⌉ / p τ, as equation 4 has it; section 4.3.2 sets the ceiling around the
    quotient, by which a broadcast over more rows would take as long.

    Attributes:
        m: Rows of A and C.
        n: Columns of B and C.
        k: Columns of A, rows of B.
        block: R.
    """

    m: int
    n: int
    k: int
    block: int = 64

    def on(self, grid: Grid, dgemm: Sequential, route: Route) -> Estimate:
        """Return what it takes on a grid."""
        p, q, steps = grid.rows, grid.columns, _ceil(self.k, self.block)
        compute = steps * dgemm("dgemm", m=_ceil(self.m, p), n=_ceil(self.n, q), k=self.block)
        along, down = tree(q), tree(p)
        elements = along * self.m * self.k / p + down * self.k * self.n / q
        communicate = elements * ELEMENT / route.bandwidth + steps * (along + down) * route.latency
        return Estimate(grid, compute + communicate, compute, communicate, self.memory(grid))

    def memory(self, grid: Grid) -> int:
        """Return the bytes of the largest processor's part of the three matrices, and of what it gets at each step."""
        m, n = _most(self.m, self.block, grid.rows), _most(self.n, self.block, grid.columns)
        a = m * _most(self.k, self.block, grid.columns)
        b = _most(self.k, self.block, grid.rows) * n
        return ELEMENT * (a + b + m * n + (m + n) * self.block)


@dataclass(frozen=True, slots=True)
class Pdtrsm:
    """X A = B: A is an upper triangular n × n matrix, X and B have m rows (section 5.2, case 2).

    Each of ⌈m/R⌉ block rows of B is solved block by block, in ⌈n/R⌉ steps. Of step i the sum is (equations 6 and 8)

        trsm + (R² τ + λ) + C_b + dgemm                                              on a row of processors
        trsm + (R² τ + λ) + C_b + dgemm_1 + (R min((p-1) R, w_i) τ + λ) + C_u + add   on a grid

    with w_i = R ⌈(n - i R) / (q R)⌉ columns to update, of which dgemm_1 updates min((p-1) R, w_i). C_b and C_u are how
    long the sender waits for the receiver, which may still be updating: by clocks of all processors. On one column
    nothing is broadcast; the copy in its place is left out. At the last step, as the equations have it, a block is
    broadcast, and a message without elements sent, though nothing is left to update.

    Attributes:
        m: Rows of X and B.
        n: Rows and columns of A.
        block: R.
    """

    m: int
    n: int
    block: int = 64

    def on(self, grid: Grid, sequential: Sequential, route: Route) -> Estimate:
        """Return what it takes on a grid."""
        ask = cache(lambda routine, sizes: sequential(routine, **dict(sizes)))

        def take(routine: str, /, **sizes: int) -> float:
            return float(ask(routine, tuple(sizes.items()))) if all(sizes.values()) else 0.0

        rows = _ceil(self.m, self.block)
        compute, communicate = _Solve(self.block, self.n, grid, take, route).run()
        return Estimate(
            grid, rows * (compute + communicate), rows * compute, rows * communicate, self.memory(grid)
        )  # fmt: skip

    def memory(self, grid: Grid) -> int:
        """Return the bytes of the largest processor's part of A and B, and of a block row."""
        n = _most(self.n, self.block, grid.columns)
        return ELEMENT * (
            _most(self.n, self.block, grid.rows) * n + _most(self.m, self.block, grid.rows) * n + self.block * n
        )


class _Solve:
    """Solves one block row, on clocks of all processors."""

    def __init__(self, block: int, n: int, grid: Grid, take: Sequential, route: Route) -> None:
        self._block, self._n, self._grid, self._take, self._route = block, n, grid, take, route
        self._clocks = [[0.0] * grid.columns for _ in range(grid.rows)]

    def run(self) -> tuple[float, float]:
        """Return what computation takes along the critical path, and the rest."""
        grid, block = self._grid, self._block
        compute = 0.0
        solve = self._take("dtrsm", m=block, n=block)
        for i in range(_ceil(self._n, block)):
            width = block * max(0, _ceil(self._n - (i + 1) * block, grid.columns * block))
            first = width if grid.rows == 1 else min((grid.rows - 1) * block, width)
            update, rest = (self._take("dgemm", m=block, n=each, k=block) for each in (first, width - first))
            add = self._take("dgeadd", m=block, n=first) if grid.rows > 1 else 0.0
            row = i % grid.rows
            self._clocks[row][i % grid.columns] += solve
            if grid.columns > 1:
                self._broadcast(row, i % grid.columns)
            for column in range(grid.columns):
                self._clocks[row][column] += update
            if grid.rows > 1:
                self._pass_on(row, first, add, rest)
            compute += solve + update + add
            end = self._clocks[(i + 1) % grid.rows][(i + 1) % grid.columns]
        return compute, end - compute if grid.processors > 1 else 0.0

    def _broadcast(self, row: int, column: int) -> None:
        """Send a solved block around the row: who receives it hands it on, and each waits for the next to be ready."""
        clocks, taken = self._clocks[row], self._route.seconds(self._block**2 * ELEMENT)
        ready = clocks[column]
        for step in range(1, self._grid.columns):
            receiver = (column + step) % self._grid.columns
            ready = clocks[receiver] = max(ready, clocks[receiver]) + taken
            if step == 1:
                clocks[column] = ready

    def _pass_on(self, row: int, columns: int, add: float, rest: float) -> None:
        """Send what is updated first to the next row, which adds it to its own; then update the rest."""
        clocks, below = self._clocks[row], self._clocks[(row + 1) % self._grid.rows]
        taken = self._route.seconds(self._block * columns * ELEMENT)
        for column in range(self._grid.columns):
            at = max(clocks[column], below[column]) + taken
            below[column] = at + add
            clocks[column] = at + rest


def tree(processors: int) -> int:
    """Return the rounds of a broadcast by a tree: ⌈log2 P⌉."""
    return (processors - 1).bit_length()


def grids(processors: int) -> Iterator[Grid]:
    """Yield all grids of up to so many processors.

    Raises:
        UsageError: If there are none, or too many.
    """
    if not 1 <= processors <= _MOST:
        raise UsageError(f"processors must be from 1 to {_MOST:,}, got {processors:,}")
    for rows in range(1, processors + 1):
        for columns in range(1, processors // rows + 1):
            yield Grid(rows, columns)


def ordered(
    routine: Pdgemm | Pdtrsm, processors: int, sequential: Sequential, route: Route, memory: float | None = None
) -> tuple[list[Estimate], int]:
    """Return what a routine takes on every grid of up to so many processors, the quickest first.

    Args:
        routine: With its sizes.
        processors: The most.
        sequential: What sequential routines take on one of them.
        route: Between two of them.
        memory: Bytes that each has; ``None``: enough.

    Returns:
        The estimates, and how many grids were left out for lack of memory.

    Raises:
        UsageError: If sizes or processors are no such numbers.
        ForecastError: If no grid has memory enough.
    """
    name = type(routine).__name__.lower()
    for size in routine.__slots__:
        check_size(f"{name}: {size}", getattr(routine, size))
    every = list(grids(processors))
    fitting = [grid for grid in every if memory is None or routine.memory(grid) <= memory]
    if not fitting:
        least = min(map(routine.memory, every))
        got = f"{format_size(memory or 0)} where the least that any grid needs is {format_size(least)}"
        raise ForecastError(
            f"{name}: memory of a processor must suffice on {count_of(processors, 'processor')}, got {got}"
        )
    ask = cache(lambda routine, sizes: sequential(routine, **dict(sizes)))

    def once(routine: str, /, **sizes: int) -> float:
        return float(ask(routine, tuple(sizes.items())))

    found = [routine.on(grid, once, route) for grid in fitting]
    found.sort(key=lambda each: (each.seconds, each.grid.processors, each.grid.rows))
    return found, len(every) - len(fitting)


def on_rate(rate: float | SpeedCurve) -> Sequential:
    """Return sequential routines that compute at one rate (flop/s), or at one by what they have to do."""

    def take(routine: str, /, **sizes: int) -> float:
        flops = OPERATIONS[routine](**sizes)
        return rate.time(flops) if isinstance(rate, SpeedCurve) else flops / rate

    return take


def _ceil(number: int, by: int) -> int:
    return -(-number // by)


def _most(size: int, block: int, processors: int) -> int:
    """Return the most rows or columns that one of so many processors has, of so many dealt out by blocks in turn."""
    turns, rest = divmod(size, block * processors)
    return turns * block + min(rest, block)
