"""Whether a computer was busy with something else while a program was recorded on it.

CPU time does not include the time for which other processes have a core, but bursts get longer nonetheless, because
these processes evict the rank's data from caches. That a rank waits for a core proves nothing by itself: a blocked rank
yields its core and waits for it again, and ranks of one recording wait for each other if they outnumber the cores. But
other processes cannot have kept a rank waiting for longer than they computed on its cores:

    delayed = min(waited for a core, CPU time of all on its cores − CPU time of the recording's own ranks there)

A rank that began later or ended earlier than another one counts as computing during the rest of the time, like a rank
that polls in ``MPI_Finalize``. The result is therefore a lower bound: an idle computer never seems busy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clue.trace.head import RankHead
from clue.trace.parts import HostReading

Doubles = npt.NDArray[np.float64]
#: Smallest delay that is reported: share of a rank's time, and seconds.
_TOLD_FROM, _AT_LEAST = 0.05, 0.05
#: Share of the cores' time that is ignored if ranks keep each other waiting: kernels count ticks, with errors.
_MISCOUNTED = 0.1


def delays(hosts: Sequence[str], readings: Sequence[HostReading | None]) -> list[float]:
    """Return for how long other processes kept each rank from computing, seconds; 0 if its kernel has no counters.

    Args:
        hosts: The computer of each rank.
        readings: The counters that each rank read from its kernel.
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
    """Return the delay of a rank; the arrays cover all ranks that may use one of its cores, itself included."""
    elsewhere = np.maximum(begin - reading.begin, 0.0) + np.maximum(reading.end - end, 0.0)
    foreign = reading.busy - float((cpu + elsewhere).sum())
    if len(cpu) > len(reading.cores):
        foreign -= _MISCOUNTED * len(reading.cores) * (reading.end - reading.begin)
    return max(min(float(reading.waited), float(foreign)), 0.0)


def largest(ranks: Sequence[RankHead]) -> float:
    """Return the largest share of a rank's time for which it was delayed; delays too short to measure count as 0."""
    return max((each.delayed / each.wall for each in ranks if each.delayed >= _AT_LEAST and each.wall > 0), default=0.0)


def about(ranks: Sequence[RankHead]) -> list[str]:
    """Return notes for readers of results."""
    share = largest(ranks)
    if share < _TOLD_FROM:
        return []
    return [
        f"recorded on a busy computer: other processes kept a rank from computing for {share:.0%} of its time, "
        "so bursts may be too long: record it again when the computer is idle"
    ]
