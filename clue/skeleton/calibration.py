"""Times of pieces of work at the best speed of the host that recorded an application.

The readings of a trace give the times of the two pieces of :mod:`clue.trace.pieces` on that host. Kernels of skeletons
do the same work. The ratio of one of their pieces to a reading is measured where the skeleton is made, for about 50 ms;
this ratio is much the same on all hosts. A trace without readings gets the times of pieces measured here.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from time import perf_counter_ns, thread_time_ns

import numpy as np

from clue.native.compiler import find_compiler
from clue.skeleton.work import CACHE, CORE, KINDS, MEMORY
from clue.trace import Trace
from clue.trace.pieces import core_time

#: Pieces timed together, and repetitions of that timing; the minimum counts.
_PIECES, _TURNS = 40, 25
#: Number of readings; their median counts.
_READINGS = 9
#: Timeout of the compiler, and of the compiled program, s.
_PATIENCE = 60.0
_FRAME, _TIMING = (Path(__file__).with_name(name) for name in ("frame.c", "timing.c"))


@dataclass(frozen=True, slots=True)
class Pieces:
    """Time of a piece of each kind of work at the best speed of the host that recorded the application.

    Attributes:
        times: Time of a piece by kind, ns.
        call: Overhead of a burst in addition to its pieces, ns.
        source: Where these times come from.
    """

    times: Mapping[str, float]
    call: float
    source: str


def calibrated(trace: Trace) -> Pieces:
    """Return the times of pieces of work in a skeleton in Python."""
    times, call = _kernels_here()
    return _there(trace, times, call, "")


def calibrated_c(trace: Trace) -> Pieces:
    """Return the times of pieces of work in a skeleton in C; without a compiler, those in Python."""
    compiled = _compiled_here()
    if compiled is None:
        times, _ = _kernels_here()
        return _there(trace, times, 0.0, "; in C taken to be as long as in Python, as no compiler was there")
    *times_of_kinds, call = compiled
    return _there(trace, dict(zip(KINDS, times_of_kinds, strict=True)), call, "")


def _there(trace: Trace, times: Mapping[str, float], call: float, remark: str) -> Pieces:
    """Convert times measured here to the host that recorded a trace; work in caches scales as work of the core does."""
    probe = trace.head.probe
    if probe is None or not all(probe.best):
        return Pieces(times, call, f"timed where this program was made, as the recording has no readings{remark}")
    here = _reading_here()
    core, memory = (best * 1e9 / own for best, own in zip(probe.best, here, strict=True))
    factors = {CORE: core, CACHE: core, MEMORY: memory}
    found = {kind: time * factors[kind] for kind, time in times.items()}
    return Pieces(found, call * core, f"as the recording's readings of the host tell{remark}")


def _kernels_here() -> tuple[dict[str, float], float]:
    """Return the time of a piece of each kind in Python on this host, and the overhead of a burst, ns."""
    from clue.skeleton import kernels  # noqa: PLC0415 - takes memory

    nothing = repeat(((kernels.core, 0.0), (kernels.memory, 0.0)))
    work = {CORE: kernels.core, MEMORY: kernels.memory, CACHE: kernels.cache}
    times = {kind: _least(partial(kernel, _PIECES)) / _PIECES for kind, kernel in work.items()}

    def bursts() -> None:
        for _ in range(_PIECES):
            kernels.compute(nothing)

    return times, _least(bursts) / _PIECES


def _reading_here() -> tuple[float, float]:
    """Return the time of a reading of either piece on this host, measured as the recorder does, ns."""
    turns = [np.median([_read() for _ in range(_READINGS)], axis=0) for _ in range(_TURNS)]
    core, memory = np.min(turns, axis=0).tolist()
    return core, memory


def _read() -> tuple[int, int]:
    """Return a reading, ns, taken as ``virtual_layer.probe`` does."""
    from clue.skeleton import kernels  # noqa: PLC0415 - see above

    kernels.COPY[:] = next(kernels.PLACES)
    core = core_time()
    middle = thread_time_ns()
    kernels.COPY[:] = next(kernels.PLACES)
    return core, thread_time_ns() - middle


def _least(work: Callable[[], object]) -> float:
    """Return the minimum time of some work, ns."""
    found = []
    for _ in range(_TURNS):
        begin = perf_counter_ns()
        work()
        found.append(perf_counter_ns() - begin)
    return float(min(found))


def _compiled_here() -> list[float] | None:
    """Return the time of a piece of each kind in C, and the overhead of a burst, ns; ``None`` without a compiler."""
    compiler = find_compiler()
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "timing.c"), Path(folder, "timing")
        source.write_text(_FRAME.read_text(encoding="utf-8") + _TIMING.read_text(encoding="utf-8"), encoding="utf-8")
        try:
            subprocess.run(
                [*compiler, "-x", "c", "-O2", str(source), "-o", str(program)],
                check=True, capture_output=True, timeout=_PATIENCE,
            )  # fmt: skip
            said = subprocess.run([program], check=True, capture_output=True, text=True, timeout=_PATIENCE).stdout
        except (OSError, subprocess.SubprocessError):
            return None
    return [float(line) for line in said.split()]
