"""Run a kernel repeatedly on one processor: ``python -m clue.calibration.programs.measure_kernels SETTINGS``.

======= ================================================================ ======================
kernel  what bounds it                                                    a unit of work
======= ================================================================ ======================
core    the core: products of long integers, as in the recorder's probe   a product
dgemm   vector arithmetic: products of matrices that fit the cache        a flop
cache   the cache: c = a + b over 384 KiB                                 a byte moved
triad   memory bandwidth: a = b + 3 c over 96 MB                           a byte moved
chase   memory latency: a chain of objects scattered over about 100 MB    a step of the chain
======= ================================================================ ======================

Reports that it is ready, waits for a line on its input so that all copies begin together, runs for the requested time,
and prints the units of work per second of CPU time for each repetition that began within that time.
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import time
from collections.abc import Callable

from clue.calibration.programs.output import put
from clue.trace.pieces import FACTORS

#: Prepares a kernel; returns the function of one repetition and its units of work.
_Kernel = Callable[[], tuple[Callable[[], object], float]]

_MATRIX, _VECTOR, _CELLS, _STEPS = 384, 4_000_000, 1_000_000, 100_000
_PRODUCTS, _CACHED, _PASSES = 1000, 16_384, 100


def _core() -> tuple[Callable[[], object], float]:
    one, other = FACTORS

    def repetition() -> None:
        for _ in range(_PRODUCTS):
            one * other

    return repetition, float(_PRODUCTS)


def _cache() -> tuple[Callable[[], object], float]:
    import numpy as np  # noqa: PLC0415

    a, b = np.ones(_CACHED), np.ones(_CACHED)
    c = np.empty_like(a)

    def repetition() -> None:
        for _ in range(_PASSES):
            np.add(a, b, out=c)

    return repetition, 3.0 * 8 * _CACHED * _PASSES


def _dgemm() -> tuple[Callable[[], object], float]:
    import numpy as np  # noqa: PLC0415 - not all kernels need it

    a, b = np.full((_MATRIX, _MATRIX), 0.5), np.full((_MATRIX, _MATRIX), 2.0)
    c = np.empty_like(a)
    return lambda: np.matmul(a, b, out=c), 2.0 * _MATRIX**3


def _triad() -> tuple[Callable[[], object], float]:
    import numpy as np  # noqa: PLC0415

    b, c = np.ones(_VECTOR), np.ones(_VECTOR)
    a = np.empty_like(b)

    def repetition() -> None:
        np.multiply(c, 3.0, out=a)
        np.add(a, b, out=a)

    # Two passes: c read and a written, then a and b read and a written.
    return repetition, 5.0 * 8 * _VECTOR


def _chase() -> tuple[Callable[[], object], float]:
    """Link cells in random order: each step waits for the memory read by the previous one."""
    gc.disable()
    cells: list[list[object]] = [[None] for _ in range(_CELLS)]
    order = list(range(_CELLS))
    random.Random(1).shuffle(order)
    for k in range(_CELLS):
        cells[order[k - 1]][0] = cells[order[k]]
    place = [cells[0]]

    def repetition() -> None:
        cell = place[0]
        for _ in range(_STEPS):
            cell = cell[0]  # type: ignore[assignment]
        place[0] = cell

    return repetition, float(_STEPS)


KERNELS: dict[str, _Kernel] = {
    "core": _core, "dgemm": _dgemm, "cache": _cache, "triad": _triad, "chase": _chase,
}  # fmt: skip


def main() -> None:
    """Prepare, wait, run and print."""
    settings = json.loads(sys.argv[1])
    processor = settings["processor"]
    if processor is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {processor})
    repetition, units = KERNELS[settings["kernel"]]()
    repetition()
    put({"progress": "ready"})
    sys.stdin.readline()
    end = time.monotonic() + settings["time"]
    rates: list[float] = []
    while time.monotonic() < end or not rates:
        start = time.thread_time_ns()
        repetition()
        rates.append(units / max(1e-9, (time.thread_time_ns() - start) * 1e-9))
    put({"result": {"rates": rates}})
    # Other copies may still run: keep the processor busy until they have certainly ended.
    while time.monotonic() < end + settings["longer"]:
        repetition()


if __name__ == "__main__":
    main()
