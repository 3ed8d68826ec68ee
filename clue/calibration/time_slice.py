"""How long this computer's scheduler lets a process run before another has its turn."""

from __future__ import annotations

import os
import sys
import time

from clue.calibration.measurement import Estimate, median_of
from clue.children import running

#: A process that is not on its processor for so long has had to wait for its turn; interrupts are shorter, seconds.
_PAUSE = 0.3e-3
#: Fewer turns say nothing.
_LEAST_TURNS = 5
_BUSY = "while True: pass"


def measure_time_slice(seconds: float = 1.0, confidence: float = 0.95) -> Estimate | None:
    """Measure the turns that this process has on a processor beside a busy one.

    Args:
        seconds: How long it is measured.
        confidence: Of the interval of the median.

    Returns:
        The median length of a turn, seconds; ``None`` where processes cannot be kept on a processor, or have no turns.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        with running([sys.executable, "-S", "-c", _BUSY]):
            turns = _turns(seconds)
    finally:
        os.sched_setaffinity(0, allowed)
    return median_of(turns, confidence) if len(turns) >= _LEAST_TURNS else None


def _turns(seconds: float) -> list[float]:
    """Return how long this thread ran each time between two pauses; the first time began before."""
    now = time.perf_counter
    turns = []
    begin = last = now()
    end = begin + seconds
    while last < end:
        this = now()
        if this - last > _PAUSE:
            turns.append(last - begin)
            begin = this
        last = this
    return turns[1:]
