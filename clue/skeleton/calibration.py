"""What pieces of work take at the best of the host that recorded an application.

The readings of a trace say what the two pieces of :mod:`clue.trace.pieces` take there. Kernels of skeletons do the same
work; how long one of their pieces takes relative to a reading is measured where the skeleton is made, for some 50 ms:
a ratio, which is much the same on all hosts. Without readings what pieces take here counts.
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

#: Pieces that are timed together, and how often: the least counts.
_PIECES, _TURNS = 40, 25
#: Readings whose median counts.
_READINGS = 9
#: Seconds that a compiler, and what it compiles, may take.
_PATIENCE = 60.0
_FRAME, _TIMING = (Path(__file__).with_name(name) for name in ("frame.c", "timing.c"))


@dataclass(frozen=True, slots=True)
class Pieces:
    """What a piece of each kind of work takes at the best of the host that recorded the application.

    Attributes:
        times: By kind, ns.
        call: What a burst takes beside its pieces, ns.
        source: Where that comes from.
    """

    times: Mapping[str, float]
    call: float
    source: str


def calibrated(trace: Trace) -> Pieces:
    """Return what pieces of work take in a skeleton in Python."""
    times, call = _kernels_here()
    return _there(trace, times, call, "")


def calibrated_c(trace: Trace) -> Pieces:
    """Return what pieces of work take in a skeleton in C: as in Python where there is no compiler."""
    compiled = _compiled_here()
    if compiled is None:
        times, _ = _kernels_here()
        return _there(trace, times, 0.0, "; in C taken to be as long as in Python, as no compiler was there")
    *times_of_kinds, call = compiled
    return _there(trace, dict(zip(KINDS, times_of_kinds, strict=True)), call, "")


def _there(trace: Trace, times: Mapping[str, float], call: float, remark: str) -> Pieces:
    """Return what takes so long here on the host that recorded a trace: what stays in caches as the core does."""
    probe = trace.head.probe
    if probe is None or not all(probe.best):
        return Pieces(times, call, f"timed where this program was made, as the recording has no readings{remark}")
    here = _reading_here()
    core, memory = (best * 1e9 / own for best, own in zip(probe.best, here, strict=True))
    factors = {CORE: core, CACHE: core, MEMORY: memory}
    found = {kind: time * factors[kind] for kind, time in times.items()}
    return Pieces(found, call * core, f"as the recording's readings of the host tell{remark}")


def _kernels_here() -> tuple[dict[str, float], float]:
    """Return what a piece of each kind takes in Python here, and a burst beside, ns."""
    from clue.skeleton import kernels  # noqa: PLC0415 - takes memory

    nothing = repeat(((kernels.core, 0.0), (kernels.memory, 0.0)))
    work = {CORE: kernels.core, MEMORY: kernels.memory, CACHE: kernels.cache}
    times = {kind: _least(partial(kernel, _PIECES)) / _PIECES for kind, kernel in work.items()}

    def bursts() -> None:
        for _ in range(_PIECES):
            kernels.compute(nothing)

    return times, _least(bursts) / _PIECES


def _reading_here() -> tuple[float, float]:
    """Return what a reading of either piece takes here as the recorder makes it, ns."""
    turns = [np.median([_read() for _ in range(_READINGS)], axis=0) for _ in range(_TURNS)]
    core, memory = np.min(turns, axis=0).tolist()
    return core, memory


def _read() -> tuple[int, int]:
    """Return a reading, ns: what ``virtual_layer.probe`` does."""
    from clue.skeleton import kernels  # noqa: PLC0415 - see above

    one, other = kernels.ONE, kernels.OTHER
    kernels.COPY[:] = next(kernels.PLACES)
    one * other, one * other
    first = thread_time_ns()
    one * other, one * other, one * other, one * other
    middle = thread_time_ns()
    kernels.COPY[:] = next(kernels.PLACES)
    return middle - first, thread_time_ns() - middle


def _least(work: Callable[[], object]) -> float:
    """Return the least that some work takes, ns."""
    found = []
    for _ in range(_TURNS):
        begin = perf_counter_ns()
        work()
        found.append(perf_counter_ns() - begin)
    return float(min(found))


def _compiled_here() -> list[float] | None:
    """Return what a piece of each kind takes in C here, and a burst beside, ns; nothing without a compiler."""
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
