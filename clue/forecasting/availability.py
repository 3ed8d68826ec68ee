"""What of a computer is available at the moment: the share of a core that one more process would get, and memory."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from clue.errors import ForecastError
from clue.execution.room import free_memory

#: How long a computer is watched, and how often.
_WATCHED, _LOOKS = 0.2, 20


@dataclass(frozen=True, slots=True)
class Availability:
    """What of a computer is available.

    Attributes:
        host: Its name.
        processors: How many cores a process may use.
        runnable: Processes that compute or wait for a core, in the mean.
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
    """Return the share of a core that one more process would get beside so many, all of one priority."""
    return min(1.0, processors / (runnable + 1))


def here(host: str | None = None) -> Availability:
    """Return what of this computer is available; takes 0.2 s.

    The processes that want a core are those that the kernel counts as runnable, or what cores are busy, whichever is
    more: a short process is easily missed by looks, and one that waits keeps no core busy.

    Raises:
        ForecastError: If psutil is missing.
    """
    try:
        import psutil  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise ForecastError(
            'psutil must be installed to see the load of a computer: pip install "clue[forecast]"'
        ) from None
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count() or 1
    psutil.cpu_percent()
    waiting = fmean(_looks(_WATCHED))
    busy = psutil.cpu_percent() / 100 * (psutil.cpu_count() or 1)
    runnable = max(waiting, busy)
    memory = free_memory() if Path("/proc/meminfo").exists() else psutil.virtual_memory().available
    return Availability(
        host or platform.node(), processors, runnable, psutil.getloadavg()[0], share(runnable, processors), memory
    )


def _looks(seconds: float) -> list[float]:
    """Return how many other processes were runnable, at each look."""
    found = []
    for _ in range(_LOOKS):
        time.sleep(seconds / _LOOKS)
        found.append(max(0.0, _runnable() - 1))  # this one looks
    return found


def _runnable(loadavg: Path = Path("/proc/loadavg")) -> float:
    """Return how many processes are runnable now; 1, this one, where the kernel does not say."""
    try:
        return float(loadavg.read_text().split()[3].partition("/")[0])
    except (OSError, IndexError, ValueError):
        return 1.0
