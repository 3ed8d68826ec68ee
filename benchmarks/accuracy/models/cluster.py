"""The cluster of Kishimoto and Ichikawa rebuilt: HPL replayed on clue's description, for the paper's runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from benchmarks.accuracy.models.linpack import linpack
from clue.config import load_machine
from clue.kernel import simulate
from clue.machine import Machine, Placement
from clue.models import Configuration, Run, Use
from clue.models.cluster_fit import COMMUNICATE, COMPUTE

FAST, SLOW = "athlon", "pentium-ii"
#: Measured and searched numbers of processors, and of processes on each.
PROCESSES = range(1, 7)
SLOW_PROCESSORS = 8
#: Slowdown of bursts when M processes share a processor, as a share: this times 1 - 1/M. Two processes on the Athlon
#: take 26.1 s at N = 3200 instead of 20.4 (Tables 4 and 9).
SHARED = 0.5


@dataclass(frozen=True, slots=True)
class RunSet:
    """A set of runs from which models are built, as in the paper.

    Attributes:
        name: Its name in the paper.
        sizes: Sizes N.
        processors: P2, numbers of slow processors.
        evaluated: Sizes N at which the models are asked for the best configuration.
        losses: Losses of the paper's choices at these sizes, as shares.
    """

    name: str
    sizes: tuple[int, ...]
    processors: tuple[int, ...]
    evaluated: tuple[int, ...]
    losses: tuple[float, ...]


BASIC = RunSet(
    "Basic",
    (400, 600, 800, 1200, 1600, 2400, 3200, 4800, 6400),
    tuple(range(1, 9)),
    (3200, 4800, 6400, 8000, 9600),
    (0.0, 0.0, 0.036, 0.0, 0.001),
)
NL = RunSet(
    "NL",
    (1600, 3200, 4800, 6400),
    (1, 2, 4, 8),
    (1600, 3200, 4800, 6400, 8000, 9600),
    (0.0, 0.0, 0.0, 0.033, 0.001, 0.043),
)
NS = RunSet(
    "NS",
    (400, 800, 1200, 1600),
    (1, 2, 4, 8),
    (1600, 3200, 4800, 6400, 8000, 9600),
    (0.0, 0.276, 0.286, 0.523, 0.665, 0.818),
)
SETS = (BASIC, NL, NS)


@dataclass
class Cluster:
    """Runs of HPL on the cluster; each run is made only once.

    Attributes:
        seed: Seed of the variation between runs.
    """

    seed: int = 1
    _known: dict[tuple[int, tuple[tuple[str, Use], ...]], Run] = field(default_factory=dict)

    @cached_property
    def machine(self) -> Machine:
        """The cluster. Each slow processor is a node, so that its processes stay on it. The network is the same."""
        shipped = load_machine("kishimoto")
        types = shipped.node_types()
        single = replace(types[SLOW], processors=1, memory_contention={})
        return replace(shipped, nodes=(types[FAST], *[single] * SLOW_PROCESSORS))

    def run(self, size: int, uses: Configuration) -> Run:
        """Return a run: its time, divided into the mean computation of a rank, and the rest."""
        key = size, tuple(sorted(uses.items()))
        if key not in self._known:
            trace = linpack(size, list(_slower(uses)), self.seed)
            result = simulate(trace, self.machine, Placement(tuple(_nodes(uses))), "fast")
            compute = sum(rank.compute for rank in result.ranks) / len(result.ranks)
            parts = {COMPUTE: compute, COMMUNICATE: max(result.makespan - compute, 0.0)}
            self._known[key] = Run(float(size), uses, result.makespan, parts if len(uses) == 1 else {})
        return self._known[key]

    def measured(self, what: RunSet) -> list[Run]:
        """Return the runs of a set, each on one kind of processor alone."""
        return [
            self.run(size, {kind: Use(p, m)})
            for kind, counts in ((FAST, (1,)), (SLOW, what.processors))
            for p in counts
            for m in PROCESSES
            for size in what.sizes
        ]

    def adjusting(self, what: RunSet, processors: Sequence[int]) -> list[Run]:
        """Return the runs on both kinds for the adjustment: the largest size, three processes or more."""
        return [
            self.run(max(what.sizes), {FAST: Use(1, m), SLOW: Use(p)}) for m in PROCESSES if m > 2 for p in processors
        ]


def candidates() -> Iterator[Configuration]:
    """Yield the 62 configurations that the paper searches, with one process on each slow processor."""
    for m in (0, *PROCESSES):
        for p in range(SLOW_PROCESSORS + 1):
            uses: Mapping[str, Use] = {
                **({FAST: Use(1, m)} if m else {}),
                **({SLOW: Use(p)} if p else {}),
            }
            if uses:
                yield uses


def _slower(uses: Configuration) -> Iterator[float]:
    """Yield the slowdown factor of each rank's bursts: processes that share a processor also share its caches."""
    for kind in (FAST, SLOW):
        if kind in uses:
            m = uses[kind].processes
            yield from [1 + SHARED * (1 - 1 / m)] * (uses[kind].processors * m)


def _nodes(uses: Configuration) -> Iterator[int]:
    """Yield the node of each rank: the fast one's ranks first, then those of each slow one side by side."""
    if FAST in uses:
        yield from [0] * uses[FAST].processes
    if SLOW in uses:
        for node in range(1, 1 + uses[SLOW].processors):
            yield from [node] * uses[SLOW].processes
