"""The watchdog of ranks without MPI calls tells computing ranks from ranks that wait for something outside MPI."""

from __future__ import annotations

import itertools
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clue.errors import LiveError
from clue.execution import watchdog
from clue.execution.watchdog import Watchdog, cpu_time, place_of, wait_of
from tests.live.programs import Live

Start = Callable[..., int]
#: A channel: the poll object that watches it, and the descriptor to write to.
Channel = tuple[select.poll, int]

#: Python 3.10 sleeps in a select call without files.
SLEEP = " in a sleep" if sys.version_info >= (3, 11) else " for a file or a socket"
WAITS = [
    ("near, far = socket.socketpair(); near.recv(1)", " for a socket"),
    ("socket.create_server(('127.0.0.1', 0)).accept()", " for a socket"),
    ("read, write = os.pipe(); os.read(read, 1)", " for a pipe"),
    ("import asyncio; asyncio.run(asyncio.Event().wait())", " for a file or a socket"),
    ("import select; select.select([], [], [])", " for a file or a socket"),
    ("import time; time.sleep(60)", SLEEP),
    ("import threading; threading.Event().wait()", " for a thread"),
    ("import subprocess; subprocess.run(['sleep', '60'])", " for a process that it has started"),
    (
        "import fcntl, tempfile as t; f = t.NamedTemporaryFile(); fcntl.flock(f, 2); fcntl.flock(open(f.name), 2)",
        " for a lock of a file",
    ),
]
BUSY = "while True: pass"


@pytest.fixture
def start() -> Iterator[Start]:
    """Yield a function that starts a Python program, waits until it is ready, and returns its process id."""
    started: list[subprocess.Popen[bytes]] = []

    def run(text: str) -> int:
        code = f"import os, socket, sys\nprint('ready', flush=True)\n{text}\n"
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process.pid

    yield run
    for process in started:
        os.killpg(process.pid, 9)
        process.communicate()


@pytest.fixture
def channel() -> Iterator[Channel]:
    """Yield a channel to which nothing has been written yet."""
    reading, writing = os.pipe()
    ready = select.poll()
    ready.register(reading, select.POLLIN)
    yield ready, writing
    os.close(reading)
    os.close(writing)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOOK", 0.3)


@pytest.mark.parametrize(("text", "kind"), WAITS)
def test_what_a_process_waits_for(start: Start, text: str, kind: str) -> None:
    """The kernel's name of the function in which a process sleeps is translated into words."""
    process = start(text)
    deadline = time.monotonic() + 60
    while wait_of(process) != kind and time.monotonic() < deadline:
        time.sleep(0.02)
    if Path(f"/proc/{process}/wchan").read_text() in {"", "0"}:
        pytest.skip("this kernel does not tell what processes sleep in")
    assert wait_of(process) == kind


def test_a_wait_is_told_once_and_then_ended(start: Start, channel: Channel) -> None:
    """A rank that waits without using CPU time is reported once, and is ended at the limit."""
    told: list[str] = []
    waiting = Watchdog("prog.py: rank 1", 1, start(WAITS[0][0]), 1.0, told.append)
    with pytest.raises(LiveError) as failure:
        waiting.wait(channel[0])
    (line,) = told
    assert line.startswith("prog.py: rank 1 has used no CPU time for 0.3 s outside MPI: it waits")
    assert line.endswith(
        "ranks run one at a time, so another rank can only send something through mpi4py (it is ended after 1 "
        "s: --limit)"
    )
    assert str(failure.value).startswith("prog.py: rank 1 must call MPI within 1 s, got none: it waits")
    assert "and has used no CPU time for" in str(failure.value)
    assert str(failure.value).endswith("raise the limit (--limit) if it waits for something else")
    assert failure.value.rank == 1


def _computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every process seem to use a second of CPU time between two looks, however busy this computer is."""
    seconds = itertools.count()
    monkeypatch.setattr(watchdog, "cpu_time", lambda _process: float(next(seconds)))


def test_computation_is_not_a_wait(start: Start, channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that computes gives no warning before the limit, and a different message at the limit."""
    _computes(monkeypatch)
    told: list[str] = []
    with pytest.raises(LiveError, match=r"got none: it computes; raise the limit \(--limit\) if that takes longer"):
        Watchdog("prog.py: rank 1", 1, start(BUSY), 1.0, told.append).wait(channel[0])
    assert told == []


@pytest.mark.parametrize("text", [BUSY, f"import subprocess; subprocess.run([sys.executable, '-c', {BUSY!r}])"])
def test_cpu_time_is_that_of_started_processes_too(start: Start, text: str) -> None:
    """CPU time includes that of started processes, so a rank that waits for its computing child counts as computing."""
    process = start(text)
    deadline = time.monotonic() + 60
    while cpu_time(process) < 0.3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert cpu_time(process) >= 0.3


def test_a_wait_that_ends_is_fine(start: Start, channel: Channel) -> None:
    """A wait is reported but causes no error when a call arrives later; without a limit, no limit is mentioned."""
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        os.write(channel[1], b"x")

    Watchdog("prog.py: rank 1", 1, start(WAITS[0][0]), None, tell).wait(channel[0])
    (line,) = told
    assert line.endswith("another rank can only send something through mpi4py")


def test_what_is_gone_uses_and_says_nothing(start: Start) -> None:
    """A process that has ended has no CPU time, wait or place; one that does not answer has no place either."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert (cpu_time(ended.pid), wait_of(ended.pid), place_of(ended.pid)) == (0.0, "", "")
    assert place_of(start(BUSY)) == ""  # this process does not answer queries for its place


def test_a_rank_that_waits_for_another_is_told_from_one_that_computes(live: Live) -> None:
    """The error says that the rank waits, and names the program's line although the wait is deep in a library."""
    ended = live(
        """\
        import socket
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            with socket.create_server(("127.0.0.1", 0)) as own:
                comm.send(own.getsockname(), 1)
                comm.Barrier()
                own.accept()
        else:
            where = comm.recv(source=0)
            comm.Barrier()
            comm.Barrier()
            socket.create_connection(where)
        """,
        "--limit",
        "3",
    )
    assert ended.status == 1
    assert "clue: prog.py: rank 0 has used no CPU time for 0.3 s outside MPI" in ended.err
    assert "clue: prog.py: rank 0 must call MPI within 3 s, got none: it waits for a socket at prog.py:8 " in ended.err
    assert "ranks run one at a time" in ended.err


def test_a_rank_that_computes_is_told_where(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the line of the program, not that of the library that it calls."""
    _computes(monkeypatch)
    ended = live(
        """\
        from statistics import fmean
        from mpi4py import MPI
        MPI.COMM_WORLD.Barrier()
        def forever():
            while True:
                fmean(range(1000))
        forever()
        """,
        "--limit",
        "0.6",
    )
    assert ended.status == 1
    assert "must call MPI within 0.6 s, got none: it computes at prog.py:" in ended.err


def test_sleeps_and_files_are_fine(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sleep that ends between the first look and the second, and a read of a file, cause no warning."""
    monkeypatch.setattr(watchdog, "LOOK", 2.0)  # Beside other programs, a rank may get no core for tenths of a second.
    ended = live(
        """\
        import time
        from mpi4py import MPI
        time.sleep(2.2)
        MPI.COMM_WORLD.Barrier()
        open(__file__).read()
        """,
        "--limit",
        "30",
    )
    assert (ended.status, ended.err) == (0, "")
