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
    b = a.copy()

    inner = b[1:-1, 1:-1]

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


class _Pair:
    """A rank with the one whose messages it waits for, and which waits for its messages."""

    def __init__(self) -> None:
        self.comm = MPI.COMM_WORLD
        self.other = self.comm.rank ^ 1
        self._first = self.comm.rank % 2 == 0

    def wait(self, _meant: float) -> float:
        """Wait for the other's message."""
        self.comm.Send(_GO, self.other)
        begin = time.perf_counter_ns()
        self.comm.Recv(_ANSWER, self.other)
        return (time.perf_counter_ns() - begin) * 1e-9

    def computes(self, meant: float) -> None:
        """Compute for so long, and send what the other waits for."""
        self.comm.Recv(_GO, self.other)
        end = time.perf_counter() + meant
        while time.perf_counter() < end:
            for burst, _ in BURSTS.values():
                burst()
        self.comm.Send(_ANSWER, self.other)

    def sample(self, burst: _Burst, meant: float | None) -> tuple[float, float]:
        """Time a burst, and let the other one time it: before or afterwards."""
        if not self._first and meant is not None:
            self.computes(meant)
        timed = _timed(burst, self.wait, meant)
        if self._first and meant is not None:
            self.computes(meant)
        return timed

    def goes_on(self, wanted: bool) -> bool:
        """Return what the first rank wants."""
        return bool(self.comm.bcast(wanted))

    def together(self, samples: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return the samples of all ranks, on the first."""
        gathered = self.comm.gather(samples)
        return [sample for each in gathered or () for sample in each]


class _Alone:
    """A process by itself."""

    def __init__(self) -> None:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    def sample(self, burst: _Burst, meant: float | None) -> tuple[float, float]:
        """Time a burst."""
        return _timed(burst, _asleep, meant)

    def goes_on(self, wanted: bool) -> bool:
        """Return what is wanted."""
        return wanted

    def together(self, samples: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return the samples."""
        return samples


def main() -> None:
    """Measure in turns, so that a disturbance does not hit one wait alone, and print."""
    settings = json.loads(sys.argv[1])
    here, waits = (_Pair(), COMPUTES) if settings["messages"] else (_Alone(), WAITS)
    end, turns = time.monotonic() + settings["time"], 0
    cases = [(name, size, wait) for name in BURSTS for size in (0, 1) for wait in (None, *waits)]
    found: list[list[tuple[float, float]]] = [[] for _ in cases]
    while here.goes_on(turns < _LEAST or time.monotonic() < end):
        for (name, size, wait), samples in zip(cases, found, strict=True):
            samples.append(here.sample(BURSTS[name][size], wait))
        turns += 1
    found = [here.together(samples) for samples in found]
    if not all(found):  # the first rank has them all
        return
    rows = []
    for (name, size, _), samples in zip(cases, found, strict=True):
        wait, cpu = map(median, zip(*samples, strict=True))
        rows.append({"program": name, "short": bool(size), "wait": wait, "cpu": cpu})
    put({"result": {"rows": rows}})


if __name__ == "__main__":
    main()
