"""Times of parallel routines on grids of equal processors: pdgemm and pdtrsm (FAST paper, section 5).

Times of sequential parts come from a forecaster or any other function. λ is the latency between processors, and τ the
time of an element: its size over the bandwidth.
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

#: Size of an element, a double-precision number, bytes.
ELEMENT = 8
#: Maximum number of processors of a grid.
_MOST = 1 << 16


class Sequential(Protocol):
    """Function that returns the time of a sequential routine, seconds."""

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
        """Number of processors."""
        return self.rows * self.columns

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated time of a parallel routine on a grid.

    Attributes:
        grid: The grid.
        seconds: Total time.
        compute: Time of sequential parts.
        communicate: Time of messages, and of waiting for them.
        memory: Maximum memory of a processor's data, bytes.
    """

    grid: Grid
    seconds: float
    compute: float
    communicate: float
    memory: int


@dataclass(frozen=True, slots=True)
class Pdgemm:
    """C = A B: an m × k by a k × n matrix, block-cyclic over the grid with blocks of R × R.

    In each of ⌈k/R⌉ steps a block column of A and a block row of B are broadcast along the rows and columns of the grid
    by trees, and every processor multiplies its parts (equations 1 to 4):

        ⌈k/R⌉ dgemm(⌈m/p⌉, R, ⌈n/q⌉) + (⌈log2 q⌉ m k / p + ⌈log2 p⌉ k n / q) τ + ⌈k/R⌉ (⌈log2 q⌉ + ⌈log2 p⌉) λ

    The broadcast's inverse bandwidth is ⌈log2 q⌉ / p τ, as equation 4 has it; section 4.3.2 sets the ceiling around the
    quotient, by which a broadcast over more rows would take as long.

    The equations count whole blocks and divide rows and columns evenly. So times are too long if a block is larger than
    k, and too short if the grid has more rows or columns than there are blocks.

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
        """Return the estimate of its time and memory on a grid."""
        p, q, steps = grid.rows, grid.columns, _ceil(self.k, self.block)
        compute = steps * dgemm("dgemm", m=_ceil(self.m, p), n=_ceil(self.n, q), k=self.block)
        along, down = tree(q), tree(p)
        elements = along * self.m * self.k / p + down * self.k * self.n / q
        communicate = elements * ELEMENT / route.bandwidth + steps * (along + down) * route.latency
        return Estimate(grid, compute + communicate, compute, communicate, self.memory(grid))

    def memory(self, grid: Grid) -> int:
        """Return the maximum memory of a processor, bytes: its part of the three matrices, and its blocks of a step."""
        m, n = _most(self.m, self.block, grid.rows), _most(self.n, self.block, grid.columns)
        a = m * _most(self.k, self.block, grid.columns)
        b = _most(self.k, self.block, grid.rows) * n
        return ELEMENT * (a + b + m * n + (m + n) * self.block)


@dataclass(frozen=True, slots=True)
class Pdtrsm:
    """X A = B: A is an upper triangular n × n matrix, X and B have m rows (section 5.2, case 2).

    Each of ⌈m/R⌉ block rows of B is solved block by block, in ⌈n/R⌉ steps. Step i takes the sum (equations 6 and 8)

        trsm + (R² τ + λ) + C_b + dgemm                                              on a row of processors
        trsm + (R² τ + λ) + C_b + dgemm_1 + (R min((p-1) R, w_i) τ + λ) + C_u + add   on a grid

    with w_i = R ⌈(n - i R) / (q R)⌉ columns to update; dgemm_1 updates min((p-1) R, w_i) of them. C_b and C_u are
    waits, which follow from the clocks of all processors. In the paper, sender and receiver both wait until the other
    one is ready. Here a message keeps the ports of both busy, for its size over the bandwidth, but not the processors,
    because libraries buffer such messages: a processor updates while it passes a block on, and a block that arrives
    while it updates is there at once afterwards.

    If the grid has one column, nothing is broadcast; the copy made instead is left out. As in the equations, the last
    step broadcasts a block and sends a message without elements, though nothing is left to update. The sum ends with
    the processor that would solve the next block, and there the next block row begins. The routine ends when all
    processors have the last block: the equations add no time for this, but the last hops of the ring take time.

    Attributes:
        m: Rows of X and B.
        n: Rows and columns of A.
        block: R.
    """

    m: int
    n: int
    block: int = 64

    def on(self, grid: Grid, sequential: Sequential, route: Route) -> Estimate:
        """Return the estimate of its time and memory on a grid."""
        ask = cache(lambda routine, sizes: sequential(routine, **dict(sizes)))

        def take(routine: str, /, **sizes: int) -> float:
            return float(ask(routine, tuple(sizes.items()))) if all(sizes.values()) else 0.0

        rows = _ceil(self.m, self.block)
        compute, communicate, last = _Solve(self.block, self.n, grid, take, route).run()
        compute, communicate = rows * compute, rows * communicate + last
        return Estimate(grid, compute + communicate, compute, communicate, self.memory(grid))

    def memory(self, grid: Grid) -> int:
        """Return the maximum memory of a processor, bytes: its part of A and B, and a block row."""
        n = _most(self.n, self.block, grid.columns)
        return ELEMENT * (
            _most(self.n, self.block, grid.rows) * n + _most(self.m, self.block, grid.rows) * n + self.block * n
        )


class _Solve:
    """Solves one block row, on clocks of all processors and of their ports."""

    def __init__(self, block: int, n: int, grid: Grid, take: Sequential, route: Route) -> None:
        self._block, self._n, self._grid, self._take, self._route = block, n, grid, take, route
        self._clocks, self._sends, self._receives = ([0.0] * grid.processors for _ in range(3))

    def run(self) -> tuple[float, float, float]:
        """Return the computation and the rest of the critical path, and how much later the last processor ends."""
        grid, block, clocks = self._grid, self._block, self._clocks
        compute = 0.0
        solve = self._take("dtrsm", m=block, n=block)
        for i in range(_ceil(self._n, block)):
            width = block * max(0, _ceil(self._n - (i + 1) * block, grid.columns * block))
            first = width if grid.rows == 1 else min((grid.rows - 1) * block, width)
            update, rest = (self._take("dgemm", m=block, n=each, k=block) for each in (first, width - first))
            add = self._take("dgeadd", m=block, n=first) if grid.rows > 1 else 0.0
            clocks[self._at(i, i)] += solve
            # The block goes around the row.
            for step in range(grid.columns - 1):
                self._send(self._at(i, i + step), self._at(i, i + step + 1), block)
            for column in range(grid.columns):
                here, below = self._at(i, column), self._at(i + 1, column)
                clocks[here] += update
                if grid.rows > 1:
                    self._send(here, below, first)
                    clocks[below] += add
                    clocks[here] += rest
            compute += solve + update + add
            end = clocks[self._at(i + 1, i + 1)]
        if grid.processors == 1:
            return compute, 0.0, 0.0
        return compute, end - compute, max(clocks) - end

    def _at(self, row: int, column: int) -> int:
        """Return the processor that has a block."""
        return row % self._grid.rows * self._grid.columns + column % self._grid.columns

    def _send(self, source: int, target: int, columns: int) -> None:
        """Send columns of a block row as soon as the source has them and both ports are free."""
        latency, taken = self._route.latency, self._route.seconds(self._block * columns * ELEMENT)
        begin = max(self._clocks[source], self._sends[source], self._receives[target] - latency)
        self._sends[source] = begin + taken - latency
        self._receives[target] = begin + taken
        self._clocks[target] = max(self._clocks[target], begin + taken)


def tree(processors: int) -> int:
    """Return the number of rounds of a tree broadcast: ⌈log2 P⌉."""
    return (processors - 1).bit_length()


def grids(processors: int) -> Iterator[Grid]:
    """Yield all grids with up to a number of processors.

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
    """Return the estimates of a routine on every grid with up to a number of processors, the fastest first.

    Args:
        routine: The routine with its sizes.
        processors: Maximum number of processors.
        sequential: Times of sequential routines on one processor.
        route: Route between two processors.
        memory: Memory of each processor, bytes; ``None``: sufficient.

    Returns:
        The estimates, and how many grids were left out for lack of memory.

    Raises:
        UsageError: If sizes or processors are invalid numbers.
        ForecastError: If no grid has enough memory.
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
    """Return times of sequential routines that compute at a rate (flop/s), constant or by problem size."""

    def take(routine: str, /, **sizes: int) -> float:
        flops = OPERATIONS[routine](**sizes)
        return rate.time(flops) if isinstance(rate, SpeedCurve) else flops / rate

    return take


def _ceil(number: int, by: int) -> int:
    return -(-number // by)


def _most(size: int, block: int, processors: int) -> int:
    """Return the maximum number of rows or columns of a processor in a block-cyclic distribution."""
    turns, rest = divmod(size, block * processors)
    return turns * block + min(rest, block)
