"""This computer, as traces name it."""

from __future__ import annotations

import contextlib
import os
import platform
from pathlib import Path


def usable_processors() -> int:
    """Return the number of this computer's processors that this process may use: a job may be confined to some."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_name() -> str:
    """Return the model name of this computer's processor."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
