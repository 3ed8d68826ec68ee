"""Ops as columns: what a trace holds of all ranks, whether it is read, built or recorded."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

#: Most bytes of the columns of a trace in an archive, which is read into memory.
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
    flags: npt.NDArray[np.uint16]
    op: npt.NDArray[np.uint8]
    extras: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.op)


def checksum(array: npt.NDArray[Any]) -> int:
    """Return the CRC-32 of a column."""
    return zlib.crc32(array.data) if array.size else 0
