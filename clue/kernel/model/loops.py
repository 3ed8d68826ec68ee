"""A program as blocks of ops that ranks go through many times: what need not be written out to be replayed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clue.kernel.model.program import Program

_Integers = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Bursts relative to their means, drawn without putting back (:meth:`clue.models.Distribution.drawn`).

    Attributes:
        seed: At least 0.
        draws: How many are drawn.
        values: Equally likely values.
    """

    seed: int
    draws: int
    values: _Floats


@dataclass(frozen=True, slots=True, eq=False)
class LoopBursts:
    """The bursts of a program in loops: those of a row are a mean times draws from a pool, rounded to nanoseconds.

    Attributes:
        mean: Seconds, shape (rows,).
        first: Draw in the first round, the same.
        each: How many draws later each further round is, the same.
        pool: Number of the pool; -1: no burst; the same.
        pools: The pools.
    """

    mean: _Floats
    first: _Integers
    each: _Integers
    pool: npt.NDArray[np.int32]
    pools: tuple[Pool, ...]


@dataclass(frozen=True, eq=False)
class LoopedProgram:
    """A program as blocks: each rank goes through all of them one after the other, each so many times.

    Attributes:
        program: The blocks, each once, without bursts. Waits name a request by its age: how many the rank has begun
            since, it included. Members of a communicator make the same collective calls in each block.
        times: How often each block is gone through, shape (blocks,).
        bounds: First row of each block of a rank, and the row behind the last; shape (ranks, blocks + 1).
        bursts: Its bursts.
    """

    program: Program
    times: _Integers
    bounds: _Integers
    bursts: LoopBursts

    @cached_property
    def ops(self) -> int:
        """Number of ops of all ranks and rounds."""
        return int((np.diff(self.bounds, axis=1) @ self.times).sum())
