"""The host's momentary speed: two fixed pieces of work, timed between calls, outside bursts.

A host's speed varies: another program may use the second hardware thread of its core, its clock frequency may change,
other processes may use its memory. After some calls, between writing their rows and the next burst, each rank therefore
does two pieces of work and notes their CPU time (:mod:`clue.trace.speed` uses it):

- *core*: products of integers of about 2000 bits. This is compiled code of Python itself, so its time does not depend
  on installed packages; its numbers stay in the first-level cache, it branches only in loops of fixed length, and its
  memory does not grow. It needs all of a core: if the second hardware thread is busy, it takes 1.7 times as long.
- *memory*: a copy of 32 KiB, each time from another place of 32 MiB on large pages, which no cache has kept.

A warm-up round before the timed rounds brings code, numbers and the copy back into the caches. Readings take at most a
hundredth of the time: after a reading that took t, the next one comes 100 t later at the earliest.
"""

from __future__ import annotations

import mmap
import os
from array import array
from pathlib import Path
from time import perf_counter_ns, thread_time_ns

from clue.trace.pieces import APART, COPIED, MEMORY, core_time, timed_work

#: Stride between copies, in copies, so that no prefetcher foresees the next one; odd, so that all places are visited.
_STRIDE = 17
#: Number of integers that are written at a time, three for each reading.
_PENDING = 1024 * 3
#: Environment variable; 0 turns readings off, for a process whose clock is not the host's.
VARIABLE = "VIRTUAL_LAYER_PROBE"


class Probe:
    """The readings of one rank: each is its time since the recording began, and the CPU times of both pieces, ns.

    Attributes:
        due: When the next reading is due, by ``perf_counter_ns``.
        reserved: Bytes of memory that the program alone would not have taken.
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
        """The work that is timed and the Python that does it; ``""`` if nothing is timed."""
        return "" if self._memory is None else timed_work()

    def read(self, origin: int) -> None:
        """Make a reading.

        Raises:
            OSError: If the disk is full.
        """
        memory = self._memory
        assert memory is not None, "without memory no reading is due"
        now, begin = perf_counter_ns(), thread_time_ns()
        self._copy[:] = self._next(memory)
        core = core_time()
        middle = thread_time_ns()
        self._copy[:] = self._next(memory)
        self._readings.extend((now - origin, core, thread_time_ns() - middle))
        if len(self._readings) >= _PENDING:
            self.flush()
        self.due = perf_counter_ns() + APART * (thread_time_ns() - begin)

    def _next(self, memory: memoryview) -> memoryview:
        """Return the next place to copy from."""
        at = self._at = (self._at + _STRIDE * COPIED) % MEMORY
        return memory[at : at + COPIED]

    def restart(self) -> None:
        """Forget readings from before the start of the recording."""
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
    """Return memory with every page present, on large pages if possible; ``None`` if there is not enough."""
    try:
        pages = mmap.mmap(-1, MEMORY, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages.madvise(mmap.MADV_HUGEPAGE)
    except (AttributeError, OSError, ValueError):
        return None
    pages[:: mmap.PAGESIZE] = b"\1" * (MEMORY // mmap.PAGESIZE)
    return memoryview(pages)
