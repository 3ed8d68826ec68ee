"""Watchdog of a live rank between calls: distinguishes a rank that computes from one that waits outside MPI.

One rank runs at a time, so data that a rank expects from another by a socket, a pipe or a file may never come. A wait
uses no CPU time; but neither does a sleep or a wait for a slow disk or another computer, and those end. So a waiting
rank is reported once, and is ended at the same limit as one that computes, with a message of its own.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import select
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from clue.errors import LiveError
from clue.trace.calls import WHERE, WHERE_SIGNAL

#: Callback for messages to the user while ranks run, one line each.
Tell = Callable[[str], None]
#: Interval between checks of a rank that does not call MPI, s.
LOOK = 5.0
#: Share of CPU time below which a process counts as waiting; and resolution of its clock, s.
_IDLE, _TICK = 0.02, 1.5 / os.sysconf("SC_CLK_TCK")
#: Timeout for a process to report its position, s.
_ANSWER = 1.0
#: Description of a wait, by the kernel function that the process sleeps in.
_WAITS = (
    (re.compile(r".*nanosleep"), "in a sleep"),
    (re.compile(r"inet_|tcp_|udp_|unix_|sk_|skb_|__skb|sock_|wait_woken"), "for a socket"),
    (re.compile(r"(anon_)?pipe_|wait_for_partner"), "for a pipe"),
    (re.compile(r"poll_|do_poll|do_select|ep_|do_epoll"), "for a file or a socket"),
    (re.compile(r"locks_"), "for a lock of a file"),
    (re.compile(r"futex_"), "for a thread"),
    (re.compile(r"do_wait"), "for a process that it has started"),
)
_FRAME = re.compile(r'^  File "(.+)", line (\d+)', re.MULTILINE)
#: Path fragments of files that are not the program's own.
_NOT_ITS_OWN = (sysconfig.get_path("stdlib") + os.sep, "site-packages", "dist-packages", "virtual_layer", "<frozen")
_ONE_AT_A_TIME = "ranks run one at a time, so another rank can only send something through mpi4py"


def _silent(_line: str) -> None:
    pass


class Watchdog:
    """Limits the time of a rank between calls.

    Args:
        who: Program and rank, in messages.
        rank: Its rank.
        process: Its process.
        limit: Maximum wall time, seconds, or ``None``.
        tell: Callback for a wait.
    """

    def __init__(self, who: str, rank: int, process: int, limit: float | None, tell: Tell = _silent) -> None:
        self._who = who
        self._rank = rank
        self._process = process
        self._limit = math.inf if limit is None else limit
        self._tell = tell
        self._idle = 0.0

    def wait(self, ready: select.poll) -> None:
        """Wait until the rank's channel is ready.

        Raises:
            LiveError: If that takes longer than the limit.
        """
        # CPU time is read only from here on, so that a call that comes soon costs nothing.
        first = min(LOOK, self._limit / 2)
        if not ready.poll(first * 1000) and not self._watch(ready, first):
            raise LiveError(f"{self._who} {self._overdue()}", self._rank)

    def _watch(self, ready: select.poll, passed: float) -> bool:
        """Check the process periodically; returns whether its channel became ready."""
        self._idle, used, told = 0.0, cpu_time(self._process), False
        while passed < self._limit:
            pause = min(LOOK, self._limit - passed)
            if ready.poll(pause * 1000):
                return True
            before, used, passed = used, cpu_time(self._process), passed + pause
            self._idle = self._idle + pause if used - before < _IDLE * pause + _TICK else 0.0
            if self._idle and not told and passed < self._limit:
                told = True
                self._tell(f"{self._who} {self._waiting()}")
        return False

    def _waiting(self) -> str:
        end = "" if math.isinf(self._limit) else f" (it is ended after {self._limit:g} s: --limit)"
        waits = f"it waits{wait_of(self._process)}; {_ONE_AT_A_TIME}"
        return f"has used no CPU time for {self._idle:g} s outside MPI: {waits}{end}"

    def _overdue(self) -> str:
        rule, place = f"must call MPI within {self._limit:g} s, got none", place_of(self._process)
        at = f" at {place}" if place else ""
        if not self._idle:
            return f"{rule}: it computes{at}; raise the limit (--limit) if that takes longer"
        return (
            f"{rule}: it waits{wait_of(self._process)}{at} and has used no CPU time for {self._idle:g} s; "
            f"{_ONE_AT_A_TIME}; raise the limit (--limit) if it waits for something else"
        )


def cpu_time(process: int) -> float:
    """Return the CPU time of a process and its children, s; 0 if it has disappeared."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        return own + sum(cpu_time(child) for child in _children(process))
    return 0.0


def _children(process: int) -> list[int]:
    """Return the children of a process, where the system reports them."""
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [int(word) for each in lists for word in each.read_text().split()]


def wait_of(process: int) -> str:
    """Return what a process waits for, with a leading space, or ``""`` where the system does not report it."""
    try:
        sleeps_in = Path(f"/proc/{process}/wchan").read_text()
    except OSError:
        return ""
    return next((f" {kind}" for function, kind in _WAITS if function.match(sleeps_in)), "")


def place_of(process: int) -> str:
    """Return the file and line that a rank is executing, or ``""`` if it does not answer.

    The signal that requests it interrupts some system calls, so use this only for a process that will be ended.
    """
    try:
        (answer,) = (file for file in Path(f"/proc/{process}/fd").iterdir() if WHERE in os.readlink(file))  # noqa: PTH115
        os.kill(process, WHERE_SIGNAL)
        deadline = time.monotonic() + _ANSWER
        while not (frames := _FRAME.findall(answer.read_text())) and time.monotonic() < deadline:
            time.sleep(0.01)
    except (OSError, ValueError):
        return ""
    own = [frame for frame in frames if not any(part in frame[0] for part in _NOT_ITS_OWN)]
    return next((f"{Path(file).name}:{line}" for file, line in own or frames), "")
