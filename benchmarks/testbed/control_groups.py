"""Control groups of a testbed, version 1 or 2: one for each host, which holds its processes and may limit them.

With version 1 the processes are held in the hierarchy of the freezer, and only limited ones are in that of processors
too: a group there would have to be allotted real time, which paced ranks are scheduled in.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from clue.errors import UsageError

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "clue-testbed-"
#: The kernel's smallest quota.
_SMALLEST_QUOTA = 1e-3


def _unified() -> bool:
    return (_ROOT / "cgroup.controllers").exists()


def _holding() -> Path:
    return _ROOT if _unified() else _ROOT / "freezer"


def _limiting() -> Path:
    return _ROOT if _unified() else _ROOT / "cpu"


def check() -> None:
    """Check that groups can be made.

    Raises:
        UsageError: If they cannot.
    """
    for folder in (_holding(), _limiting()):
        if not (folder / "cgroup.procs").exists():
            raise UsageError(f"testbed: control groups must be mounted at {folder}, got none")


def existing() -> set[str]:
    """Return the testbeds that have groups."""
    return {folder.name.removeprefix(_PREFIX) for root in (_holding(), _limiting()) for folder in _all_in(root)}


def _all_in(root: Path) -> Iterator[Path]:
    return (folder for folder in root.glob(f"{_PREFIX}*") if folder.is_dir())


def make(testbed: str, hosts: list[str]) -> None:
    """Make the groups of a testbed."""
    folder = _holding() / f"{_PREFIX}{testbed}"
    if _unified():
        _write(_ROOT / "cgroup.subtree_control", "+cpu")
    folder.mkdir()
    if _unified():
        _write(folder / "cgroup.subtree_control", "+cpu")
    for host in hosts:
        (folder / host).mkdir()


def limit(testbed: str, host: str, cores: float) -> None:
    """Give a host at most so many cores, by the scheduler's bandwidth control, in the shortest periods there are."""
    group = _limiting() / f"{_PREFIX}{testbed}" / host
    group.mkdir(parents=True, exist_ok=True)
    quota = max(_SMALLEST_QUOTA, 1e-3 * cores)
    micro = [round(each * 1e6) for each in (quota, quota / cores)]
    if _unified():
        _write(group / "cpu.max", f"{micro[0]} {micro[1]}")
    else:
        _write(group / "cpu.cfs_period_us", micro[1])
        _write(group / "cpu.cfs_quota_us", micro[0])


def of(testbed: str, host: str) -> list[str]:
    """Return the files that a process of a host has to be entered in."""
    folders = dict.fromkeys(root / f"{_PREFIX}{testbed}" / host for root in (_holding(), _limiting()))
    return [str(folder / "cgroup.procs") for folder in folders if folder.exists()]


def remove(testbed: str) -> None:
    """End every process of a testbed, and remove its groups."""
    for folder in dict.fromkeys(root / f"{_PREFIX}{testbed}" for root in (_holding(), _limiting())):
        for group in [*folder.glob("*/"), folder]:
            _end(group)


def _end(group: Path, patience: float = 5.0) -> None:
    until = time.monotonic() + patience
    while group.exists():
        for process in _processes(group):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
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


def _write(file: Path, value: object) -> None:
    file.write_text(str(value))
