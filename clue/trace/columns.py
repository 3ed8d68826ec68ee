"""Columns of ops: the ops of all ranks of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.trace.ops import COLUMNS, Flag, Op

try:
    from zlib_ng.zlib_ng import crc32  # five times as fast
except ImportError:  # not built for all processors
    from zlib import crc32

#: Largest total size of the columns of a trace in an archive, bytes; they are read into memory.
LARGEST_ARCHIVE = 2 * 10**9


@dataclass(frozen=True, slots=True, eq=False)
class Ops:
    """Ops as columns of equal length (see :mod:`clue.trace.ops`); ``extras`` is shared by all rows of a rank."""

    cpu: npt.NDArray[np.int64]
    begin: npt.NDArray[np.int64]
    took: npt.NDArray[np.int64]
    nbytes: npt.NDArray[np.int64]
    peer: npt.NDArray[np.int32]
    tag: npt.NDArray[np.int32]
    comm: npt.NDArray[np.int32]
    request: npt.NDArray[np.int32]
    extra: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]
    call: npt.NDArray[np.uint16]
    region: npt.NDArray[np.uint16]
    site: npt.NDArray[np.uint16]
    flags: npt.NDArray[np.uint16]
    op: npt.NDArray[np.uint8]
    extras: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.op)

    def __getitem__(self, rows: slice) -> Ops:
        """Return some rows as views, with all of ``extras``."""
        return Ops(**{name: getattr(self, name)[rows] for name, _, _ in COLUMNS}, extras=self.extras)

    def are(self, *kinds: Op) -> npt.NDArray[np.bool_]:
        """Return for each op whether it is of one of these kinds, shape (ops,)."""
        # Subtraction is unsigned: codes below a run's first code wrap to values far above its last.
        return reduce(
            np.bitwise_or, (self.op - first <= others if others else self.op == first for first, others in _runs(kinds))
        )

    def are_first(self) -> npt.NDArray[np.bool_]:
        """Return for each op whether it is the first of its call in MPI, shape (ops,)."""
        return np.asarray((self.flags & Flag.CONTINUED) == 0)


@cache
def _runs(kinds: tuple[Op, ...]) -> tuple[tuple[np.uint8, np.uint8], ...]:
    """Return op codes as runs of consecutive codes: the first code, and the number of codes after it."""
    runs: list[list[int]] = []
    for code in sorted(set(kinds)):
        if runs and code == sum(runs[-1]) + 1:
            runs[-1][1] += 1
        else:
            runs.append([int(code), 0])
    return tuple((np.uint8(first), np.uint8(others)) for first, others in runs)


def within(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return 0, 1, … count - 1 for each count, concatenated: the index of each repetition, shape (sum of counts,)."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def checksum(array: npt.NDArray[Any]) -> int:
    """Return the CRC-32 of a column."""
    return crc32(array.data) if array.size else 0
