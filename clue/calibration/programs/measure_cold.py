"""Time short bursts after waits: ``python -m clue.calibration.programs.measure_cold SETTINGS``.

Each program has a burst of some 40 us and one of less than 10. They are timed right after themselves, and after this
process has slept; how long it did is measured, because a timer is late. Prints by program, size and wait the medians of
the wait and of the CPU time of the burst after it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from clue.calibration.programs.measure_link import put

_Burst = Callable[[], object]
#: How long it sleeps, seconds.
WAITS = (20e-6, 200e-6, 1e-3, 10e-3)
_LEAST = 5


def _stencil(size: int) -> _Burst:
    a = np.ones((size, size))
    b = a.copy()

    def burst() -> None:
        b[1:-1, 1:-1] = 0.25 * (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2])

    return burst


def _product(size: int) -> _Burst:
    a, b = np.full((size, size), 0.5), np.full((size, size), 2.0)
    c = np.empty_like(a)
    return lambda: np.matmul(a, b, out=c)


def _look_ups(count: int) -> _Burst:
    words = {i: str(i) for i in range(4000)}
    return lambda: sum(len(words[i * 17 % 4000]) for i in range(count))


#: By program the burst to tell what waits cost, and a short one, to tell which share of a burst that is at most.
BURSTS: dict[str, tuple[_Burst, _Burst]] = {
    "stencil": (_stencil(110), _stencil(16)),
    "product": (_product(96), _product(24)),
    "look-ups": (_look_ups(500), _look_ups(50)),
}


def _timed(burst: _Burst, wait: float) -> tuple[float, float]:
    """Return how long this process waited, and what a burst took then, which had run before."""
    burst()
    burst()
    begin = time.perf_counter_ns()
    if wait:
        time.sleep(wait)
    waited = time.perf_counter_ns() - begin if wait else 0
    begin = time.thread_time_ns()
    burst()
    return waited * 1e-9, (time.thread_time_ns() - begin) * 1e-9


def main() -> None:
    """Measure in turns, so that a disturbance does not hit one wait alone, and print."""
    settings = json.loads(sys.argv[1])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    end, turns = time.monotonic() + settings["time"], 0
    cases = [(name, size, wait) for name in BURSTS for size in (0, 1) for wait in (0.0, *WAITS)]
    found: list[list[tuple[float, float]]] = [[] for _ in cases]
    while turns < _LEAST or time.monotonic() < end:
        for (name, size, wait), samples in zip(cases, found, strict=True):
            samples.append(_timed(BURSTS[name][size], wait))
        turns += 1
    rows = []
    for (name, size, _), samples in zip(cases, found, strict=True):
        wait, cpu = map(median, zip(*samples, strict=True))
        rows.append({"program": name, "short": bool(size), "wait": wait, "cpu": cpu})
    put({"result": rows})


if __name__ == "__main__":
    main()
