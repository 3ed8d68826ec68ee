"""The time slice of this computer's scheduler."""

from __future__ import annotations

import os
import sys
import time

from clue.calibration.measurement import Estimate, median_of
from clue.children import running

#: Shortest pause that shows that another process ran, seconds; interrupts are shorter.
_PAUSE = 0.3e-3
#: Smallest number of time slices for an estimate.
_LEAST_TURNS = 5
_BUSY = "while True: pass"


def measure_time_slice(seconds: float = 1.0, confidence: float = 0.95) -> Estimate | None:
    """Measure the time slices of this process on a processor that it shares with a busy one.

    Args:
        seconds: Duration of the measurement.
        confidence: Confidence of the interval of the median.

    Returns:
        The median time slice, seconds; ``None`` if processes cannot be pinned to a processor, or there are no slices.
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
    """Return the times for which this thread ran between pauses, without the first, which had begun before."""
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
