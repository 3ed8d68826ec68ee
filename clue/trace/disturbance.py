"""Whether a computer was busy with something else while a program was recorded on it.

CPU time does not count the time for which others have a core, but bursts get longer nonetheless: caches are lost to
them. Waiting alone says nothing: a rank that is blocked yields its core and waits for it again, and ranks of one
recording wait for each other where there are more of them than cores. Nobody else can have kept a rank waiting for
longer than they computed on its cores, though:

    delayed = min(waited for a core, CPU time of all on its cores − CPU time of the recording's own ranks there)

A rank that began later or ended earlier than another is taken to have computed all the rest of the time, as one that
polls in ``MPI_Finalize`` does. So what is found is a lower bound: an idle computer never seems busy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clue.trace.head import RankHead
from clue.trace.parts import HostReading

Doubles = npt.NDArray[np.float64]
#: From such a share of a rank's time on, and so many seconds, it is worth telling.
_TOLD_FROM, _AT_LEAST = 0.05, 0.05
#: Kernels count by ticks. Where ranks keep each other waiting anyway, such a share of the cores' time is not believed.
_MISCOUNTED = 0.1


def delays(hosts: Sequence[str], readings: Sequence[HostReading | None]) -> list[float]:
    """Return for how long others kept each rank from computing, seconds; 0 where its kernel told nothing.

    Args:
        hosts: The computer of each rank.
        readings: What each rank read.
    """
    found = [0.0] * len(hosts)
    groups: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for rank, (host, reading) in enumerate(zip(hosts, readings, strict=True)):
        if reading is not None:
            groups.setdefault((host, reading.cores), []).append(rank)
    for (host, cores), members in groups.items():
        here = [
            rank
            for (other, shared), ranks in groups.items()
            if other == host and not set(cores).isdisjoint(shared)
            for rank in ranks
        ]
        there = [reading for rank in here if (reading := readings[rank]) is not None]
        begin, end, cpu = (np.array([getattr(each, key) for each in there]) for key in ("begin", "end", "cpu"))
        for rank in members:
            if (reading := readings[rank]) is not None:
                found[rank] = _delay(reading, begin, end, cpu)
    return found


def _delay(reading: HostReading, begin: Doubles, end: Doubles, cpu: Doubles) -> float:
    """Return the delay of a rank; the others are all ranks that may use one of its cores, itself included."""
    elsewhere = np.maximum(begin - reading.begin, 0.0) + np.maximum(reading.end - end, 0.0)
    foreign = reading.busy - float((cpu + elsewhere).sum())
    if len(cpu) > len(reading.cores):
        foreign -= _MISCOUNTED * len(reading.cores) * (reading.end - reading.begin)
    return max(min(float(reading.waited), float(foreign)), 0.0)


def largest(ranks: Sequence[RankHead]) -> float:
    """Return the largest share of its time that a rank was delayed; 0 where that is too short to be measured."""
    return max((each.delayed / each.wall for each in ranks if each.delayed >= _AT_LEAST and each.wall > 0), default=0.0)


def about(ranks: Sequence[RankHead]) -> list[str]:
    """Say what a reader of results should know."""
    share = largest(ranks)
    if share < _TOLD_FROM:
        return []
    return [
        f"recorded on a busy computer: other processes kept a rank from computing for {share:.0%} of its time, "
        "so bursts may be too long: record it again when the computer is idle"
    ]
