"""Time bursts after waits: ``[mpiexec -n RANKS] python -m clue.calibration.programs.measure_cold SETTINGS``.

Each program has a long burst, whose data fill much of a core's private cache, and a short one of 20 to 40 us. Each is
timed directly after itself and after a wait: the long one shows the full cost of a cold cache, the short one the
share by which a burst can grow. A single process waits by sleeping. Ranks work in pairs: as in real programs, one waits
for a message that the other sends after some computation, so that the message's effect on the caches is included; then
they change roles. The length of each wait is measured. Prints, by program, size and wait, the medians of the wait and
of the CPU time of the burst after it.
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

from clue.calibration.programs.output import put

_Burst = Callable[[], object]
#: Waits for about a given time; returns the actual time. Seconds.
_Wait = Callable[[float], float]
#: Times for which a process sleeps, and for which it computes before it sends; seconds.
WAITS, COMPUTES = (20e-6, 200e-6, 1e-3, 10e-3), (0.0, 50e-6, 300e-6, 1e-3)
_LEAST = 5
_GO, _ANSWER = bytearray(1), bytearray(1024)


def _stencil(size: int) -> _Burst:
    a = np.ones((size, size))
    inner = a.copy()[1:-1, 1:-1]

    def burst() -> None:  # in place, to exclude the allocation of large arrays
        np.add(a[2:, 1:-1], a[:-2, 1:-1], out=inner)
        np.add(inner, a[1:-1, 2:], out=inner)
        np.add(inner, a[1:-1, :-2], out=inner)
        np.multiply(inner, 0.25, out=inner)

    return burst


def _product(size: int) -> _Burst:
    a, b = np.full((size, size), 0.5), np.full((size, size), 2.0)
    c = np.empty_like(a)
    return lambda: np.matmul(a, b, out=c)


def _small_arrays(count: int) -> _Burst:
    arrays = [np.arange(256.0) % (7 + i) for i in range(count)]

    def burst() -> None:  # many calls that each do little
        for each in arrays:
            near = np.diff(each, append=3.0) > 0
            np.concatenate([np.minimum(each[near] + 1, 5.0), each[~near]]).astype(np.int64).sum()

    return burst


def _look_ups(count: int) -> _Burst:
    words = {i: str(i) for i in range(8 * count)}
    return lambda: sum(len(words[i * 17 % len(words)]) for i in range(count))


#: By program: a long burst, for the cost of waits, and a short one, for the largest share of a burst.
BURSTS: dict[str, tuple[_Burst, _Burst]] = {
    "stencil": (_stencil(240), _stencil(110)),
    "product": (_product(192), _product(96)),
    "look-ups": (_look_ups(2500), _look_ups(400)),
    "small arrays": (_small_arrays(12), _small_arrays(2)),
}


def _timed(burst: _Burst, wait: _Wait, meant: float | None) -> tuple[float, float]:
    """Return the length of a wait, and the CPU time of a warm burst after it."""
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
    """A rank and its partner, waiting for each other's messages."""

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm, self._other = comm, comm.rank ^ 1
        self._first = comm.rank % 2 == 0

    def sample(self, burst: _Burst, meant: float | None) -> tuple[float, float]:
        """Time a burst, and let the partner time it before or afterwards."""
        if not self._first and meant is not None:
            self._compute(meant)
        timed = _timed(burst, self._wait, meant)
        if self._first and meant is not None:
            self._compute(meant)
        return timed

    def _wait(self, _meant: float) -> float:
        """Wait for the partner's message; its arrival ends the wait."""
        self._comm.Send(_GO, self._other)
        begin = time.perf_counter_ns()
        self._comm.Recv(_ANSWER, self._other)
        return (time.perf_counter_ns() - begin) * 1e-9

    def _compute(self, meant: float) -> None:
        """Compute for a time, and send the message for which the partner waits."""
        self._comm.Recv(_GO, self._other)
        end = time.perf_counter() + meant
        while time.perf_counter() < end:
            for burst, _ in BURSTS.values():
                burst()
        self._comm.Send(_ANSWER, self._other)


def main() -> None:
    """Measure in turns, so that a disturbance does not affect a single wait, and print."""
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
    if of_ranks is None:  # only the first rank has all samples
        return
    found = [list(chain(*of_case)) for of_case in zip(*of_ranks, strict=True)]
    rows = []
    for (name, size, _), samples in zip(cases, found, strict=True):
        wait, cpu = map(median, zip(*samples, strict=True))
        rows.append({"program": name, "short": bool(size), "wait": wait, "cpu": cpu})
    put({"result": {"rows": rows}})


if __name__ == "__main__":
    main()
