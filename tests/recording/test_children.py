"""Processes that are started end with what started them, all of their group, whatever they make of being told to."""

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

#: A shell that leaves a child in its group which does not mind being told to end, and says that it is there.
LEAVES = "(trap '' TERM; echo there; exec sleep 60 >/dev/null) & "


def started(script: str) -> subprocess.Popen[str]:
    """Start a shell's script, and wait until it says something."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", script], start_new_session=True, text=True, stdout=subprocess.PIPE
    )  # as :func:`running` does
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    return process


def left(process: subprocess.Popen[str]) -> list[str]:
    """Return the processes of a group, zombies aside."""
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
    """Also if its leader has already ended, ends on the signal, or ignores it."""
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
    """Run what takes long; returns how it ended."""
    with running(["sleep", "60"]) as process:
        begun()
        return process.wait()


def test_an_interrupt_ends_what_runs_side_by_side() -> None:
    """Without waiting for it: each gets the signal to end, whichever thread started it."""
    ended: list[int] = []
    both = threading.Barrier(2, action=partial(os.kill, os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        side_by_side([lambda: ended.append(sleeping(both.wait))] * 2)
    assert ended == [-signal.SIGTERM] * 2
    assert not children._running


def test_an_interrupt_while_they_are_begun_ends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also processes that already run in an unregistered thread."""
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
    """And it is reported."""
    begun, ended = threading.Event(), list[int]()

    def fail() -> None:
        begun.wait()
        raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        side_by_side([lambda: ended.append(sleeping(begun.set)), fail])
    assert ended == [-signal.SIGTERM]


def test_what_runs_side_by_side_returns_in_order() -> None:
    """One is called where it is wanted, without a thread."""
    assert side_by_side([lambda: 1, lambda: 2]) == [1, 2]
    assert side_by_side([threading.current_thread]) == [threading.current_thread()]
