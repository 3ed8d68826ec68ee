"""Control groups of a testbed, version 1 or 2: one for each host, so that its processes can be found and ended.

With version 1 they are in the freezer's hierarchy. The processor hierarchy is not used: a group there would need an
allotment of real-time scheduling, in which paced ranks run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from clue.errors import UsageError

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "clue-testbed-"


def _holding() -> Path:
    return _ROOT if (_ROOT / "cgroup.controllers").exists() else _ROOT / "freezer"


def check() -> None:
    """Check that groups can be created.

    Raises:
        UsageError: If they cannot.
    """
    if not (_holding() / "cgroup.procs").exists():
        raise UsageError(f"testbed: control groups must be mounted at {_holding()}, got none")


def existing() -> set[str]:
    """Return the testbeds that have groups."""
    return {each.name.removeprefix(_PREFIX) for each in _holding().glob(f"{_PREFIX}*") if each.is_dir()}


def make(testbed: str, hosts: list[str]) -> None:
    """Make the groups of a testbed."""
    for host in hosts:
        _folder(testbed, host).mkdir(parents=True)


def of(testbed: str, host: str) -> str:
    """Return the file to which the ID of a host's process is written to add it to the group."""
    return str(_folder(testbed, host) / "cgroup.procs")


def _folder(testbed: str, host: str) -> Path:
    return _holding() / f"{_PREFIX}{testbed}" / host


def remove(testbed: str) -> None:
    """End every process of a testbed, and remove its groups."""
    folder = _holding() / f"{_PREFIX}{testbed}"
    # Before Python 3.11, the pattern "*/" also finds files.
    for group in [*(each for each in folder.glob("*") if each.is_dir()), folder]:
        _end(group)


def _end(group: Path, patience: float = 5.0) -> None:
    until = time.monotonic() + patience
    while group.exists():
        for process in _processes(group):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
                # A process needs processor time to die; beside busy ones, one of the lowest priority gets none.
                os.sched_setscheduler(process, os.SCHED_OTHER, os.sched_param(0))
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def _processes(group: Path) -> list[int]:
    try:
        return [int(line) for line in (group / "cgroup.procs").read_text().split()]
    except OSError:
        return []
