"""This computer, as traces name it."""

from __future__ import annotations

import contextlib
import platform
from pathlib import Path


def processor_name() -> str:
    """Return the model name of this computer's processor."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
