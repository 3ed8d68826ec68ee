"""Run a program on one core, and measure its processor time and memory, including its child processes.

This file is also the intermediate launcher: ``python -S processes.py FIGURES COMMAND…``. The kernel counts the memory
of the starting process as that of the new program, so the starting process must be small.
"""

from __future__ import annotations

import os
import sys


def launch(figures: str, command: list[str]) -> int:
    """Run a command on the last core, write seconds and bytes to a file, and return its exit status."""
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        os.execvp(command[0], command)
    _, status, used = os.wait4(child, 0)
    with open(figures, "w") as out:  # noqa: PTH123 - imports are kept to a minimum
        out.write(f"{used.ru_utime + used.ru_stime} {used.ru_maxrss * 1024}")
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(launch(sys.argv[1], sys.argv[2:]))

import subprocess  # noqa: E402 - see above
import tempfile  # noqa: E402
from collections.abc import Mapping, Sequence  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402
from time import perf_counter  # noqa: E402


class FailedRunError(Exception):
    """A program ended with a status other than 0."""


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    """The measurements of a program's run.

    Attributes:
        seconds: Processor time, of the user and of the system.
        wall: Time from start to end, seconds.
        peak: Largest resident memory of any of its processes, bytes.
        output: Its output.
    """

    seconds: float
    wall: float
    peak: int
    output: str


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> ProcessTimes:
    """Run a program in a folder, on one core.

    Raises:
        FailedRunError: If the program fails; the error contains the end of its output.
    """
    with tempfile.NamedTemporaryFile("r") as figures:
        began = perf_counter()
        process = subprocess.run(
            [sys.executable, "-S", __file__, figures.name, *command],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        wall = perf_counter() - began
        if process.returncode:
            said = process.stdout[-2000:]
            raise FailedRunError(f"{' '.join(command)}: status must be 0, got {process.returncode}: {said}")
        seconds, peak = figures.read().split()
    return ProcessTimes(float(seconds), wall, int(peak), process.stdout)
