"""Programs to make skeletons of: random ones that a skeleton can repeat, and a pipeline with recorded times."""

from __future__ import annotations

from random import Random

from clue.trace import Op, Trace, TraceBuilder
from clue.trace.sites import Frame, Site
from tests.kernel.random_cases import ProgramMaker

#: What no skeleton repeats.
_REFUSED = {Op.SPAWN, Op.OTHER}


class Repeatable(ProgramMaker):
    """Writes random programs of one world, without intercommunicators and calls that are not modelled."""

    def plan_world(self, children: int) -> None:
        """Plan none."""

    def connect(self) -> None:
        """Connect nothing."""

    def odds(self) -> None:
        """Add what may be left out of a program, but nothing that must be refused."""
        super().odds()
        for own in self.builder:
            own.rows[:] = [row for row in own.rows if row[-1] not in _REFUSED]


def repeatable(seed: int, steps: int = 40) -> Trace:
    """Return a random program of two to five ranks."""
    random = Random(seed)
    return Repeatable(random, random.choice((2, 3, 4, 5)), ties=False).make(random.randrange(5, steps))


def site(line: int, *loops: int) -> Site:
    """Return a line of a program, within loops at other lines."""
    return Site((Frame("sweep.py", "main", line, line, loops),))


def pipeline(ranks: int, sweeps: int, stages: int, seconds: float, nbytes: int) -> Trace:
    """Return sweeps of a pipeline, each rank computing after it has heard from the one before; a barrier ends a sweep.

    The times are those of messages that take none.
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
