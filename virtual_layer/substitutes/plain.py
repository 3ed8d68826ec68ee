"""Buffers with contiguous blocks of bytes: they are copied without the MPI library.

Anything else, and anything that may be wrong, is left to the library, which raises its own errors.
"""

from __future__ import annotations

from typing import Any

from virtual_layer.meaning.arguments import split_message

#: Formats of elements that Python can view as bytes.
_FORMATS = frozenset("bBhHiIlLqQfd?")


class PlainBuffers:
    """Views plain buffers as bytes."""

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        self._formats = {code for code in _FORMATS if code in mpi._typedict}
        self._sizes: dict[int, int] = {}

    def look(self, buffer: Any, blocks: int = 1, *, writable: bool = False) -> tuple[memoryview, int] | None:
        """Return the bytes of a buffer and the size of one of its blocks; ``None`` if it is not that simple."""
        count, size = None, 0
        if type(buffer) is list or type(buffer) is tuple:
            try:
                buffer, count, displacement, kind = split_message(self._mpi, buffer)
                size = self._size(kind)
            except (KeyError, TypeError, ValueError):
                return None
            if displacement or not size or not (count is None or type(count) is int):
                return None
        view = self._look(buffer, writable=writable)
        if view is None or not blocks:
            return None
        return _divided(view.cast("B"), blocks, count, size or view.itemsize)

    def _look(self, buffer: Any, *, writable: bool) -> memoryview | None:
        try:
            view = memoryview(buffer)
        except (TypeError, ValueError):  # no buffer, or one without a format: dates of numpy, types of ml_dtypes
            return None
        if view.format not in self._formats or not view.c_contiguous or not view.nbytes:
            return None
        return None if writable and view.readonly else view

    def _size(self, kind: Any) -> int:
        """Return the size of a predefined datatype without gaps, 0 for any other."""
        if kind is None:
            return 0
        size = self._sizes.get(kind.handle)
        if size is None:
            size = kind.Get_size() if kind.is_predefined and (0, kind.Get_size()) == kind.Get_extent() else 0
            if kind.is_predefined:
                self._sizes[kind.handle] = size
        return size


def _divided(view: memoryview, blocks: int, count: int | None, size: int) -> tuple[memoryview, int] | None:
    if count is not None:
        whole = count * size * blocks
        return (view[:whole], count * size) if 0 <= whole <= len(view) else None
    each, rest = divmod(len(view), blocks)
    return None if rest or each % size else (view, each)
