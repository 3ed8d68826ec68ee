"""The momentary speed of the core of a live run, by which measured bursts are scaled to the host's best speed.

Recordings are scaled in the same way (:mod:`clue.trace.speed`), but from readings around each burst. Here the kernel's
process takes the readings, as it shares its core with all ranks and runs between their bursts, and later readings are
not known yet: the *reading at a moment* is the median of the last :data:`clue.trace.speed.WINDOW` ones. After a burst
that lasted long, several are taken, and the burst counts as made at the mean of the readings before and after it.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from math import sqrt
from statistics import median_low
from time import perf_counter_ns

import numpy as np

from clue.errors import CacheError
from clue.trace.hosts import best_here
from clue.trace.pieces import APART, core_time
from clue.trace.speed import WINDOW, best_of, longer_by

#: Number of readings at the beginning of a run.
_FIRST = 3 * WINDOW
#: Largest number of readings that tell the run's own best speed: those of five minutes.
_MOST = 100_000


class CoreSpeed:
    """Readings of the core's speed; created on the core on which the run takes turns.

    Attributes:
        note: Why the best speed is that of this run alone, or ``""``.

    Args:
        read: Takes a reading, ns.
        clock: Wall clock, ns.
    """

    def __init__(self, read: Callable[[], int] = core_time, clock: Callable[[], int] = perf_counter_ns) -> None:
        self.note = ""
        self._take, self._clock = read, clock
        self._readings = array("q")
        self._recent: deque[int] = deque(maxlen=WINDOW)
        self._due, self._apart = 0, 0
        self._read(_FIRST)
        self._best = self._own_best()
        try:
            self._best = best_here((self._best, 0.0))[0]
        except CacheError as error:
            self.note = f"bursts are relative to the best speed of this computer at the beginning of the run: {error}"
        self._longer = self._now()

    def longer(self) -> float:
        """Return how much longer the burst that has just ended took than at the host's best speed, at least 1."""
        late = self._clock() - self._due
        if late < 0:
            return self._longer
        self._read(min(WINDOW, 1 + late // self._apart))
        before, self._longer = self._longer, self._now()
        return sqrt(before * self._longer)

    def keep(self) -> None:
        """Cache the best speed of this run, if it is better than the cached one."""
        with suppress(CacheError):
            best_here((self._own_best(), 0.0))

    def _read(self, times: int) -> None:
        begin = self._clock()
        taken = [self._take() for _ in range(times)]
        self._recent.extend(taken)
        if len(self._readings) < _MOST:
            self._readings.extend(taken)
        end = self._clock()
        self._apart = max(APART * (end - begin) // times, 1)
        self._due = end + self._apart

    def _now(self) -> float:
        return longer_by(median_low(self._recent) * 1e-9, self._best)

    def _own_best(self) -> float:
        core = np.array(self._readings, np.int64)
        return best_of([np.column_stack([core, core, core])])[0]
