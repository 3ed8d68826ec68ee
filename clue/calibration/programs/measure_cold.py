"""Time bursts after waits: ``[mpiexec -n RANKS] python -m clue.calibration.programs.measure_cold SETTINGS``.

Each program has a burst whose data fill a good part of a core's own cache, and one of some 40 us. They are timed right
after themselves, and after a wait: the long one tells what a cold cache costs at most, the short one by which share a
burst can take longer. A process by itself sleeps. Ranks work in pairs: one waits for a message that the other sends
when it has computed for a while, as programs do, so that what the message does to the caches counts, too; then they
change places. How long a wait was is measured. Prints by program, size and wait the medians of the wait and of the CPU
time of the burst after it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from itertools import chain
from statistics import median

import numpy as np
from mpi4py import MPI

from clue.calibration.programs.measure_link import put

_Burst = Callable[[], object]
#: Waits for so long, as far as it can; returns how long it was. Seconds.
_Wait = Callable[[float], float]
#: How long a process sleeps, and for how long it computes before it sends; seconds.
WAITS, COMPUTES = (20e-6, 200e-6, 1e-3, 10e-3), (0.0, 50e-6, 300e-6, 1e-3)
_LEAST = 5
_GO, _ANSWER = bytearray(1), bytearray(1024)


def _stencil(size: int) -> _Burst:
    a = np.ones((size, size))
    inner = a.copy()[1:-1, 1:-1]

    def burst() -> None:  # in place: what an allocator does with large arrays is another matter
        np.add(a[2:, 1:-1], a[:-2, 1:-1], out=inner)
        np.add(inner, a[1:-1, 2:], out=inner)
        np.add(inner, a[1:-1, :-2], out=inner)
        np.multiply(inner, 0.25, out=inner)

    return burst


def _product(size: int) -> _Burst:
    a, b = np.full((size, size), 0.5), np.full((size, size), 2.0)
    c = np.empty_like(a)
    return lambda: np.matmul(a, b, out=c)


def _look_ups(count: int) -> _Burst:
    words = {i: str(i) for i in range(8 * count)}
    return lambda: sum(len(words[i * 17 % len(words)]) for i in range(count))


#: By program the burst to tell what waits cost, and a short one, to tell which share of a burst that is at most.
BURSTS: dict[str, tuple[_Burst, _Burst]] = {
    "stencil": (_stencil(240), _stencil(110)),
    "product": (_product(192), _product(96)),
    "look-ups": (_look_ups(2500), _look_ups(400)),
}


def _timed(burst: _Burst, wait: _Wait, meant: float | None) -> tuple[float, float]:
    """Return how long this process waited, and what a burst took then, which had run before."""
    burst()
    burst()
    waited = 0.0 if meant is None else wait(meant)
    begin = time.thread_time_ns()
    burst()
    return waited, (time.thread_time_ns() - begin) * 1e-9


def _asleep(meant: float) -> float:
    begin = time.perf_counter_ns()
    time.sleep(meant)
    return (time.perf_counter_ns() - begin) * 1e-9


def _alone(burst: _Burst, meant: float | None) -> tuple[float, float]:
    """Time a burst of a process that sleeps."""
    return _timed(burst, _asleep, meant)


class _Pair:
    """A rank with the one whose messages it waits for, and which waits for its messages."""

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm, self._other = comm, comm.rank ^ 1
        self._first = comm.rank % 2 == 0

    def sample(self, burst: _Burst, meant: float | None) -> tuple[float, float]:
        """Time a burst, and let the other one time it: before or afterwards."""
        if not self._first and meant is not None:
            self._compute(meant)
        timed = _timed(burst, self._wait, meant)
        if self._first and meant is not None:
            self._compute(meant)
        return timed

    def _wait(self, _meant: float) -> float:
        """Wait for the other's message, which says by itself how long."""
        self._comm.Send(_GO, self._other)
        begin = time.perf_counter_ns()
        self._comm.Recv(_ANSWER, self._other)
        return (time.perf_counter_ns() - begin) * 1e-9

    def _compute(self, meant: float) -> None:
        """Compute for so long, and send what the other waits for."""
        self._comm.Recv(_GO, self._other)
        end = time.perf_counter() + meant
        while time.perf_counter() < end:
            for burst, _ in BURSTS.values():
                burst()
        self._comm.Send(_ANSWER, self._other)


def main() -> None:
    """Measure in turns, so that a disturbance does not hit one wait alone, and print."""
    settings = json.loads(sys.argv[1])
    sample, waits, comm = _alone, WAITS, MPI.COMM_SELF
    if settings["messages"]:
        sample, waits, comm = _Pair(MPI.COMM_WORLD).sample, COMPUTES, MPI.COMM_WORLD
    elif hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    end, turns = time.monotonic() + settings["time"], 0
    cases = [(name, size, wait) for name in BURSTS for size in (0, 1) for wait in (None, *waits)]
    found: list[list[tuple[float, float]]] = [[] for _ in cases]
    while comm.bcast(turns < _LEAST or time.monotonic() < end):
        for (name, size, wait), samples in zip(cases, found, strict=True):
            samples.append(sample(BURSTS[name][size], wait))
        turns += 1
    of_ranks = comm.gather(found)
    if of_ranks is None:  # the first rank has them all
        return
    found = [list(chain(*of_case)) for of_case in zip(*of_ranks, strict=True)]
    rows = []
    for (name, size, _), samples in zip(cases, found, strict=True):
        wait, cpu = map(median, zip(*samples, strict=True))
        rows.append({"program": name, "short": bool(size), "wait": wait, "cpu": cpu})
    put({"result": {"rows": rows}})


if __name__ == "__main__":
    main()
