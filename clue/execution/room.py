"""Check before a program starts that this computer has enough memory and processes for its ranks."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from clue.errors import LiveError
from clue.units import format_size

#: Share of the free memory kept in reserve: ranks grow, and other processes run, too.
_RESERVE = 0.1
#: File descriptors of each rank in the controlling process: its channel has two.
_FILES = 2
#: File descriptors that a run needs in addition to those of its ranks.
_OWN_FILES = 64


def private_memory(process: int) -> int:
    """Return the private memory of a process, bytes, with its page tables: the cost of one more process like it.

    Raises:
        OSError: If the process has ended.
    """
    own = Path(f"/proc/{process}")
    lines = (own / "smaps_rollup").read_text().splitlines() + (own / "status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_", "VmPTE"))) * 1024


def available_memory(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Return the available memory of this computer, bytes."""
    words = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
    return int(words["MemAvailable"].split()[0]) * 1024


def free_memory(meminfo: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the memory for new processes, bytes: the available memory, within the limit of the container.

    The container's copies of files that were not used lately do not count as used: they give way to processes.
    """
    free = available_memory(meminfo)
    try:
        most, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return free
    return free if most == "max" else min(free, max(0, int(most) - int(used) + _idle_files(group)))


def _idle_files(group: Path) -> int:
    """Return the memory of a container with copies of files that were not used lately, bytes; 0 if it is unknown."""
    try:
        lines = (group / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))


def check_room(program: str, ranks: int, each: int, free: int | None = None) -> None:
    """Check that there is memory for a number of ranks, and that as many processes may be started.

    Args:
        program: Name of the program, for the message.
        ranks: Number of ranks to start.
        each: Private memory of a rank, bytes, measured before the program computes anything.
        free: Free memory, bytes; by default measured.

    Raises:
        LiveError: If there is not.
    """
    free = free_memory() if free is None else free
    most = int(free * (1 - _RESERVE) / max(each, 1))
    if ranks > most:
        raise LiveError(
            f"{program}: ranks must be at most {most:,} here, got {ranks:,}: each takes {format_size(each)} of memory "
            f"before it computes anything, and {format_size(free)} is free"
        )
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if os.geteuid() != 0 and 0 <= processes < ranks:
        raise LiveError(f"{program}: ranks must be at most {processes:,} processes here (ulimit -u), got {ranks:,}")


def allow_files(program: str, ranks: int) -> None:
    """Raise this process's soft limit of open files for all ranks of a program if necessary, as far as allowed.

    Raises:
        LiveError: If they need more files than are allowed.
    """
    wanted = ranks * _FILES + _OWN_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft in {resource.RLIM_INFINITY} or wanted <= soft:
        return
    if hard != resource.RLIM_INFINITY and wanted > hard:
        raise LiveError(f"{program}: ranks must need at most {hard:,} open files here (ulimit -n), got {wanted:,}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
