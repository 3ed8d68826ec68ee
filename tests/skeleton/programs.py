"""Programs for tests of skeletons: random ones that a skeleton can repeat, and a pipeline with recorded times."""

from __future__ import annotations

from random import Random

from clue.trace import Op, Trace, TraceBuilder
from clue.trace.sites import Frame, Site
from tests.kernel.random_cases import ProgramMaker

#: Ops that no skeleton repeats.
_REFUSED = {Op.SPAWN, Op.OTHER}


class Repeatable(ProgramMaker):
    """Makes random programs of one world, without intercommunicators and without calls that are not modelled."""

    def plan_world(self, children: int) -> None:
        """Plan no spawned worlds."""

    def connect(self) -> None:
        """Create no intercommunicators."""

    def remote(self) -> None:
        """Add no one-sided operations, which no skeleton repeats."""

    def odds(self) -> None:
        """Add ops that a skeleton may leave out, but none that it must refuse."""
        super().odds()
        for own in self.builder:
            own.rows[:] = [row for row in own.rows if row[-1] not in _REFUSED]


def repeatable(seed: int, steps: int = 40) -> Trace:
    """Return a random program of two to five ranks."""
    random = Random(seed)
    return Repeatable(random, random.choice((2, 3, 4, 5)), ties=False).make(random.randrange(5, steps))


def site(line: int, *loops: int) -> Site:
    """Return a call site at a line of a program, within loops at other lines."""
    return Site((Frame("sweep.py", "main", line, line, loops),))


def pipeline(ranks: int, sweeps: int, stages: int, seconds: float, nbytes: int) -> Trace:
    """Return sweeps of a pipeline: each rank computes after each message of the one before; a barrier ends a sweep.

    The recorded times are those of messages that take no time.
    """
    built = TraceBuilder(ranks, "sweep.py")
    for rank, own in enumerate(built):
        for sweep in range(sweeps):
            begun = sweep * (stages + ranks - 1) * seconds
            for stage in range(stages):
                there = begun + (rank + stage) * seconds
                if rank > 0:
                    own.at(site(20, 10, 12))
                    called = begun if stage == 0 else there
                    own.add(Op.RECV, peer=rank - 1, begin=round(called * 1e9), took=round((there - called) * 1e9))
                own.compute(seconds)
                if rank < ranks - 1:
                    own.at(site(21, 10, 12))
                    own.add(Op.SEND, peer=rank + 1, nbytes=nbytes, begin=round((there + seconds) * 1e9))
            own.at(site(30, 10))
            ended = begun + (rank + stages) * seconds
            own.add(Op.BARRIER, begin=round(ended * 1e9), took=round((ranks - 1 - rank) * seconds * 1e9))
    return built.build()
