"""A live program that fails: the message, the exit status, and no process left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.programs import Live, processes_of

#: Rank 1 executes a statement; the others wait for it in a barrier.
ONE_DOES = """\
import os, sys, signal
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Barrier()
if comm.rank == 1:
    {what}
comm.Barrier()
"""


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ('raise ValueError("bad block")', "rank 1 must end well, got ValueError: bad block"),
        ("sys.exit(7)", "rank 1 must end well, got exit status 7"),
        ('sys.exit("no input")', "rank 1 must end well, got exit status 1"),
        ("os._exit(9)", "rank 1 must end well, got exit status 9"),
        ("comm.Abort(5)", "rank 1 called Abort(5)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "rank 1 must end well, got signal 9 (SIGKILL)"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "rank 1 must end well, got signal 11 (SIGSEGV)"),
        ("os.kill(os.getpid(), 40)", "rank 1 must end well, got signal 40"),
    ],
)
def test_a_rank_that_fails_ends_the_run_and_is_named(live: Live, what: str, said: str) -> None:
    """However a rank fails, one line names it and its failure, and the status is 1."""
    ended = live(ONE_DOES.format(what=what))
    assert ended.status == 1
    assert f"clue: prog.py: {said}" in ended.err
    assert ended.out == ""


def test_a_traceback_is_shown_with_its_rank(live: Live) -> None:
    """Each line of the traceback carries the rank, and the traceback shows the program's lines only."""
    ended = live(ONE_DOES.format(what='raise ValueError("bad block")'))
    traced = [line for line in ended.err.splitlines() if line.startswith("rank 1: ")]
    assert traced[0] == "rank 1: Traceback (most recent call last):"
    assert any("prog.py" in line and "line 6" in line for line in traced)
    assert traced[-1] == "rank 1: ValueError: bad block"
    assert not any("virtual_layer" in line for line in traced)


def test_a_program_may_fail_before_it_knows_mpi(live: Live) -> None:
    """A syntax error and a failed import are reported although the program never used MPI."""
    for program, said in (("def", "SyntaxError"), ("import no_such_module", "ModuleNotFoundError")):
        ended = live(program)
        assert ended.status == 1
        assert f"rank 0 must end well, got {said}" in ended.err


def test_a_deadlock_says_who_waits_where(live: Live) -> None:
    """Both ranks receive first: the message gives the line of each, and the status is 3."""
    ended = live(
        """\
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        other = 1 - comm.rank
        if comm.rank == 0:
            comm.recv(source=other, tag=5)
        else:
            comm.recv(source=other, tag=6)
        """
    )
    assert ended.status == 3
    assert "rank 0 at" in ended.err
    assert "prog.py:5" in ended.err
    assert "prog.py:7" in ended.err
    assert "thread" not in ended.err


def test_a_deadlock_says_which_rank_has_other_threads(live: Live) -> None:
    """A rank's thread waits for a message that another thread of it would send: while one waits, none can call MPI."""
    ended = live(
        """\
        from threading import Thread
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            receiver = Thread(target=comm.recv, kwargs={"source": 0})
            receiver.start()
            comm.send(1, 0)
            receiver.join()
        comm.Barrier()
        """
    )
    assert ended.status == 3
    assert "in one of its 2 threads (only one at a time can call MPI in live runs); rank 1" in ended.err
    assert ended.err.count("thread") == 2


def test_a_child_of_fork_may_live_but_not_call_mpi(live: Live) -> None:
    """A forked child gets an error if it calls MPI, but may enter regions; the rank itself continues."""
    ended = live(
        """\
        import os
        import virtual_layer
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        child = os.fork()
        if child == 0:
            for _ in range(300):
                with virtual_layer.region("of the child"):
                    pass
            try:
                comm.Barrier()
            except RuntimeError as error:
                os._exit(5 if "fork" in str(error) else 6)
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        comm.Barrier()
        """
    )
    assert (ended.status, ended.out.splitlines()[:2]) == (0, ["5", "5"])


def test_a_rank_that_never_calls_mpi_again_meets_the_limit(live: Live) -> None:
    """A rank that does not call MPI within the limit is an error that states the limit, the rank and the option."""
    ended = live(ONE_DOES.format(what="while True: pass"), "--limit", "0.5")
    assert ended.status == 1
    assert "clue: prog.py: rank 1 must call MPI within 0.5 s, got none" in ended.err
    assert "--limit" in ended.err


def test_too_little_memory_is_told_before_the_start(live: Live) -> None:
    """A million ranks need more memory than there is: the run is refused before any rank starts."""
    ended = live("print('started')", "--placement", "block:1000000", ranks=1_000_000)
    assert ended.status == 1
    assert "clue: prog.py: ranks must be at most" in ended.err
    assert "of memory" in ended.err
    assert "started" not in ended.out


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let started processes receive Ctrl-C, also where the shell started these tests with &, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("whole_group", [True, False])
def test_interrupted_it_leaves_nothing(live: Live, whole_group: bool) -> None:
    """Ctrl-C reaches the whole group, a signal only the command: either way all processes end, with status 130."""
    path = live.write("from mpi4py import MPI\nprint('ready', flush=True)\nwhile True: MPI.COMM_WORLD.Iprobe()\n")
    run = subprocess.Popen(
        [sys.executable, "-m", "clue", "run", "-n", "3", "--machine", live.machine, str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    (server,) = map(int, Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split())
    (os.killpg if whole_group else os.kill)(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "clue: interrupted" in err
    assert "Traceback" not in err
    _wait_for_none(live.folder)
    assert not list(Path("/dev/shm").glob(f"*_{server:x}_*"))


def test_the_command_killed_its_ranks_end(live: Live) -> None:
    """When the command is killed by SIGKILL, its ranks end too."""
    path = live.write("from mpi4py import MPI\nprint('ready', flush=True)\nwhile True: MPI.COMM_WORLD.Iprobe()\n")
    run = subprocess.Popen(
        [sys.executable, "-m", "clue", "run", "-n", "2", "--machine", live.machine, str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    run.kill()
    run.communicate(timeout=60)
    _wait_for_none(live.folder)


def _wait_for_none(folder: Path) -> None:
    deadline = time.monotonic() + 30
    while processes_of(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(folder) == []
