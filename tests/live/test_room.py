"""Checks before the start that memory, open files and address space suffice for the ranks of a live run."""

from __future__ import annotations

import mmap
import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from clue.children import limits_hint
from clue.errors import LiveError
from clue.execution import room
from clue.execution.room import allow_files, check_room, free_for_one, free_memory, private_memory
from tests.live.programs import MACHINE

MEMINFO = "MemTotal:       2000 kB\nMemFree:         500 kB\nMemAvailable:   1000 kB\n"


def test_too_many_ranks_are_told_with_what_each_takes() -> None:
    """Of 1 GB a tenth stays free, so 9 ranks of 100 MB fit, and 10 do not."""
    check_room("prog.py", 9, 100_000_000, free=1_000_000_000)
    with pytest.raises(LiveError, match="ranks must be at most 9 here, got 10: each takes 100 MB of memory"):
        check_room("prog.py", 10, 100_000_000, free=1_000_000_000)


def test_a_container_limits_memory(tmp_path: Path) -> None:
    """Free memory is the smaller of the computer's and the container's; "max" means no limit.

    A container's copies of files that were not used lately are free.
    """
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(MEMINFO)
    assert free_memory(meminfo, tmp_path) == 1_024_000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("400000\n")
    assert free_memory(meminfo, tmp_path) == 1_024_000
    (tmp_path / "memory.max").write_text("1000000\n")
    assert free_memory(meminfo, tmp_path) == 600_000
    (tmp_path / "memory.stat").write_text("anon 250000\nfile 150000\ninactive_file 100000\nactive_file 50000\n")
    assert free_memory(meminfo, tmp_path) == 700_000


@pytest.mark.parametrize(
    ("listed", "folder", "names", "statistics"),
    [
        ("0::/jobs/7/step\n", "jobs/7", ("memory.max", "memory.current"), "inactive_file 100000\n"),
        ("9:cpu,cpuacct:/\n4:memory:/jobs/7/step\n0::/\n", "memory/jobs/7",
         ("memory.limit_in_bytes", "memory.usage_in_bytes"), "inactive_file 1\ntotal_inactive_file 100000\n"),
    ],
)  # fmt: skip
def test_a_job_limits_memory(tmp_path: Path, listed: str, folder: str, names: tuple[str, str], statistics: str) -> None:
    """A job of 1 MB takes 400 KB, of which 100 KB are files not used lately: 700 KB are free, in all of its steps.

    A step without a limit changes nothing, one of 50 KB that takes none leaves 50 KB; other jobs have all.
    """
    meminfo, own, groups = tmp_path / "meminfo", tmp_path / "own", tmp_path / "groups"
    job, (most, used) = groups / folder, names
    (job / "step").mkdir(parents=True)
    for file, text in ((meminfo, MEMINFO), (own, listed), (job / most, "1000000\n"), (job / used, "400000\n")):
        file.write_text(text)
    (job / "memory.stat").write_text(statistics)
    (job / "step" / used).write_text("0\n")
    for limit, left in (("max", 700_000), ("9223372036854771712", 700_000), ("50000", 50_000)):
        (job / "step" / most).write_text(f"{limit}\n")
        assert free_memory(meminfo, groups, own) == left
    own.write_text(listed.replace("/7/", "/8/"))
    assert free_memory(meminfo, groups, own) == 1_024_000


def test_an_address_space_limits_the_memory_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that may take 1 GB more than this one has 1 GB, but for what this one takes meanwhile; free is 1 TB."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    monkeypatch.setattr(room, "free_memory", lambda: 10**12)
    for most, least, left in ((None, 10**12, 10**12), (taken + 10**9, 9 * 10**8, 11 * 10**8), (taken // 2, 0, 0)):
        monkeypatch.setattr(room, "address_space", partial(lambda most: most, most))
        assert least <= free_for_one() <= left


def test_private_memory_grows_with_what_a_process_takes() -> None:
    """Ten megabytes that a process writes count as its private memory."""
    before = private_memory(os.getpid())
    with mmap.mmap(-1, 10_000_000, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as taken:
        taken.write(b"x" * 10_000_000)
        assert private_memory(os.getpid()) - before > 9_000_000


def test_open_files_are_allowed_up_to_the_hard_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The soft limit of open files is raised; more than the hard limit allows is an error."""
    changed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: changed.append(limits))
    allow_files("prog.py", 1000)
    assert changed == [(2064, 4096)]
    with pytest.raises(LiveError, match=r"open files here \(ulimit -n\), got 5,064"):
        allow_files("prog.py", 2500)


def limited(limit: str, folder: Path) -> tuple[int, str]:
    """Run a program of two ranks under a limit (of ``ulimit``); return status and standard error."""
    (folder / "four.yaml").write_text(MACHINE)
    (folder / "prog.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    command = f"ulimit {limit}; {sys.executable} -m clue run -n 2 --machine four.yaml prog.py"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stderr


def test_payloads_take_half_of_a_limited_address_space(tmp_path: Path) -> None:
    """With a limited address space, the run succeeds because payloads map only half of it, not all free memory."""
    assert limited(f"-v {1000 << 10}", tmp_path) == (0, "")


def test_few_ranks_may_need_too_many_files_too(tmp_path: Path) -> None:
    """Two ranks need 2 * 2 + 64 open files."""
    status, said = limited("-n 67", tmp_path)
    assert status == 1
    assert "prog.py: ranks must need at most 67 open files here (ulimit -n), got 68" in said


def test_too_small_an_address_space_is_named() -> None:
    """The limit leaves less address space than the least that payloads need; the error says how to raise it."""
    code = (
        "import resource\n"
        "from virtual_layer.substitutes.arena import Arena\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (20 << 20),) * 2)\n"
        "Arena(1 << 40)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "RecordError: address space must have 32 MB left for payloads" in done.stderr
    assert "raise the limit (ulimit -v)" in done.stderr


def test_a_bus_error_is_said_to_be_for_want_of_shared_memory(tmp_path: Path) -> None:
    """A rank killed by a bus error (signal 7) hints at a too small /dev/shm; another exit code gives no such hint."""
    assert "MPI libraries keep messages there: make it larger" in limits_hint(-7, tmp_path)
    assert limits_hint(1, tmp_path) == ""
    assert limits_hint(1, tmp_path / "none") == f": {tmp_path / 'none'} is not there, where MPI libraries keep messages"
