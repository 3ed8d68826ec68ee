"""Small families of recordings, made by hand: rings whose ranks compute and pass on a row or several parcels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from clue.extrapolation import Family, Made
from clue.progress import Progress, silent
from clue.structure import Structure
from clue.structure.nest import Nest
from clue.trace import Trace, TraceBuilder
from clue.trace.sites import Frame, Site

STEPS = 3
#: A call site in a loop where sizes depend on data, and its name.
IN_LOOP, NAME = Site((Frame("sort.py", "<module>", 7, 0, (6,)),)), "sort.py:7"
SITE = Site((Frame("ring.py", "<module>", 9, 40), Frame("ring.py", "step", 3, 12, (2,))))


def ring(
    size: int, ranks: int, seconds: float = 1e-3, program: str = "ring.py", arguments: Sequence[str] = ()
) -> Trace:
    """Return a trace of some steps: a burst proportional to size^2 / ranks, then a row to the next rank."""
    trace = TraceBuilder(ranks, program)
    for rank in range(ranks):
        trace[rank].at(SITE)
        for _ in range(STEPS):
            trace[rank].compute(seconds * size**2 / ranks)
            trace[rank].sendrecv((rank + 1) % ranks, 8 * size, (rank - 1) % ranks)
    built = trace.build()
    return replace(built, head=replace(built.head, arguments=tuple(arguments) or ("--n", str(size))))


def chance(n: int, ranks: int, count: int) -> list[int]:
    """Return sizes in random order; a third each has 4 n, 8 n and 12 n bytes."""
    return [int(each) for each in np.random.default_rng((n, ranks)).permutation([4 * n, 8 * n, 12 * n] * (count // 3))]


def parcels(n: int, ranks: int) -> Trace:
    """Return a trace whose ranks pass on six parcels each, of random sizes."""
    trace, sizes = TraceBuilder(ranks, "sort.py"), iter(chance(n, ranks, 6 * ranks))
    for rank in range(ranks):
        trace[rank].at(IN_LOOP)
        for _ in range(6):
            trace[rank].compute(1e-4)
            trace[rank].sendrecv((rank + 1) % ranks, next(sizes), (rank - 1) % ranks)
    return trace.build()


def saved(folder: Path, keys: Iterable[tuple[int, int]], name: str = "ring-{size}-{ranks}.clue") -> str:
    """Save a ring's recordings at sizes and numbers of ranks; return the pattern of their names."""
    pattern = str(folder / name)
    for size, ranks in keys:
        ring(size, ranks).save(pattern.replace("{size}", str(size)).replace("{ranks}", str(ranks)))
    return pattern


class Ring:
    """Stands in for inference: generates the ring at any size and number of ranks."""

    #: It has no rules, so that its length cannot be told in advance.
    program, bursts = Structure((), Nest.of(())), ()

    def __init__(self, family: Family, progress: Progress = silent, *_: object) -> None:
        progress("learning rules", 0, 1)
        self.family = family

    def generate(self, size: int, ranks: int) -> Made:
        """Return the trace, a remark, and traces whose bursts take a tenth more and a tenth less."""
        others = tuple(ring(size, ranks, seconds) for seconds in (1.1e-3, 0.9e-3))
        return Made(ring(size, ranks), ("bursts of ring.py:3 differ by 3 %",), others)
