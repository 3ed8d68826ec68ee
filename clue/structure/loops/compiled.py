"""The steps of :mod:`clue.structure.loops.folding` in C++, compiled on first use."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.structure.loops.library import LOOPS
from clue.structure.loops.places import Flat, Place


def fold(symbols: npt.NDArray[np.int32]) -> Place:
    """Return a sequence of symbols as a program of loops, equal to that of the reference implementation.

    Raises:
        NoLibraryError: If there is no library, and none can be made.
    """
    library = LOOPS.load()
    given = np.ascontiguousarray(symbols, np.int32)
    folded, sizes = ctypes.c_void_p(), np.zeros(2, np.int64)
    kinds = int(given.max()) + 1 if len(given) else 0
    _done(
        library.clue_fold(
            _address(given), ctypes.c_int64(len(given)), ctypes.c_int32(kinds), ctypes.byref(folded), _address(sizes)
        )
    )
    places, counts = sizes.tolist()
    flat = [np.empty(size, np.int64) for size in (places, places, places, counts)]
    library.clue_places(folded, *map(_address, flat))
    library.clue_release(folded)
    return Flat(*flat).tree()


def number(first: npt.NDArray[np.uint64], second: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """Number pairs of words in the order of first appearance, shape (pairs,).

    Raises:
        NoLibraryError: If there is no library, and none can be made.
    """
    numbers = np.empty(len(first), np.int32)
    given = map(_address, (first, second))
    _done(LOOPS.load().clue_number(*given, ctypes.c_int64(len(first)), _address(numbers)))
    return numbers


def _address(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _done(status: int) -> None:
    if status:
        raise MemoryError
