"""Fixed pieces of work whose times compare hosts: during recording (virtual_layer.probe), and at calibration."""

from __future__ import annotations

import platform
from time import thread_time_ns

#: Integers whose product keeps a core busy, but not the memory.
FACTORS = 3**1200, 7**640
#: Bytes of one copy; bytes of the memory from which parts are copied in turn, too large for any cache.
COPIED, MEMORY = 1 << 15, 1 << 25
#: Names of the pieces, in the order of a reading: first the moment of the reading, then the time of each piece.
PIECES = ("core", "memory")
ENTRIES = 1 + len(PIECES)
#: Least time between two readings, as a multiple of the time of a reading.
APART = 100
_ONE, _OTHER = FACTORS


def core_time() -> int:
    """Do the core's piece; returns its CPU time, ns.

    A warm-up round before it brings code and numbers into the caches.
    """
    _ONE * _OTHER, _ONE * _OTHER
    begin = thread_time_ns()
    _ONE * _OTHER, _ONE * _OTHER, _ONE * _OTHER, _ONE * _OTHER
    return thread_time_ns() - begin


def timed_work() -> str:
    """Return the name of the pieces and of the Python that does them: only times of equal work can be compared."""
    return f"integers and copies 1, {platform.python_implementation()} {platform.python_version()}"
