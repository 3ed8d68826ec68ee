"""Wait until this computer is as fast as it can be, and tell whether it was."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.programs.pulse import pulse
from benchmarks.validate.measured import Measured

_Result = TypeVar("_Result")

#: How much longer than at best a fixed piece of work may take. Between ranks it takes up to 0.3 more, for cold caches;
#: where another computer uses a core's other half, it takes 0.8 to 1.2 more.
_MOST_SLOW = 0.4
#: How often the fastest is looked for, and how long a measurement waits, seconds.
_TIMES, _PATIENCE, _PAUSE = 200, 2.0, 0.1


@dataclass(frozen=True, slots=True)
class Quiet:
    """Knows how fast the cores of this computer can be.

    Attributes:
        measured: Keeps that.
    """

    measured: Measured

    @property
    def pulse(self) -> float:
        """What the piece of work takes at best, CPU seconds."""
        return float(self.measured.get("pulse", lambda: min(_slowest_core() for _ in range(_TIMES))))

    def was(self, measured: float) -> bool:
        """Tell whether it was quiet, by what the piece of work took."""
        return measured <= (1 + _MOST_SLOW) * self.pulse

    def when(self, measure: Callable[[], _Result]) -> _Result:
        """Measure when it is quiet; or, if it is not for some seconds, all the same."""
        until = time.monotonic() + _PATIENCE
        while not self.was(_slowest_core()) and time.monotonic() < until:
            time.sleep(_PAUSE)
        return measure()


def _slowest_core() -> float:
    cores = os.sched_getaffinity(0)
    try:
        return max(map(_on, cores))
    finally:
        os.sched_setaffinity(0, cores)


def _on(core: int) -> float:
    os.sched_setaffinity(0, {core})
    return pulse()
