"""The load of this computer while a rank is recorded: counters are read twice, and judged when the trace is packed.

A single rank cannot tell whether other processes disturbed it, because ranks of the same recording also wait for cores
if they outnumber the cores. Each rank therefore states how long it waited for a core, and how much CPU time all
processes used on its cores meanwhile; :mod:`clue.trace.disturbance` knows all ranks and subtracts their time.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

from clue.trace.parts import HostReading

#: The columns of a processor in /proc/stat with CPU time of processes: user, nice, system.
_BUSY = slice(1, 4)


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of the kernel at a moment, all in seconds.

    Attributes:
        at: The moment, by a clock that all processes of the computer share.
        busy: CPU time that all processes used on the cores that this one may use, since the computer started.
        own: CPU time of this process and of its children that have ended.
        waited: How long this process was ready to run but had no core.
    """

    at: float
    busy: float
    own: float
    waited: float

    @classmethod
    def now(cls) -> Counters | None:
        """Read the counters; ``None`` where the kernel does not have them."""
        try:
            waited = int(Path("/proc/self/schedstat").read_text().split()[1]) * 1e-9
            return cls(time.monotonic(), _busy(), _own(), waited)
        except (OSError, IndexError, ValueError):
            return None

    def until(self, end: Counters) -> HostReading:
        """Return the counts from this moment to another one."""
        return HostReading(
            begin=self.at,
            end=end.at,
            cores=tuple(sorted(os.sched_getaffinity(0))),
            busy=end.busy - self.busy,
            cpu=end.own - self.own,
            waited=end.waited - self.waited,
        )


def _busy() -> float:
    names = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    lines = (line.split() for line in Path("/proc/stat").read_text().splitlines() if line.startswith("cpu"))
    ticks = sum(sum(map(int, words[_BUSY])) for words in lines if words[0] in names)
    return ticks / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in each)
