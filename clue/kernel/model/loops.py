"""A program as blocks of ops that ranks repeat many times: it can be replayed without writing out each repetition."""

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
    """Bursts relative to their means, drawn without replacement (:meth:`clue.models.Distribution.drawn`).

    Attributes:
        seed: At least 0.
        draws: Number of draws.
        values: Equally likely values.
    """

    seed: int
    draws: int
    values: _Floats


@dataclass(frozen=True, slots=True, eq=False)
class LoopBursts:
    """The bursts of a program in loops: a row's bursts are its mean times draws from a pool, rounded to nanoseconds.

    Attributes:
        mean: Seconds, shape (rows,).
        first: Number of the draw in the first round, same shape.
        each: Distance in draws from one round to the next, same shape.
        pool: Number of the pool, -1 for no burst, same shape.
        pools: The pools.
    """

    mean: _Floats
    first: _Integers
    each: _Integers
    pool: npt.NDArray[np.int32]
    pools: tuple[Pool, ...]


@dataclass(frozen=True, eq=False)
class LoopedProgram:
    """A program as blocks: each rank goes through all blocks in order, and repeats each a given number of times.

    Attributes:
        program: The blocks, each once, without bursts. A wait names a request by its age: how many requests the rank
            has begun since, this one included. Members of a communicator make the same collective calls in each block.
        times: Number of repetitions of each block, shape (blocks,).
        bounds: First row of each block of a rank, and the row after the last; shape (ranks, blocks + 1).
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
