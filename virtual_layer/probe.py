"""The host's momentary speed: two fixed pieces of work, timed between calls, so that they are in no burst.

A host is not always as fast: another program may use the other half of its core, its clock may change, neighbours may
use its memory. So after some calls, when their rows are written and before the next burst begins, each rank does two
pieces of work and takes down what CPU time they took (:mod:`clue.trace.speed` says what is made of that):

- *core*: products of integers of some 2000 bits. Compiled code of Python itself, so its time depends on nothing that is
  installed; its numbers stay in the first cache, it branches by loops of fixed lengths alone, and it takes no memory
  that grows. It needs all of a core: beside a busy other half it takes 1.7 times as long.
- *memory*: a copy of 32 KiB, each time from another place of 32 MiB on large pages, which no cache has kept.

One round before those that are timed brings code, numbers and the copy back into the caches that the call has cooled.
Readings take a hundredth of the time at most: after one that took t, the next comes 100 t later or after that.
"""

from __future__ import annotations

import mmap
import os
import platform
from array import array
from pathlib import Path
from time import perf_counter_ns, thread_time_ns

from clue.trace.pieces import COPIED, FACTORS, MEMORY

#: Between readings there is so many times the time that one takes.
APART = 100
_ONE, _OTHER = FACTORS
#: In strides of so many copies, so that no prefetcher foresees the next; odd, so that all places are visited.
_STRIDE = 17
#: Readings written at a time.
_PENDING = 1024 * 3
#: Set to 0: no readings. For those whose clock is not that of the host.
VARIABLE = "VIRTUAL_LAYER_PROBE"


class Probe:
    """The readings of one rank: begin since the recording began, then CPU time of the two pieces, ns.

    Attributes:
        due: When the next one should be made, by ``perf_counter_ns``.
        reserved: Bytes of memory that the program would not have taken.
    """

    def __init__(self, path: Path) -> None:
        self.due = 0
        self._readings = array("q")
        self._file: int | None = None
        self._memory = _large_pages() if os.environ.get(VARIABLE) != "0" else None
        self.reserved = 0 if self._memory is None else MEMORY
        if self._memory is None:
            self.due = 2**63
            return
        self._copy = bytearray(COPIED)
        self._at = os.getpid() * COPIED % MEMORY
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)

    @property
    def work(self) -> str:
        """What is timed and by which Python; ``""`` where nothing is."""
        name = f"{platform.python_implementation()} {platform.python_version()}"
        return "" if self._memory is None else f"integers and copies 1, {name}"

    def read(self, origin: int) -> None:
        """Make a reading.

        Raises:
            OSError: If the disk is full.
        """
        memory = self._memory
        assert memory is not None, "without memory no reading is due"
        now, begin = perf_counter_ns(), thread_time_ns()
        self._copy[:] = self._next(memory)
        _ONE * _OTHER, _ONE * _OTHER
        first = thread_time_ns()
        _ONE * _OTHER, _ONE * _OTHER, _ONE * _OTHER, _ONE * _OTHER
        middle = thread_time_ns()
        self._copy[:] = self._next(memory)
        end = thread_time_ns()
        self._readings.extend((now - origin, middle - first, end - middle))
        if len(self._readings) >= _PENDING:
            self.flush()
        self.due = perf_counter_ns() + APART * (thread_time_ns() - begin)

    def _next(self, memory: memoryview) -> memoryview:
        """Return the next place to copy from."""
        at = self._at = (self._at + _STRIDE * COPIED) % MEMORY
        return memory[at : at + COPIED]

    def restart(self) -> None:
        """Forget what was read before the recording began."""
        del self._readings[:]

    def flush(self) -> None:
        """Write what is pending.

        Raises:
            OSError: If the disk is full.
        """
        data = memoryview(self._readings.tobytes())
        del self._readings[:]
        while data and self._file is not None:
            data = data[os.write(self._file, data) :]

    def close(self) -> None:
        """Write what is pending and close."""
        self.due = 2**63
        if self._file is not None:
            try:
                self.flush()
            finally:
                os.close(self._file)
                self._file = None


def _large_pages() -> memoryview | None:
    """Return memory of which every page is there, on large ones if they can be had; ``None`` where there is none."""
    try:
        pages = mmap.mmap(-1, MEMORY, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages.madvise(mmap.MADV_HUGEPAGE)
    except (AttributeError, OSError, ValueError):
        return None
    pages.write(b"\1" * MEMORY)
    return memoryview(pages)
