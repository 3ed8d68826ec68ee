"""Started processes end, with their whole process group, when their starter ends them or is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from clue import children
from clue.children import end, running, side_by_side

#: A shell script that leaves a child in its group which ignores SIGTERM and prints "there".
LEAVES = "(trap '' TERM; echo there; exec sleep 60 >/dev/null) & "


def started(script: str) -> subprocess.Popen[str]:
    """Start a shell script, and wait for its output "there"."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", script], start_new_session=True, text=True, stdout=subprocess.PIPE
    )  # as :func:`running` does
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    return process


def left(process: subprocess.Popen[str]) -> list[str]:
    """Return the processes of a group, except zombies."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = file.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(group) == process.pid and state != "Z":
            found.append(file.parent.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("leader", ["exit 0", "trap 'exit 0' TERM; wait", "trap '' TERM; wait"], ids=str)
def test_all_of_a_group_ends(leader: str) -> None:
    """The whole group ends, whether its leader has already ended, ends on the signal or ignores it."""
    process = started(LEAVES + leader)
    if leader == "exit 0":
        process.wait()
    end(process, patience=0.3)
    deadline = time.monotonic() + 30.0
    while left(process) and time.monotonic() < deadline:  # a kill takes a moment
        time.sleep(0.02)
    assert left(process) == []
    assert process.stdout is not None
    process.stdout.close()


def sleeping(begun: Callable[[], object]) -> int:
    """Run a long process, and return its exit status."""
    with running(["sleep", "60"]) as process:
        begun()
        return process.wait()


def test_an_interrupt_ends_what_runs_side_by_side() -> None:
    """On Ctrl-C every process gets SIGTERM, whichever thread started it."""
    ended: list[int] = []
    both = threading.Barrier(2, action=partial(os.kill, os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        side_by_side([lambda: ended.append(sleeping(both.wait))] * 2)
    assert ended == [-signal.SIGTERM] * 2
    assert not children._running


def test_an_interrupt_while_they_are_begun_ends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Ctrl-C during the start, a process that already runs in another thread ends too."""
    ended: list[int] = []
    begun = threading.Event()
    submit = ThreadPoolExecutor.submit

    def interrupted(pool: ThreadPoolExecutor, call: Callable[[], None]) -> None:
        submit(pool, call)
        begun.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        side_by_side([lambda: ended.append(sleeping(begun.set))] * 2)
    assert ended == [-signal.SIGTERM]


def test_a_failure_ends_what_runs_beside_it() -> None:
    """When one of two parallel tasks fails, the other's process ends, and the error is raised."""
    begun, ended = threading.Event(), list[int]()

    def fail() -> None:
        begun.wait()
        raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        side_by_side([lambda: ended.append(sleeping(begun.set)), fail])
    assert ended == [-signal.SIGTERM]


def test_what_runs_side_by_side_returns_in_order() -> None:
    """Results are in the order of the calls; a single call runs in the calling thread."""
    assert side_by_side([lambda: 1, lambda: 2]) == [1, 2]
    assert side_by_side([threading.current_thread]) == [threading.current_thread()]
