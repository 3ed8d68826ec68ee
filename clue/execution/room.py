"""Check before a program starts that this computer has enough memory and processes for its ranks."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from clue.errors import LiveError
from clue.units import format_size

#: Files of a group of processes with the limit of its memory and the memory that it takes, and the name of copies of
#: files that were not used lately among its statistics: of cgroups of version 2 (``max``: no limit), and of version 1.
_LIMITS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
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


def free_memory(
    meminfo: Path = Path("/proc/meminfo"), groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> int:
    """Return the memory for new processes, bytes: the available memory, within the limits of the container and the job.

    Their copies of files that were not used lately do not count as used: they give way to processes.

    Args:
        meminfo: The kernel's figures of memory.
        groups: Where groups of processes are mounted.
        own: The kernel's list of the groups of this process.
    """
    at = groups / memory_group(own)
    places = [at, *(place for place in at.parents if place.is_relative_to(groups))]
    return min([available_memory(meminfo), *(left for place in places for left in _left(place))])


def free_for_one() -> int:
    """Return the memory for one more process like this one, bytes: free memory, within its address space."""
    free, most = free_memory(), address_space()
    if most is None:
        return free
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return max(0, min(free, most - taken))


def address_space() -> int | None:
    """Return the limit of this process's address space (ulimit -v), bytes; ``None``: there is none."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def memory_group(own: Path = Path("/proc/self/cgroup")) -> str:
    """Return the group of processes (cgroup) that limits this process's memory, as a path below the mount of all."""
    try:
        found = dict(line.split(":", 2)[1:] for line in own.read_text().splitlines())
    except (OSError, ValueError):
        return ""
    # Version 1 has a hierarchy for each controller or several of them, version 2 one without names.
    first = next((path for names, path in found.items() if "memory" in names.split(",")), None)
    return found.get("", "/")[1:] if first is None else f"memory{first}".rstrip("/")


def _left(group: Path) -> Iterator[int]:
    """Yield the memory that a group of processes may still take, bytes; nothing if it has no limit."""
    for names in _LIMITS:
        with suppress(OSError, ValueError):
            most, used = (int((group / name).read_text()) for name in names[:2])
            yield max(0, most - used + _idle_files(group / "memory.stat", names[2]))


def _idle_files(statistics: Path, name: str) -> int:
    """Return the memory of a group with copies of files that were not used lately, bytes; 0 if it is unknown."""
    with suppress(OSError):
        return sum(int(line.split()[1]) for line in statistics.read_text().splitlines() if line.startswith(f"{name} "))
    return 0


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
