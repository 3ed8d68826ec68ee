"""Control groups of a testbed, version 1 or 2: one for each host, with its share of the processors.

They hold every process of a host, so that a host can be ended as a whole.
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
#: The kernel's smallest quota.
_SMALLEST_QUOTA = 1e-3
#: Microseconds of each second in which a group's processes may run in real time, and what it takes to be of use.
_REAL_TIME, _LEAST_REAL_TIME = "cpu.rt_runtime_us", 20_000
#: Testbeds go before other work of the computer, which would disturb them; they take less than a core or two.
_WEIGHT = 20


def _unified() -> bool:
    return (_ROOT / "cgroup.controllers").exists()


def root() -> Path:
    """Return the folder in which processor groups are made.

    Raises:
        UsageError: If there is none.
    """
    folder = _ROOT if _unified() else _ROOT / "cpu"
    if not (folder / "cgroup.procs").exists():
        raise UsageError(f"testbed: control groups for processors must be mounted at {_ROOT}, got none")
    return folder


def of(testbed: str) -> Path:
    """Return the folder of a testbed's groups."""
    return root() / f"{_PREFIX}{testbed}"


def existing() -> list[str]:
    """Return the testbeds that have groups."""
    return [folder.name.removeprefix(_PREFIX) for folder in root().glob(f"{_PREFIX}*")]


def make(testbed: str, hosts: list[str]) -> None:
    """Make the groups of a testbed."""
    folder = of(testbed)
    if _unified():
        _write(root() / "cgroup.subtree_control", "+cpu")
    folder.mkdir()
    if _unified():
        _write(folder / "cgroup.subtree_control", "+cpu")
        _write(folder / "cpu.weight", 100 * _WEIGHT)
    else:
        _write(folder / "cpu.shares", 1024 * _WEIGHT)
    for host in hosts:
        (folder / host).mkdir()
    _allow_prompt(folder, hosts)


def _allow_prompt(folder: Path, hosts: list[str]) -> None:
    """Let ranks be scheduled in real time, where that has to be allowed to a group: each host for its part of the time.

    Half of what other testbeds have left; where that is next to nothing, ranks are scheduled as all processes are.
    """
    if not (folder / _REAL_TIME).exists():
        return
    given = [int((other / _REAL_TIME).read_text()) for other in root().glob(f"{_PREFIX}*") if other.is_dir()]
    left = int((root() / _REAL_TIME).read_text()) - sum(given)
    each = left // 2 // len(hosts)
    if each > _LEAST_REAL_TIME:
        _write(folder / _REAL_TIME, each * len(hosts))
        for host in hosts:
            _write(folder / host / _REAL_TIME, each)


def limit(group: Path, cores: float) -> None:
    """Give a group at most so many cores, by the scheduler's bandwidth control, in the shortest periods there are."""
    quota = max(_SMALLEST_QUOTA, 1e-3 * cores)
    micro = [round(each * 1e6) for each in (quota, quota / cores)]
    if _unified():
        _write(group / "cpu.max", f"{micro[0]} {micro[1]}")
    else:
        _write(group / "cpu.cfs_period_us", micro[1])
        _write(group / "cpu.cfs_quota_us", micro[0])


def enter(group: Path) -> None:
    """Put this process into a group."""
    _write(group / "cgroup.procs", os.getpid())


def remove(testbed: str) -> None:
    """End every process of a testbed, and remove its groups."""
    folder = of(testbed)
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
