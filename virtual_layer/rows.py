"""Rows on disk while a program is recorded: written in place, so that a killed rank keeps all its rows.

A file grows window by window; each window is allocated on disk before it is mapped, so that a full disk is an
error at that moment (``OSError``) and never a signal later. An unwritten row reads as op code 0.
"""

from __future__ import annotations

import mmap
import os
import struct
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clue.trace.parts import ROW, offset_of


def window_of(page: int) -> int:
    """Return the bytes of a window for pages of this size: a multiple of nine pages, which contain whole rows."""
    return 9 * page * max((28 << 10) // page, 1)


#: Bytes that are mapped at a time: the memory that recording adds to a rank.
WINDOW = window_of(mmap.ALLOCATIONGRANULARITY)
_MATCHED = struct.Struct("<ii")
_KIND = struct.Struct("<HB")  # flags, op
_PEER, _KIND_AT = offset_of("peer"), offset_of("flags")


class RowFile:
    """The rows of one rank, appended one by one.

    Time-critical callers pack a row into ``window`` at ``at`` and call :meth:`advance` when that is full; others call
    :meth:`append`.

    Attributes:
        window: The part of the file that is mapped.
        at: Position of the next row in the window.
        base: Position of the window in the file.
    """

    __slots__ = ("_descriptor", "at", "base", "window")

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        self.base = -WINDOW
        self.at = WINDOW
        self.window: Any = None

    @property
    def count(self) -> int:
        """Number of rows written."""
        return (self.base + self.at) // ROW.size

    def append(self, *fields: int) -> int:
        """Write a row; return its number.

        Raises:
            OSError: If the disk is full.
        """
        if self.at == WINDOW:
            self.advance()
        ROW.pack_into(self.window, self.at, *fields)
        self.at += ROW.size
        return self.count - 1

    def advance(self) -> None:
        """Map the next window.

        Raises:
            OSError: If the disk is full.
        """
        base = self.base + WINDOW
        os.posix_fallocate(self._descriptor, base, WINDOW)
        window = mmap.mmap(self._descriptor, WINDOW, offset=base)
        if self.window is not None:
            self.window.close()
        self.window, self.base, self.at = window, base, 0

    def complete(self, row: int, peer: int, tag: int) -> None:
        """Fill in the source and tag that a receive matched."""
        self._write(row * ROW.size + _PEER, _MATCHED.pack(peer, tag))

    def kind(self, row: int) -> tuple[int, int]:
        """Return a row's flags and op."""
        flags, op = _KIND.unpack(os.pread(self._descriptor, _KIND.size, row * ROW.size + _KIND_AT))
        return flags, op

    def turn(self, row: int, flags: int, op: int) -> None:
        """Replace a row's flags and op."""
        self._write(row * ROW.size + _KIND_AT, _KIND.pack(flags, op))

    def close(self) -> None:
        """Cut the file to the rows written."""
        rows = self.count
        if self.window is not None:
            self.window.close()
            self.window = None
        os.ftruncate(self._descriptor, rows * ROW.size)
        os.close(self._descriptor)

    def _write(self, offset: int, data: bytes) -> None:
        os.pwrite(self._descriptor, data, offset)


class ExtraFile:
    """Lists that do not fit a row, appended as 64-bit integers."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self._pending = array("q")
        self._written = 0

    def append(self, entries: Sequence[int]) -> int:
        """Add entries; return where they begin.

        Raises:
            OSError: If the disk is full.
        """
        begin = self._written + len(self._pending)
        self._pending.extend(entries)
        if len(self._pending) >= 8192:
            self.flush()
        return begin

    def flush(self) -> None:
        """Write what is pending."""
        data = memoryview(self._pending.tobytes())
        self._written += len(self._pending)
        del self._pending[:]
        while data:
            data = data[os.write(self._descriptor, data) :]

    def close(self) -> None:
        """Write what is pending and close."""
        try:
            self.flush()
        finally:
            os.close(self._descriptor)
