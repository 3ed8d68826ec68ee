"""What of a computer is available at the moment: the share of a core that one more process would get, and memory."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from clue.errors import ForecastError
from clue.execution.room import free_memory

#: How long a computer is watched, and how often.
_WATCHED, _LOOKS = 0.2, 10
#: What the kernel tells; and by how much a step of nice changes a process' weight there (sched(7)).
_PROC = Path("/proc")
_STEP = 1.25


@dataclass(frozen=True, slots=True)
class Availability:
    """What of a computer is available.

    Attributes:
        host: Its name.
        processors: How many cores a process may use.
        runnable: Processes that compute or wait for a core, in the mean; each counts by its weight beside a new one.
        load: The kernel's load average of the last minute.
        cpu: The share of a core that one more process would get.
        memory: Bytes that it could get.
    """

    host: str
    processors: int
    runnable: float
    load: float
    cpu: float
    memory: int

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def of(cls, document: Any) -> Availability:
        """Return what a document says.

        Raises:
            ValueError: It is none; KeyError and TypeError, too.
        """
        found = cls(
            str(document["host"]), int(document["processors"]), float(document["runnable"]), float(document["load"]),
            float(document["cpu"]), int(document["memory"]),
        )  # fmt: skip
        if not (0 < found.cpu <= 1 and found.memory >= 0):
            raise ValueError(f"cpu {found.cpu}, memory {found.memory}")
        return found


def share(runnable: float, processors: int) -> float:
    """Return the share of a core that one more process would get beside so many of its weight."""
    return min(1.0, processors / (runnable + 1))


def here(host: str | None = None) -> Availability:
    """Return what of this computer is available; takes 0.2 s.

    Raises:
        ForecastError: If psutil is missing.
    """
    try:
        import psutil  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise ForecastError('load must be told by psutil, got none: pip install "clue[forecast]"') from None
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count() or 1
    if _PROC.is_dir():
        others, memory = fmean(_looks(_WATCHED)), free_memory()
    else:
        others = psutil.cpu_percent(_WATCHED) / 100 * (psutil.cpu_count() or 1)
        memory = psutil.virtual_memory().available
    return Availability(
        host or platform.node(), processors, others, psutil.getloadavg()[0], share(others, processors), memory
    )


def _looks(seconds: float) -> Iterator[float]:
    """Yield how many other processes want a core, at each look."""
    for _ in range(_LOOKS):
        time.sleep(seconds / _LOOKS)
        yield runnable()


def runnable(proc: Path = Path("/proc"), own: int | None = None, nice: int | None = None) -> float:
    """Return how many other threads want a core now, each by its weight: one of nice n counts 1.25^-n of one of nice 0.

    Those that the kernel counts and that cannot be seen here, as of other containers, count 1.

    Args:
        proc: The kernel's own figures.
        own: The process that asks, and is left out; ``None``: this one.
        nice: Of a process that would be new; ``None``: that of this one.
    """
    own = os.getpid() if own is None else own
    nice = os.getpriority(os.PRIO_PROCESS, 0) if nice is None else nice
    seen = [each for process in proc.glob("[0-9]*") if process.name != str(own) for each in _running(process)]
    try:
        counted = int((proc / "loadavg").read_text().split()[3].partition("/")[0]) - 1  # this one looks
    except (OSError, IndexError, ValueError):
        counted = 0
    return sum(_STEP ** (nice - each) for each in seen) + max(0, counted - len(seen))


def _running(process: Path) -> Iterator[int]:
    """Yield the nice value of each thread of a process that wants a core; nothing where it has ended."""
    with suppress(OSError, ValueError, IndexError):
        state, nice, threads = _state(process)
        if threads == 1:
            yield from [nice] * (state == "R")
            return
        for thread in (process / "task").iterdir():
            state, nice, _ = _state(thread)
            yield from [nice] * (state == "R")


def _state(task: Path) -> tuple[str, int, int]:
    """Return a task's state, its nice value, and how many threads its process has (proc(5), stat)."""
    fields = (task / "stat").read_text().rpartition(")")[2].split()
    return fields[0], int(fields[16]), int(fields[17])
