"""Programs that fail: the messages, and the files that remain."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from clue.children import finding_clue
from clue.errors import NEVER_CALLED_MPI, RecordError, TraceError, UsageError
from clue.recording import find_mpiexec, launching, record
from clue.trace import Op, Trace
from virtual_layer.__main__ import main

Write = Callable[..., Path]


def _fails(program: Path, tmp_path: Path, ranks: int = 2) -> str:
    with pytest.raises(RecordError) as failure:
        record(program, [], ranks, tmp_path / "x.clue", timeout=60)
    return str(failure.value)


def test_crash_names_rank_reason_and_last_ops(program: Write, tmp_path: Path) -> None:
    """A program that raises an error leaves an incomplete trace; the message has the error and each rank's last op."""
    crashing = program("comm.Barrier()\nif rank == 1:\n    1 / 0\ncomm.recv(source=1, tag=3)\n")
    message = _fails(crashing, tmp_path)
    assert "rank 1: ZeroDivisionError: division by zero" in message
    assert "rank 1 after op 0 (Barrier at " in message
    assert "rank 0 after op 0 (Barrier at " in message
    with pytest.raises(TraceError, match=r"x\.clue: trace must be complete, got one that ends early"):
        Trace.open(tmp_path / "x.clue")


def test_killed_rank_keeps_what_it_did(program: Write, tmp_path: Path) -> None:
    """A killed rank keeps its rows up to the last call; so does a rank that the launcher kills afterwards."""
    killed = program("""
        import os, signal
        comm.Sendrecv(eight, other, 1, room, other, 1)
        if rank == 1:
            comm.Recv(room, 0, 4)  # the other has written the rows of its first call
            comm.Send(eight, 0, 5)
            os.kill(os.getpid(), signal.SIGKILL)
        comm.Send(eight, 1, 4)
        comm.Recv(room, 1, 5)
        comm.Recv(room, 1, 6)
        """)
    message = _fails(killed, tmp_path)
    assert "rank 1 after op 4 (Send to 0, tag 5 at " in message
    assert "rank 0 after op " in message


def test_exit_status_is_told(program: Write, tmp_path: Path) -> None:
    """A nonzero exit status makes the recording fail, and the message states it."""
    assert "rank 0: exit status 3" in _fails(program("import sys\ncomm.Barrier()\nsys.exit(3)\n"), tmp_path, 1)


def test_abort_is_told(program: Write, tmp_path: Path) -> None:
    """A call of Abort makes the recording fail, and the message states its code."""
    assert "rank 0: called Abort(9)" in _fails(program("comm.Barrier()\ncomm.Abort(9)\n"), tmp_path, 1)


def test_exit_status_zero_is_an_end(program: Write, tmp_path: Path) -> None:
    """``sys.exit(0)`` is a normal end; MPI calls in exit handlers are recorded."""
    text = "import atexit, sys\natexit.register(comm.Barrier)\ncomm.Barrier()\nsys.exit(0)\n"
    trace = record(program(text), [], 2, tmp_path / "x.clue", timeout=60)
    assert [int((trace.rank(rank).op == Op.BARRIER).sum()) for rank in (0, 1)] == [2, 2]


def test_program_without_mpi(program: Write, tmp_path: Path) -> None:
    """A program that never initialises MPI is an error, and no trace is written."""
    message = _fails(program("print('hello')\n", preamble=""), tmp_path)
    assert message.endswith("program must initialise MPI by mpi4py (import mpi4py.MPI), got none on any of 2 ranks")
    assert _fails(program("", preamble=""), tmp_path, ranks=1).endswith("got none on 1 rank")
    assert not (tmp_path / "x.clue").exists()


def test_program_that_dies_before_mpi(program: Write, tmp_path: Path) -> None:
    """A program that fails before it imports MPI is an error with its exit status, and no trace is written."""
    assert "got exit status 1 " in _fails(program("import no_such_module\n", preamble=""), tmp_path, 1)
    assert not (tmp_path / "x.clue").exists()


class Clock:
    """A clock for time limits that stands still until the ranks are so far: a busy computer starts them slowly."""

    def __init__(self, there: Callable[[], bool]) -> None:
        self._there, self._latest = there, time.monotonic() + 30
        self._began: float | None = None

    def monotonic(self) -> float:
        """Return the seconds since they were."""
        now = time.monotonic()
        if self._began is None and (self._there() or now > self._latest):
            self._began = now
        return 0.0 if self._began is None else now - self._began


