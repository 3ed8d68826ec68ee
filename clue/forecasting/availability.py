"""Current availability of a computer: the share of a core that one more process would get, and free memory."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from clue.errors import ForecastError
from clue.execution.room import address_space, free_for_one, memory_group
from clue.forecasting.values import number, text, whole
from clue.trace.computer import usable_processors

#: Time for which a computer is observed, s, and number of samples.
_WATCHED, _LOOKS = 0.2, 10
#: The kernel's figures; and the factor by which a step of nice changes a process's weight (sched(7)).
_PROC = Path("/proc")
_STEP = 1.25
#: Number of the policy of idle threads, whatever their nice value, and their weight relative to one of nice 0.
_IDLE, _WEIGHT_IDLE = 5, 3 / 1024
#: Bounds of what another host may say of itself: cores, processes that compete for them, share of a core, and memory.
_MOST_PROCESSORS, _MOST_RUNNABLE, _LEAST_SHARE, _MOST_MEMORY = 10**6, 1e12, 1e-12, 2**63


@dataclass(frozen=True, slots=True)
class Availability:
    """Availability of a computer.

    Attributes:
        host: Its name.
        processors: Number of cores that a process may use.
        runnable: Mean number of processes that compute or wait for one of these cores, weighted relative to a new one.
        load: The kernel's load average of the last minute.
        cpu: Share of a core that one more process would get.
        memory: Memory that it could get, bytes.
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
        """Parse a document.

        Raises:
            ValueError: If the document is invalid; KeyError and TypeError likewise.
        """
        return cls(
            text("host", document["host"]), whole("processors", document["processors"], 0, _MOST_PROCESSORS),
            number("runnable", document["runnable"], 0, _MOST_RUNNABLE),
            number("load", document["load"], 0, _MOST_RUNNABLE),
            number("cpu", document["cpu"], _LEAST_SHARE, 1), whole("memory", document["memory"], 0, _MOST_MEMORY),
        )  # fmt: skip


def share(runnable: float, processors: int) -> float:
    """Return the share of a core that one more process would get beside a number of processes of its weight."""
    return min(1.0, processors / (runnable + 1))


def conditions() -> str:
    """Return what the availability depends on besides the load: weight, cores and memory limits of this process."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    nice = f"nice {os.getpriority(os.PRIO_PROCESS, 0)}{' idle' * _is_idle()}"
    limits = {"group": memory_group(), "space": address_space()}
    return " ".join([nice, "cores", ",".join(map(str, cores)), *(f"{what} {of}" for what, of in limits.items() if of)])


def here(host: str | None = None) -> Availability:
    """Return the availability of this computer; takes 0.2 s.

    Raises:
        ForecastError: If psutil is missing.
    """
    try:
        import psutil  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise ForecastError('load must be measured by psutil, got none: pip install "clue[forecast]"') from None
    processors = usable_processors()
    if _PROC.is_dir():
        others, memory = fmean(_looks(_WATCHED)), free_for_one()
    else:
        others = psutil.cpu_percent(_WATCHED) / 100 * (psutil.cpu_count() or 1)
        memory = psutil.virtual_memory().available
    return Availability(
        host or platform.node(), processors, others, psutil.getloadavg()[0], share(others, processors), memory
    )


def _looks(seconds: float) -> Iterator[float]:
    """Yield samples of the number of other processes that want a core."""
    for _ in range(_LOOKS):
        time.sleep(seconds / _LOOKS)
        yield runnable()


def runnable(
    proc: Path = Path("/proc"),
    own: int | None = None,
    nice: int | None = None,
    affinity: Callable[[int], Collection[int]] | None = None,
    cores: int | None = None,
) -> float:
    """Return the weighted number of other threads that compete for the cores of this process now.

    A thread of nice n has weight 1.25^-n, an idle one (SCHED_IDLE) 3 / 1024; each takes at most one core. Threads that
    may only run on other cores do not count. Threads that may run both on these cores and on others count to the extent
    that makes the load of all cores equal, and at most fully. Threads that the kernel counts but that are invisible
    here, as in other containers, have weight 1 and may run anywhere.

    Args:
        proc: The kernel's own figures.
        own: The asking process, which is not counted; ``None``: this one.
        nice: Nice value of the new process; ``None``: that of this one.
        affinity: Returns the cores that a thread may use, 0 being this one; ``None``: as the kernel says.
        cores: Number of cores of this computer; ``None``: as the kernel says.
    """
    own = os.getpid() if own is None else own
    nice = os.getpriority(os.PRIO_PROCESS, 0) if nice is None else nice
    affinity = os.sched_getaffinity if affinity is None else affinity
    here = set(affinity(0))
    cores = max(os.cpu_count() or 1, len(here)) if cores is None else cores
    seen = [each for process in proc.glob("[0-9]*") if process.name != str(own) for each in _running(process)]
    try:
        counted = int((proc / "loadavg").read_text().split()[3].partition("/")[0]) - 1  # this thread, which is running
    except (OSError, IndexError, ValueError):
        counted = 0
    confined, elsewhere, anywhere = list[float](), list[float](), [1.0] * (counted - len(seen))
    mine = _WEIGHT_IDLE if _is_idle() else _STEP**-nice
    for thread, its in seen:
        weight = its / mine
        # A thread that has ended meanwhile has no cores.
        with suppress(OSError):
            allowed = set(affinity(thread))
            if allowed <= here:
                confined.append(weight)
            elif allowed & here:
                anywhere.append(weight)
            else:
                elsewhere.append(weight)
    balanced = _weight(confined + elsewhere + anywhere, cores) * len(here) / cores
    return max(_weight(confined, len(here)), min(_weight(confined + anywhere, len(here)), balanced))


def _weight(weights: Sequence[float], cores: int) -> float:
    """Return the weight of threads together; one that would take more than a core has the weight that takes one.

    The share s of the new process solves s + sum(min(1, s w)) = cores. The left side is the smallest of the lines
    h + s (1 + weight of all but the h heaviest), so s is the largest of their solutions.
    """
    heaviest = sorted(weights, reverse=True)
    share = max((cores - taken) / (1 + sum(heaviest[taken:])) for taken in range(cores))
    return sum(min(weight, max(1.0, 1 / share)) for weight in heaviest)


def _running(process: Path) -> Iterator[tuple[int, float]]:
    """Yield each thread of a process that wants a core, with its weight; nothing if the process has ended."""
    with suppress(OSError, ValueError, IndexError):
        state, weight, threads = _state(process)
        if threads == 1:
            yield from [(int(process.name), weight)] * (state == "R")
            return
        for thread in (process / "task").iterdir():
            state, weight, _ = _state(thread)
            yield from [(int(thread.name), weight)] * (state == "R")


def _state(task: Path) -> tuple[str, float, int]:
    """Return a task's state, its weight, and the number of threads of its process (proc(5), stat)."""
    fields = (task / "stat").read_text().rpartition(")")[2].split()
    weight = _WEIGHT_IDLE if int(fields[38]) == _IDLE else _STEP ** -int(fields[16])
    return fields[0], weight, int(fields[17])


def _is_idle() -> bool:
    """Tell whether this process computes only where nothing else does."""
    return hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) == _IDLE
