"""Whether there is room for the ranks of a live run."""

from __future__ import annotations

import mmap
import os
import resource
from pathlib import Path

import pytest

from clue.errors import LiveError
from clue.live.room import check_room, free_memory, private_memory

MEMINFO = "MemTotal:       2000 kB\nMemFree:         500 kB\nMemAvailable:   1000 kB\n"


def test_too_many_ranks_are_told_with_what_each_takes() -> None:
    """Of 1 GB a tenth stays free, so that 9 ranks of 100 MB fit, and 10 do not."""
    check_room("prog.py", 9, 100_000_000, free=1_000_000_000)
    with pytest.raises(LiveError, match="ranks must be at most 9 here, got 10: each takes 100 MB of memory"):
        check_room("prog.py", 10, 100_000_000, free=1_000_000_000)


def test_a_container_limits_memory(tmp_path: Path) -> None:
    """What is free is the smaller of the computer's and the container's; max is no limit."""
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(MEMINFO)
    assert free_memory(meminfo, tmp_path) == 1_024_000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("400000\n")
    assert free_memory(meminfo, tmp_path) == 1_024_000
    (tmp_path / "memory.max").write_text("1000000\n")
    assert free_memory(meminfo, tmp_path) == 600_000


def test_private_memory_grows_with_what_a_process_takes() -> None:
    """Ten megabytes written to are private to whoever wrote them."""
    before = private_memory(os.getpid())
    with mmap.mmap(-1, 10_000_000, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as taken:
        taken.write(b"x" * 10_000_000)
        assert private_memory(os.getpid()) - before > 9_000_000


def test_open_files_are_allowed_up_to_the_hard_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A soft limit is raised; a hard one is told."""
    changed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: changed.append(limits))
    check_room("prog.py", 1000, 1, free=10_000_000)
    assert changed == [(2064, 4096)]
    with pytest.raises(LiveError, match=r"open files here \(ulimit -n\), got 5,064"):
        check_room("prog.py", 2500, 1, free=10_000_000)