def test_time_limit_stops_the_program(program: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the time limit the program is stopped with all its ranks."""
    endless = program("import os, pathlib\npathlib.Path(__file__).with_suffix(f'.{rank}').write_text(str(os.getpid()))"
                      "\nimport time\ntime.sleep(60)\n")  # fmt: skip
    told = [endless.with_suffix(f".{rank}") for rank in (0, 1)]
    monkeypatch.setattr(launching, "time", Clock(lambda: all(each.exists() and each.read_text() for each in told)))
    with pytest.raises(RecordError, match=r"must end within 0\.5 s"):
        record(endless, [], 2, tmp_path / "x.clue", timeout=0.5)
    assert gone(*(int(each.read_text()) for each in told))


def gone(*processes: int) -> bool:
    """Return whether processes have ended or end within 20 s."""
    until = time.monotonic() + 20
    while any(Path(f"/proc/{each}").exists() for each in processes):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def any_of(folder: Path, pattern: str) -> bool:
    """Return whether a folder has files of a pattern."""
    return any(folder.glob(pattern))


def test_rank_that_leaves_before_a_barrier(program: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that leaves before a barrier blocks the others; at the limit the message tells where each rank was.

    No process remains. On a busy computer a launcher may kill a rank before it reports its place, so there are further
    runs with longer limits, one of which must report it.
    """
    leaving = program("""
        import os, pathlib, sys
        pathlib.Path(__file__).with_suffix(f".{rank}").write_text(str(os.getpid()))
        comm.Bcast(eight)
        if rank == 1:
            sys.exit(0)
        comm.Barrier()
        """)
    line = 1 + next(at for at, text in enumerate(leaving.read_text().splitlines()) if "comm.Barrier()" in text)
    for limit in (1, 2, 4, 8):
        ended = f".{limit}.clue.*.part/parts/*.end.json"
        monkeypatch.setattr(launching, "time", Clock(partial(any_of, tmp_path, ended)))
        with pytest.raises(RecordError) as failure:
            record(leaving, [], 3, tmp_path / f"{limit}.clue", limit=limit)
        message = str(failure.value)
        rule = f"program must end an MPI call on some rank every {limit} s"
        assert f"program.py: {rule}, got none: it was stopped: " in message
        assert "rank 0 after op 0 (Bcast at " in message and "rank 2 after op 0 (Bcast at " in message
        assert message.endswith("; 1 of 3 ranks had ended")
        assert gone(*(int(leaving.with_suffix(f".{rank}").read_text()) for rank in range(3)))
        if message.count(f" s), then in program.py:{line};") == 2:
            break
    else:
        pytest.fail(f"no run told where its ranks were: {message}")


def test_limit_before_the_first_call(program: Write, tmp_path: Path) -> None:
    """A program that does not reach MPI within the limit is stopped, too."""
    with pytest.raises(
        RecordError, match=r"must initialise MPI .* and end an MPI call on some rank every 1 s, got nei"
    ):
        record(program("import time\ntime.sleep(60)", preamble=""), [], 1, tmp_path / "x.clue", limit=1)


#: Waits until the recorder regards all ranks as ended, then kills one of them, so that mpiexec fails afterwards.
KILLED_AFTERWARDS = """
import atexit, os, pathlib, time
def kill():
    folder = pathlib.Path(__file__).parent
    while not any(folder.glob(".x.clue.*/head.json")) and len(list(folder.glob(".x.clue.*/parts/*.end.json"))) < 3:
        time.sleep(0.01)
    if rank == 1:
        os.kill(os.getpid(), 9)
atexit.register(kill)
"""


def test_launcher_that_fails_after_all_ranks_ended(program: Write, tmp_path: Path) -> None:
    """If mpiexec fails after all ranks have ended, the recording is complete, and a note states the status."""
    text = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nrank = comm.rank\ncomm.Barrier()\n"
    trace = record(program(text, preamble=KILLED_AFTERWARDS), [], 3, tmp_path / "x.clue", limit=60)
    assert trace.ranks == 3
    said = "mpiexec ended with status 9 after all ranks had ended: the recording is whole"
    assert trace.head.notes[-1] == Trace.open(tmp_path / "x.clue").head.notes[-1] == said


FULL = """
import errno, os
whole = os.posix_fallocate
def full(descriptor, offset, length):
    if offset:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    whole(descriptor, offset, length)
os.posix_fallocate = full
"""


def test_full_disk_lets_the_program_finish(program: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """On a full disk, recording stops with a message and the program continues; the trace is incomplete."""
    filling = program(FULL + "for _ in range(5000):\n    comm.Iprobe()\ncomm.Barrier()\nprint('the program ended')\n")
    message = _fails(filling, tmp_path)
    assert "ends early (No space left on device): rank 0 after op " in message
    said = capfd.readouterr().err
    assert "virtual_layer: recording stops, the program goes on: No space left on device" in said
    assert said.count("the program ended") == 2


def test_disk_without_any_room_stops_all_ranks(
    program: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """If one rank cannot create its files, no rank starts the program."""
    text = """
import errno, os, pathlib
write = pathlib.Path.write_bytes
def full(path, data):
    if path.name.endswith("r00001.json"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return write(path, data)
pathlib.Path.write_bytes = full
"""
    message = _fails(program("print('started')", preamble=text + "from mpi4py import MPI\n"), tmp_path)
    assert message.endswith("recording must be possible here, got what is said above: nothing was recorded")
    said = capfd.readouterr().err
    fault = f"virtual_layer: {tmp_path / 'x.clue'}: trace must be writable, got No space left on device"
    assert said.count(fault) == 1
    assert not (tmp_path / "x.clue").exists()


def test_missing_program(tmp_path: Path) -> None:
    """A missing program, an interpreter as program, no ranks and a missing mpiexec are errors that say so."""
    with pytest.raises(UsageError, match=r"nowhere\.py: program must exist, got no such file"):
        record(tmp_path / "nowhere.py", [], 2, tmp_path / "x.clue")
    with pytest.raises(UsageError, match="python3: program must be a Python script, got the interpreter"):
        record(Path("python3"), ["nowhere.py"], 2, tmp_path / "x.clue")
    script = tmp_path / "here.py"
    script.write_text("")
    with pytest.raises(UsageError, match="ranks must be an integer > 0, got 0"):
        record(script, [], 0, tmp_path / "x.clue")
    with pytest.raises(RecordError, match="no-such-mpiexec: mpiexec must be a command"):
        record(script, [], 1, tmp_path / "x.clue", mpiexec=["no-such-mpiexec"])


def test_target_must_not_hold_anything_else(program: Write, tmp_path: Path) -> None:
    """A folder that holds anything but a trace is never overwritten, by clue record or in a job script."""
    (tmp_path / "x.clue").mkdir()
    precious = tmp_path / "x.clue" / "thesis.tex"
    precious.write_text("years")
    with pytest.raises(UsageError, match=r"x\.clue: trace must be a new folder"):
        record(program("comm.Barrier()"), [], 1, tmp_path / "x.clue")
    command = [find_mpiexec(), "-n", "2", sys.executable, "-m", "virtual_layer", "-o", str(tmp_path / "x.clue")]
    ran = subprocess.run(
        [*command, str(tmp_path / "program.py")],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert ran.returncode != 0
    assert "x.clue: trace must be a new folder or replace a trace" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert precious.read_text() == "years"


def test_job_script_form(program: Write, tmp_path: Path) -> None:
    """``mpiexec -n 2 python -m virtual_layer prog.py`` writes prog.clue to the current folder, with the arguments."""
    script = program("import sys\nassert sys.argv[1:] == ['-n', '7'], sys.argv\ncomm.Barrier()\n")
    ran = subprocess.run(
        [find_mpiexec(), "-n", "2", sys.executable, "-m", "virtual_layer", script.name, "-n", "7"],
        cwd=tmp_path, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert ran.returncode == 0
    trace = Trace.open(tmp_path / "program.clue")
    assert (trace.head.program, trace.head.arguments, trace.ranks) == ("program.py", ("-n", "7"), 2)
    assert not (tmp_path / "program.clue" / "parts").exists()


@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [
        (
            "subprocess.run([sys.executable, '-m', 'virtual_layer', '-o', target, '-c', {code!r}], check=True)",
            "command",
        ),
        ("(pathlib.Path(target) / 'parts').mkdir(parents=True); {start}.write_text('another one')", "another one"),
        ("", ""),
    ],
    ids=["another one has ended", "another one has begun", "removed"],
)
def test_another_recording_at_the_same_place_is_not_touched(
    program: Write, tmp_path: Path, meanwhile: str, left: str
) -> None:
    """Of two jobs that write one trace at once, the later one keeps it; the earlier one says that it is lost."""
    code = "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\nMPI.COMM_WORLD.Barrier()\n"
    start = "(pathlib.Path(target) / 'parts' / 'w0-r00000.json')"
    first = program(
        "import pathlib, shutil, subprocess, sys\ntarget = sys.argv[1]\ncomm.Barrier()\nshutil.rmtree(target)\n"
        f"{meanwhile.format(code=code, start=start)}\nprint('went on')\n"
    )
    target = tmp_path / "x.clue"
    done = subprocess.run(
        [sys.executable, "-m", "virtual_layer", "-o", str(target), str(first), str(target)],
        env=finding_clue(os.environ), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "went on\n"), done.stderr
    said = f"virtual_layer: {target}: trace must be written by one recording at a time, got another one there"
    assert done.stderr.count(said) == 1
    assert "Traceback" not in done.stderr
    if left == "command":
        trace = Trace.open(target)
        assert (trace.head.program, int((trace.rank(0).op == Op.BARRIER).sum())) == ("command", 2)
    else:
        parts = {file.name: file.read_text() for file in target.glob("parts/*")}
        assert parts == ({"w0-r00000.json": left} if left else {})


def test_recordings_that_begin_at_once_share_no_file(program: Write, tmp_path: Path) -> None:
    """Of jobs that begin to record to one place at the same moment, one keeps it whole; all programs run on."""
    script = program("""
        import pathlib, sys, time
        folder = pathlib.Path(__file__).parent
        (folder / f"began.{sys.argv[1]}").touch()
        while len(list(folder.glob("began.*"))) < 6:
            time.sleep(0.01)
        for _ in range(1 + int(sys.argv[1])):
            comm.Barrier()
        """)
    command = [sys.executable, "-m", "virtual_layer", "-o", str(tmp_path / "x.clue"), str(script)]
    jobs = [
        subprocess.Popen([*command, str(job)], env=finding_clue(os.environ), stderr=subprocess.PIPE, text=True)
        for job in range(6)
    ]
    said = [job.communicate(timeout=120)[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0] * 6, said
    lost = ["trace must be written by one recording at a time" in each for each in said]
    assert sum(lost) == 5
    trace = Trace.open(tmp_path / "x.clue")
    assert trace.head.arguments == (str(lost.index(False)),)
    assert int((trace.rank(0).op == Op.BARRIER).sum()) == 1 + lost.index(False)
    assert not list(tmp_path.glob(".*.part"))


def test_a_job_script_tells_of_repeats_beside_its_trace(program: Write, tmp_path: Path) -> None:
    """Other jobs may be making them at this moment, so they stay; the layer names those that readers would find."""
    script = program("comm.Barrier()\n")
    for number in (2, 3, 5):
        (tmp_path / f"x.{number}.clue").mkdir()
    ran = subprocess.run(
        [find_mpiexec(), "-n", "1", sys.executable, "-m", "virtual_layer", "-o", "x.clue", script.name],
        cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert "program.py: x.2.clue, x.3.clue beside the trace: readers take each for a repeat of it" in ran.stderr
    assert Trace.open(tmp_path / "x.clue").ranks == 1


def test_recording_again_replaces(program: Write, tmp_path: Path) -> None:
    """A new recording replaces a trace; a failed one leaves the old trace in place."""
    for ranks in (1, 2):
        assert record(program("comm.Barrier()"), [], ranks, tmp_path / "x.clue").ranks == ranks
    _fails(program("comm.Barrier()\n1 / 0\n"), tmp_path, 1)
    assert Trace.open(tmp_path / "x.clue").ranks == 2


@pytest.mark.parametrize(("text", "status"), [("", NEVER_CALLED_MPI), (None, 2)])
def test_a_terminal_obeys_no_name_of_a_program(tmp_path: Path, text: str | None, status: int) -> None:
    """The layer prints control characters in a program's name as escapes, as clue does."""
    program = tmp_path / "bad\x1b[31m\n.py"
    if text is not None:
        program.write_text(text)
    command = [sys.executable, "-m", "virtual_layer", str(program)]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, check=False, timeout=60)
    assert done.returncode == status
    assert b"\x1b" not in done.stderr
    assert rb"bad\x1b[31m\n.py: program must" in done.stderr


@pytest.mark.parametrize("asked", ["-h", "--help"])
def test_usage_is_said(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``-h`` and ``--help`` print the usage."""
    assert main([asked]) == 0
    assert capsys.readouterr().out.startswith("usage: python -m virtual_layer [-q] [-o TRACE] PROGRAM.py")
